package vectors_test

import (
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/store/storetest"
	"github.com/mcp-tools/mcp-tools/tools/memory"
	"github.com/mcp-tools/mcp-tools/tools/memory/embed/embedtest"
)

// fillers are memories about nothing that is asked for.
func (w *world) fillers(t *testing.T, agent, user string) {
	t.Helper()
	ctx := as(t, agent, user)
	words := strings.Fields("garden window kettle river paper candle mountain violin carpet orchard bridge lantern")
	for i, word := range words {
		w.remember(t, ctx, "filler/"+word, fmt.Sprintf("The %s stands beside the %s near entry %d.", word,
			words[(i+1)%len(words)], i))
	}
}

func TestSynonymsAreFound(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ctx := as(t, "a", "ada")
		w.fillers(t, "a", "ada")
		w.remember(t, ctx, "transport", "Her automobile is blue.")
		w.remember(t, ctx, "health", "The physician comes on Tuesdays.")
		w.work(t)
		w.settled(t)
		for asked, want := range map[string]string{"vehicle": "memory/transport.md",
			"which medic": "memory/health.md"} {
			if got := first(w.paths(t, ctx, asked)); got != want {
				t.Errorf("%q finds %q first", asked, got)
			}
		}
		if f := w.find(t, ctx, memory.Query{Text: "vehicle"}); f.WordsOnly || f.Hits[0].Score <= 0.1 ||
			f.Hits[0].Snippet == "" {
			t.Errorf("found %+v", f)
		}
		if list := w.paths(t, ctx, "zeppelin quarantine"); len(list) != 0 {
			t.Errorf("what nothing is about finds %v", list)
		}
	})
}

// TestExactWordsRankFirst has an identifier in one document, and others that
// the encoder thinks are nearer.
func TestExactWordsRankFirst(t *testing.T) {
	dir := t.TempDir()
	w := newWorld(t, dir, filepath.Join(dir, "search"), embedtest.New(t, "err4471 car"))
	ctx := as(t, "a", "ada")
	w.fillers(t, "a", "ada")
	w.remember(t, ctx, "incident",
		"On Monday the pump stopped with ERR4471 and a long list of other messages about valves and pressure.")
	for i := range 5 {
		w.remember(t, ctx, fmt.Sprint("garage", i), "car car "+strings.Repeat(fmt.Sprint("g", i), i+1))
	}
	w.work(t)
	w.settled(t)
	if got := w.paths(t, ctx, "ERR4471"); first(got) != "memory/incident.md" || !has(got, "memory/garage0.md") {
		t.Errorf("found %v", got)
	}
	if got := w.paths(t, ctx, "pump ERR4471 valves"); first(got) != "memory/incident.md" {
		t.Errorf("found %v", got)
	}
}

func TestFiltersApplyToEmbeddings(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ctx := as(t, "a", "ada")
		w.fillers(t, "a", "ada")
		w.remember(t, ctx, "one/transport", "Her automobile is blue.")
		w.remember(t, ctx, "two/transport", "His automobile is green and has seats.")
		if _, err := w.Store(ctx, memory.Write{Key: "daily", Text: "An automobile passed the gate today.",
			Category: memory.Daily}); err != nil {
			t.Fatal(err)
		}
		w.work(t)
		w.settled(t)
		for name, c := range map[string]struct {
			q    memory.Query
			want []string
		}{
			"all": {memory.Query{Text: "vehicle"},
				[]string{"memory/one/transport.md", "memory/two/transport.md", "memory/daily.md"}},
			"path":     {memory.Query{Text: "vehicle", Path: "two"}, []string{"memory/two/transport.md"}},
			"category": {memory.Query{Text: "vehicle", Category: memory.Daily}, []string{"memory/daily.md"}},
			"score":    {memory.Query{Text: "vehicle", MinScore: 0.99}, nil},
		} {
			f := w.find(t, ctx, c.q)
			var got []string
			for _, h := range f.Hits {
				got = append(got, h.Path)
			}
			for _, path := range c.want {
				if !has(got, path) {
					t.Errorf("%s: %s is not in %v", name, path, got)
				}
			}
			if len(got) > len(c.want) && name != "all" || len(c.want) == 0 && len(got) > 0 {
				t.Errorf("%s: found %v", name, got)
			}
		}
	})
}

// TestOwnersAreIsolated has two users remember the same, and different
// things.
func TestOwnersAreIsolated(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ada, bob, all := as(t, "a", "ada"), as(t, "a", "bob"), as(t, "a", "")
		other := as(t, "b", "ada")
		w.fillers(t, "a", "ada")
		w.fillers(t, "a", "bob")
		w.remember(t, ada, "secret", "Her automobile is hidden behind the barn.")
		w.remember(t, all, "shared", "The physician of all is called Grey.")
		w.work(t)
		w.settled(t)
		if got := w.paths(t, ada, "vehicle"); first(got) != "memory/secret.md" {
			t.Errorf("ada finds %v", got)
		}
		for name, ctx := range map[string]func() []string{
			"bob":            func() []string { return w.paths(t, bob, "vehicle") },
			"everybody":      func() []string { return w.paths(t, all, "vehicle") },
			"another agent":  func() []string { return w.paths(t, other, "vehicle") },
			"bob, with barn": func() []string { return w.paths(t, bob, "puppy automobile hidden") },
		} {
			if got := ctx(); has(got, "memory/secret.md") {
				t.Errorf("%s finds %v", name, got)
			}
		}
		if got := w.paths(t, bob, "medic"); first(got) != "memory/shared.md" {
			t.Errorf("bob finds %v of what is shared", got)
		}
		if got := w.paths(t, other, "medic"); len(got) != 0 {
			t.Errorf("another agent finds %v", got)
		}
		texts := w.endpoint.Texts()
		if n := texts["filler/river\nThe river stands beside the paper near entry 3."]; n != 2 {
			t.Errorf("a text of two users was sent %d times: the time it takes reveals that another has it", n)
		}
	})
}

func TestChangesAreFound(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ctx := as(t, "a", "ada")
		w.fillers(t, "a", "ada")
		w.remember(t, ctx, "x", "Her automobile is blue.")
		w.work(t)
		w.settled(t)
		if got := first(w.paths(t, ctx, "vehicle")); got != "memory/x.md" {
			t.Fatalf("found %q", got)
		}
		w.remember(t, ctx, "x", "The physician comes on Tuesdays.")
		w.settled(t)
		if got := w.paths(t, ctx, "vehicle"); has(got, "memory/x.md") {
			t.Errorf("what was overwritten is found: %v", got)
		}
		if got := first(w.paths(t, ctx, "medic")); got != "memory/x.md" {
			t.Errorf("the new version is not found, but %q", got)
		}
		if _, err := w.Forget(ctx, memory.Forget{Path: "x"}); err != nil {
			t.Fatal(err)
		}
		if got := w.paths(t, ctx, "medic"); has(got, "memory/x.md") {
			t.Errorf("what was forgotten is found: %v", got)
		}
		before := len(w.endpoint.Texts())
		if _, err := w.Undo(ctx, "x"); err != nil {
			t.Fatal(err)
		}
		w.settled(t)
		if got := first(w.paths(t, ctx, "medic")); got != "memory/x.md" {
			t.Errorf("what was brought back is not found, but %q", got)
		}
		if after := w.endpoint.Texts(); len(after) != before || after["x\nThe physician comes on Tuesdays."] != 1 {
			t.Errorf("what was known was sent again: %v", after)
		}
	})
}

// TestSearchWithoutTheEndpoint checks that documents are stored and found by words while the endpoint fails.
func TestSearchWithoutTheEndpoint(t *testing.T) {
	dir := t.TempDir()
	w := newWorld(t, dir, filepath.Join(dir, "search"), embedtest.New(t, synonyms...))
	ctx := as(t, "a", "ada")
	var down atomic.Bool
	down.Store(true)
	working := w.endpoint.Config.Handler
	w.endpoint.Config.Handler = http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if down.Load() {
			embedtest.Status(401, "no such key")(rw, r)
			return
		}
		working.ServeHTTP(rw, r)
	})
	stop := w.work(t)
	w.fillers(t, "a", "ada")
	w.remember(t, ctx, "x", "Her automobile is blue.")
	f := w.findWords(t, ctx, memory.Query{Text: "automobile"})
	if len(f.Hits) != 1 || f.Hits[0].Path != "memory/x.md" || !f.WordsOnly {
		t.Errorf("found %+v", f)
	}
	stop()
	down.Store(false)
	w2 := newWorld(t, dir, filepath.Join(dir, "search"), w.endpoint)
	w2.work(t)
	w2.settled(t)
	if got := first(w2.paths(t, ctx, "vehicle")); got != "memory/x.md" {
		t.Errorf("afterwards %q is found", got)
	}
}

// TestTwoServersSendEachTextOnce has both at work on the same memories, which
// come while they work.
func TestTwoServersSendEachTextOnce(t *testing.T) {
	two := func(t *testing.T, dsn string, dirs [2]string) {
		endpoint := embedtest.New(t, synonyms...)
		a, b := newWorld(t, dsn, dirs[0], endpoint), newWorld(t, dsn, dirs[1], endpoint)
		ctx := as(t, "a", "ada")
		a.fillers(t, "a", "ada")
		a.work(t)
		b.work(t)
		for i := range 60 {
			w := a
			if i%2 == 0 {
				w = b
			}
			w.remember(t, ctx, fmt.Sprint("n", i), fmt.Sprintf("Note number %d is about word%d.", i, i*i))
		}
		b.remember(t, ctx, "x", "Her automobile is blue.")
		a.settled(t)
		for text, n := range endpoint.Texts() {
			if n != 1 {
				t.Errorf("%q was sent %d times", text, n)
			}
		}
		if n := len(endpoint.Texts()); n != 73 {
			t.Errorf("%d texts were sent", n)
		}
		for _, w := range []*world{a, b} {
			if got := first(w.paths(t, ctx, "vehicle")); got != "memory/x.md" {
				t.Errorf("found %q", got)
			}
		}
	}
	t.Run("sqlite", func(t *testing.T) { dir := t.TempDir(); two(t, dir, [2]string{t.TempDir(), t.TempDir()}) })
	t.Run("postgres", func(t *testing.T) {
		two(t, storetest.Database(t), [2]string{t.TempDir(), t.TempDir()})
	})
}
