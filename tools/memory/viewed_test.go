package memory

import (
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/internal/view"
)

// TestSearchIsViewed: clients with apps get the hits, others nothing more; the text is the same.
func TestSearchIsViewed(t *testing.T) {
	m := &fake{found: Found{Hits: []Hit{{Path: "memory/a.md", From: 1, To: 2, Snippet: "x", Updated: now}}, More: true}}
	s := memorySearch{memories: m}
	apps := tool.With(t.Context(), &tool.Running{Apps: true})
	plain, err := s.Do(t.Context(), memorySearchArgs{Query: "x"})
	if err != nil || plain.View != nil || !(memorySearch{}).Spec().Viewed {
		t.Errorf("without apps the view is %v, %v", plain.View, err)
	}
	shown, err := s.Do(apps, memorySearchArgs{Query: "x"})
	got, _ := shown.View.(view.Memories)
	if list, _ := got.Hits.([]Hit); err != nil || len(list) != 1 || got.Kind != "memories" || got.Query != "x" || !got.More || got.Note != "" ||
		shown.Text() != plain.Text() {
		t.Errorf("%+v, %v", shown, err)
	}
	m.found = Found{}
	shown, err = s.Do(apps, memorySearchArgs{Query: "x"})
	if got, _ := shown.View.(view.Memories); err != nil || got.Note != `no memory matches "x"; the memory is empty` {
		t.Errorf("%+v, %v", shown, err)
	}
}
