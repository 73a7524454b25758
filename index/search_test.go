package index

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
)

func opened(tb testing.TB) *Index {
	tb.Helper()
	x, err := Open(tb.TempDir())
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := x.Close(); err != nil {
			tb.Error(err)
		}
	})
	return x
}

func apply(tb testing.TB, x *Index, b Batch) {
	tb.Helper()
	if err := x.Apply(tb.Context(), b); err != nil {
		tb.Fatal(err)
	}
}

func search(tb testing.TB, x *Index, q Query) Result {
	tb.Helper()
	r, err := x.Search(tb.Context(), q)
	if err != nil {
		tb.Fatal(err)
	}
	return r
}

func ids(r Result) []string {
	var all []string
	for _, h := range r.Hits {
		all = append(all, h.ID)
	}
	return all
}

// TestScoresMatchFormula adds, replaces and deletes documents in several batches,
// so that there are several segments with deletions, and compares each score with
// the formula.
func TestScoresMatchFormula(t *testing.T) {
	x := opened(t)
	z := newZipf(3)
	documents := map[string]Document{}
	for round := range 6 {
		b := Batch{Cursor: fmt.Sprint(round)}
		for range 150 {
			d := z.document(z.random.IntN(600))
			d.Body = z.text(5 + z.random.IntN(60))
			if round%2 == 1 {
				d.Title = z.text(3)
				d.Tags = []string{z.word()}
			}
			if z.random.IntN(3) == 0 {
				d.Lang = "de"
			}
			b.Put = append(b.Put, d)
			documents[d.ID] = d
		}
		for range 20 {
			id := fmt.Sprintf("doc-%07d", z.random.IntN(600))
			if !slices.ContainsFunc(b.Put, func(d Document) bool { return d.ID == id }) {
				b.Delete = append(b.Delete, id)
				delete(documents, id)
			}
		}
		apply(t, x, b)
	}
	n := naive{b: bm25B}
	length := 0.0
	for _, d := range documents {
		n.put(d)
		length += n.length[len(n.length)-1]
	}
	n.k1 = counts{Documents: len(documents), Length: int(length)}.k1()
	if count, err := x.Count("owner"); err != nil || count != len(documents) {
		t.Fatalf("the index counts %d documents, %v; there are %d", count, err, len(documents))
	}
	for range 300 {
		q := Query{Text: z.text(1 + z.random.IntN(6)), Scopes: []string{"owner"}, Limit: 1 + z.random.IntN(30)}
		want := n.search(queryWords(q.Text, map[string]int{"en": 1, "de": 1}))
		got := search(t, x, q)
		if len(got.Hits) != min(len(want), q.Limit) || got.More != (len(want) > q.Limit) {
			t.Fatalf("%q: %d hits of %d, more: %v", q.Text, len(got.Hits), len(want), got.More)
		}
		for i, hit := range got.Hits {
			if math.Abs(hit.Score-want[i].score) > 1e-6 {
				t.Fatalf("%q: hit %d is %s with %v, want %s with %v", q.Text, i, hit.ID, hit.Score, want[i].id, want[i].score)
			}
			if hit.Score >= got.MaxScore {
				t.Fatalf("%q: %v is more than the most, %v", q.Text, hit.Score, got.MaxScore)
			}
		}
	}
}

// TestScopesAreIndependent compares an index that many scopes share with one of
// a single scope: scores are equal to the last digit.
func TestScopesAreIndependent(t *testing.T) {
	shared, alone := opened(t), opened(t)
	z := newZipf(5)
	random := rand.New(rand.NewPCG(1, 2))
	for n := range 150 {
		d := z.document(n)
		d.Body = z.text(20)
		d.Scope = []string{"a", "a\x00", "ab", "b", "", "A"}[random.IntN(6)]
		apply(t, shared, Batch{Put: []Document{d}})
		if d.Scope == "a" || d.Scope == "b" {
			apply(t, alone, Batch{Put: []Document{d}})
		}
		if n%5 != 0 {
			continue
		}
		for _, scopes := range [][]string{{"a"}, {"b"}, {"a", "b"}, {"b", "a", "a"}} {
			q := Query{Text: z.text(4), Scopes: scopes, Limit: 50}
			got, want := search(t, shared, q), search(t, alone, q)
			if fmt.Sprint(got) != fmt.Sprint(want) {
				t.Fatalf("%q in %q: %v, alone %v", q.Text, scopes, got, want)
			}
		}
	}
	for _, q := range []Query{{Text: z.text(5)}, {Text: z.text(5), Scopes: []string{"c"}}} {
		if r := search(t, shared, q); len(r.Hits) > 0 || r.MaxScore != 0 {
			t.Errorf("%q finds %v", q.Scopes, r)
		}
	}
}

func TestDocumentMovesToAnotherScope(t *testing.T) {
	x := opened(t)
	for _, step := range []struct {
		batch Batch
		a, b  int
	}{
		{Batch{Put: []Document{{ID: "1", Scope: "a", Body: "one"}, {ID: "2", Scope: "a", Body: "two"}}}, 2, 0},
		{Batch{Put: []Document{{ID: "1", Scope: "b", Body: "one"}}}, 1, 1},
		{Batch{Delete: []string{"1", "1", "nobody", ""}}, 1, 0},
		{Batch{Delete: []string{"2"}, Put: []Document{{ID: "2", Scope: "b", Body: "two"}}}, 0, 1},
		{Batch{Put: []Document{{ID: "2", Scope: "a", Body: "x"}, {ID: "2", Scope: "b", Body: "y"}}}, 0, 1},
		{Batch{Delete: []string{"2"}}, 0, 0},
		{Batch{Put: []Document{{ID: "2", Scope: "a", Body: "again"}}}, 1, 0},
	} {
		apply(t, x, step.batch)
		a, errA := x.Count("a")
		b, errB := x.Count("b")
		if a != step.a || b != step.b || errA != nil || errB != nil {
			t.Fatalf("after %+v: %d and %d documents, want %d and %d", step.batch, a, b, step.a, step.b)
		}
	}
	if err := x.Apply(t.Context(), Batch{Put: []Document{{Body: "nameless"}}}); err == nil {
		t.Error("a document without an ID is taken")
	}
}

func TestFilters(t *testing.T) {
	x := opened(t)
	const day = 24 * 60 * 60 * 1000
	apply(t, x, Batch{Put: []Document{
		{ID: "1", Scope: "s", Kind: "note", Path: "a/x.md", Body: "word", Tags: []string{"Red", "round"}, Time: 5*day + 10},
		{ID: "2", Scope: "s", Kind: "note", Path: "a/y.md", Body: "word", Tags: []string{"red"}, Time: 5*day + 20},
		{ID: "3", Scope: "s", Kind: "chat", Path: "ab.md", Body: "word", Time: 7 * day},
		{ID: "4", Scope: "s", Kind: "code", Path: "\xff\xff", Body: "word", Time: -1},
		{ID: "5", Scope: "other", Kind: "note", Path: "a/x.md", Body: "word", Tags: []string{"red"}, Time: 5*day + 10},
	}})
	for _, test := range []struct {
		q    Query
		want string
	}{
		{Query{}, "[1 2 3 4]"},
		{Query{Kinds: []string{"note"}}, "[1 2]"},
		{Query{Kinds: []string{"chat", "code"}}, "[3 4]"},
		{Query{Kinds: []string{"not"}}, "[]"},
		{Query{Tags: []string{"RED"}}, "[1 2]"},
		{Query{Tags: []string{"red", "round"}}, "[1]"},
		{Query{PathPrefix: "a/"}, "[1 2]"},
		{Query{PathPrefix: "a"}, "[1 2 3]"},
		{Query{PathPrefix: "a/y.md"}, "[2]"},
		{Query{PathPrefix: "\xff"}, "[4]"},
		{Query{Since: 5*day + 10}, "[1 2 3]"},
		{Query{Since: 5*day + 11}, "[2 3]"},
		{Query{Until: 5*day + 20}, "[1 4]"},
		{Query{Since: 5*day + 10, Until: 5*day + 11}, "[1]"},
		{Query{Since: 6 * day, Until: 5 * day}, "[]"},
		{Query{Since: 5*day + 11, Until: 7*day + 1, Kinds: []string{"chat"}, PathPrefix: "ab"}, "[3]"},
		{Query{Limit: -9}, "[1 2 3 4]"},
	} {
		test.q.Text, test.q.Scopes = "word", []string{"s"}
		found := ids(search(t, x, test.q))
		slices.Sort(found)
		if got := fmt.Sprint(found); got != test.want {
			t.Errorf("%+v: %s, want %s", test.q, got, test.want)
		}
	}
}

func TestQueryHasNoOperators(t *testing.T) {
	x := opened(t)
	apply(t, x, Batch{Put: []Document{
		{ID: "1", Scope: "s", Body: "The cat sat on the mat, and readConfig failed in version 2.6.1."},
		{ID: "2", Scope: "s", Body: "To be or not to be, that is the question."},
		{ID: "3", Scope: "t", Body: "A cat of another house."},
	}})
	for query, want := range map[string]string{
		"":                           "[]",
		"  ?! * \x00 \xff":           "[]",
		"cat":                        "[1]",
		"CATS":                       "[1]",
		"cat*":                       "[1]",
		"scope:t cat":                "[1]",
		"+dog cat":                   "[1]",
		"-cat":                       "[1]",
		"cat AND dog":                "[1]",
		"NOT cat":                    "[1]",
		`"cat`:                       "[1]",
		"(cat":                       "[1]",
		"/c.t/":                      "[]",
		"c?t":                        "[]",
		"to be or not to be":         "[2]",
		"what did the cat sit upon?": "[1]",
		"read_config":                "[1]",
		"read config":                "[1]",
		"v2.6.1":                     "[1]",
		"2.6":                        "[1]",
	} {
		if got := fmt.Sprint(ids(search(t, x, Query{Text: query, Scopes: []string{"s"}}))); got != want {
			t.Errorf("%q: %s, want %s", query, got, want)
		}
	}
}

func TestSearchCancelled(t *testing.T) {
	x := opened(t)
	apply(t, x, Batch{Put: []Document{{ID: "1", Scope: "s", Body: "word"}}})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := x.Search(ctx, Query{Text: "word", Scopes: []string{"s"}}); !errors.Is(err, context.Canceled) {
		t.Errorf("search: %v", err)
	}
	if err := x.Apply(ctx, Batch{Put: []Document{{ID: "2"}}}); !errors.Is(err, context.Canceled) {
		t.Errorf("apply: %v", err)
	}
}

// TestConcurrentUse searches while other goroutines write, reset and close.
func TestConcurrentUse(t *testing.T) {
	x := opened(t)
	z := newZipf(8)
	var batches []Batch
	for n := range 60 {
		d := z.document(n % 20)
		d.Body += " word"
		batches = append(batches, Batch{Put: []Document{d}, Cursor: fmt.Sprint(n)})
	}
	var group sync.WaitGroup
	done := make(chan struct{})
	for range 3 {
		group.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				r, err := x.Search(context.Background(), Query{Text: "word", Scopes: []string{"owner"}, Limit: 100})
				if err != nil && !errors.Is(err, ErrClosed) {
					t.Errorf("search: %v", err)
					return
				}
				if n := len(r.Hits); n > 20 {
					t.Errorf("%d hits of 20 documents", n)
					return
				}
			}
		})
	}
	for i, b := range batches {
		apply(t, x, b)
		if i == 30 {
			if err := x.Reset(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if n, err := x.Count("owner"); n != 20 || err != nil {
		t.Errorf("%d documents, %v", n, err)
	}
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	close(done)
	group.Wait()
}

// TestRepetitionsSayMoreInLongTexts ranks by k1, which depends on the average length of the documents.
func TestRepetitionsSayMoreInLongTexts(t *testing.T) {
	for length, want := range map[int]float64{10: bm25K1, 39: bm25K1, 40: bm25K1Long, 500: bm25K1Long} {
		if got := (counts{Documents: 7, Length: 7 * length}).k1(); got != want {
			t.Errorf("%d terms on average: k1 is %v, want %v", length, got, want)
		}
	}
}
