package knowledge

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/mcp-tools/mcp-tools/index"
	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/store/storetest"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/tools/knowledge/graph"
)

// world is a graph on an empty store, and its index.
type world struct {
	*Graph
	t     testing.TB
	tools map[string]tool.Tool
}

// each runs a test on an empty store of each engine.
func each(t *testing.T, f func(t *testing.T, w *world)) {
	t.Helper()
	storetest.Each(t, func(t *testing.T, s *store.Store) { f(t, newWorld(t, s)) })
}

func newWorld(t testing.TB, s *store.Store) *world {
	t.Helper()
	x, err := index.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = x.Close() })
	w := &world{Graph: New(s, &rereading{index: x, source: NewSource(s)}), t: t, tools: map[string]tool.Tool{}}
	for _, one := range Tools(w.Graph) {
		w.tools[one.Spec.Name] = one
	}
	return w
}

// rereading is a Searcher that reads the whole source before each search.
type rereading struct {
	mu     sync.Mutex
	index  *index.Index
	source Source
	have   []string
}

func (f *rereading) Search(ctx context.Context, q index.Query) (index.Result, bool, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	b := index.Batch{Delete: f.have}
	f.have = nil
	for _, scope := range q.Scopes {
		for after := ""; ; {
			keys, err := f.source.Keys(ctx, scope, after, 100)
			if err != nil {
				return index.Result{}, false, err
			}
			if len(keys) == 0 {
				break
			}
			documents, err := f.source.Load(ctx, keys, func(s string) bool { return s == scope })
			if err != nil {
				return index.Result{}, false, err
			}
			for _, key := range keys {
				b.Put = append(b.Put, documents[key]...)
				f.have = append(f.have, key)
			}
			after = keys[len(keys)-1]
		}
	}
	if err := f.index.Apply(ctx, b); err != nil {
		return index.Result{}, false, err
	}
	found, err := f.index.Search(ctx, q)
	return found, true, err
}

// as returns the context of a call of a user of agent a.
func as(t testing.TB, user string) context.Context {
	return tool.With(t.Context(), &tool.Running{Caller: tool.Caller{Agent: "a", User: user, Session: "s"}})
}

// call calls a tool and returns what the model reads.
func (w *world) call(ctx context.Context, one, arguments string) (string, *tool.Error) {
	w.t.Helper()
	call, err := w.tools["knowledge_graph_"+one].Bind([]byte(arguments), tool.DefaultLimits())
	if err != nil {
		return "", tool.AsError(err)
	}
	res, err := call.Run(ctx)
	if err != nil {
		if known := tool.AsError(err); known.Kind != tool.Internal {
			return "", known
		}
		w.t.Fatalf("%s %s: %v", one, arguments, err)
	}
	return res.Text(), nil
}

// must calls a tool and fails the test on an error.
func (w *world) must(user, one, arguments string) string {
	w.t.Helper()
	text, err := w.call(as(w.t, user), one, arguments)
	if err != nil {
		w.t.Fatalf("%s %s: %v", one, arguments, err)
	}
	return text
}

// fails calls a tool that must fail with an error of a kind that has some words.
func (w *world) fails(user, one, arguments string, kind tool.Kind, words ...string) {
	w.t.Helper()
	text, err := w.call(as(w.t, user), one, arguments)
	if err == nil {
		w.t.Errorf("%s %s gave %s", one, arguments, text)
		return
	}
	if err.Kind != kind || err.Next == "" {
		w.t.Errorf("%s %s: %v, want kind %s with advice", one, arguments, err, kind)
	}
	for _, word := range words {
		if !strings.Contains(err.Error(), word) {
			w.t.Errorf("%s %s: %v lacks %q", one, arguments, err, word)
		}
	}
}

// expect checks that a text contains others, and does not contain those that begin with "!".
func expect(t testing.TB, text string, wanted ...string) {
	t.Helper()
	for _, want := range wanted {
		without, not := strings.CutPrefix(want, "!")
		if strings.Contains(text, without) == not {
			t.Errorf("%q, wanted %q in:\n%s", want, without, text)
		}
	}
}

// contents is all that an owner has, for comparisons.
type contents struct {
	Entities  []graph.Entity
	Relations []graph.Relation
}

// contents returns all that a user has, without versions and in the order of ids.
func (w *world) contents(user string) (all contents) {
	w.t.Helper()
	o := tool.Owner{Agent: "a", User: user}
	err := w.view(w.t.Context(), func(r rows) (err error) {
		all.Relations = nil
		if all.Entities, err = r.byConfidence(o, "", 0, 1000, 0); err != nil {
			return err
		}
		known := map[string]bool{}
		for i := range all.Entities {
			list, err := r.ownRelationsOf(o, all.Entities[i].Slug, 1000)
			if err != nil {
				return err
			}
			for _, one := range list {
				if one.Version = 0; !known[one.ID] {
					all.Relations = append(all.Relations, one)
				}
				known[one.ID] = true
			}
			all.Entities[i].Version = 0
		}
		return nil
	})
	if err != nil {
		w.t.Fatal(err)
	}
	slices.SortFunc(all.Entities, func(a, b graph.Entity) int { return cmp.Compare(a.ID, b.ID) })
	slices.SortFunc(all.Relations, func(a, b graph.Relation) int { return cmp.Compare(a.ID, b.ID) })
	return all
}
