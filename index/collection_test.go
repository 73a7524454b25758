package index

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestCollectionRanksLikeAnIndex compares the hits and scores of all golden questions.
func TestCollectionRanksLikeAnIndex(t *testing.T) {
	all := readCollection(t)
	x := opened(t)
	apply(t, x, Batch{Put: all.documents})
	c := NewCollection(all.documents)
	for _, q := range all.questions {
		want := search(t, x, Query{Text: q.text, Scopes: []string{"rank"}, Limit: 10})
		if diff := cmp.Diff(want, c.Search(q.text, 10)); diff != "" {
			t.Errorf("%s: -index +collection:\n%s", q.text, diff)
		}
	}
	if found := c.Search("the of and", 10); len(found.Hits) == 0 {
		t.Error("a query of stop words alone finds nothing")
	}
}
