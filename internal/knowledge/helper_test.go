package knowledge

import (
	"context"
	"strings"
	"sync"
	"testing"

	"github.com/mcp-tools/mcp-tools/index"
	"github.com/mcp-tools/mcp-tools/internal/store/storetest"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	api "github.com/mcp-tools/mcp-tools/tools/knowledge"
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
	onEach(t, storetest.Each, f)
}

// onEach takes the store's type from its argument: this package may not know it.
func onEach[S interface{ Knowledge() R }, R Rows[T], T Tx](t *testing.T, engines func(*testing.T, func(*testing.T, S)), f func(*testing.T, *world)) {
	t.Helper()
	engines(t, func(t *testing.T, s S) { f(t, newWorld[R, T](t, s.Knowledge())) })
}

func newWorld[R Rows[T], T Tx](t testing.TB, rows R) *world {
	t.Helper()
	x, err := index.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = x.Close() })
	w := &world{Graph: New[T](rows, &rereading{index: x, shelf: NewShelf[T](rows)}), t: t, tools: map[string]tool.Tool{}}
	for _, one := range api.Tools(w.Graph) {
		w.tools[one.Spec.Name] = one
	}
	return w
}

// rereading is a finder that reads the whole shelf before each search.
type rereading struct {
	mu    sync.Mutex
	index *index.Index
	shelf Shelf
	have  []string
}

func (f *rereading) Search(ctx context.Context, q index.Query) (index.Result, bool, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	b := index.Batch{Delete: f.have}
	f.have = nil
	for after := ""; ; {
		keys, err := f.shelf.Keys(ctx, after, 100)
		if err != nil {
			return index.Result{}, false, err
		}
		if len(keys) == 0 {
			break
		}
		for _, key := range keys {
			documents, err := f.shelf.Load(ctx, key)
			if err != nil {
				return index.Result{}, false, err
			}
			b.Put = append(b.Put, documents...)
			f.have = append(f.have, key)
		}
		after = keys[len(keys)-1]
	}
	if err := f.index.Apply(ctx, b); err != nil {
		return index.Result{}, false, err
	}
	found, err := f.index.Search(ctx, q)
	return found, true, err
}

// as is a call of a user of agent a.
func as(t testing.TB, user string) context.Context {
	return tool.With(t.Context(), &tool.Running{Caller: tool.Caller{Agent: "a", User: user, Session: "s"}})
}

// call calls a tool, and returns what the model reads.
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

// must is call where nothing may fail.
func (w *world) must(user, one, arguments string) string {
	w.t.Helper()
	text, err := w.call(as(w.t, user), one, arguments)
	if err != nil {
		w.t.Fatalf("%s %s: %v", one, arguments, err)
	}
	return text
}

// fails is call where it must fail, and say what is wanted.
func (w *world) fails(user, one, arguments string, kind tool.Kind, words ...string) {
	w.t.Helper()
	text, err := w.call(as(w.t, user), one, arguments)
	if err == nil {
		w.t.Errorf("%s %s gave %s", one, arguments, text)
		return
	}
	if err.Kind != kind || err.Next == "" {
		w.t.Errorf("%s %s: %v, which is not %s with advice", one, arguments, err, kind)
	}
	for _, word := range words {
		if !strings.Contains(err.Error(), word) {
			w.t.Errorf("%s %s: %v lacks %q", one, arguments, err, word)
		}
	}
}

// expect looks for lines in an answer, and for what must not be in it after "!".
func expect(t testing.TB, text string, wanted ...string) {
	t.Helper()
	for _, want := range wanted {
		without, not := strings.CutPrefix(want, "!")
		if strings.Contains(text, without) == not {
			t.Errorf("%q, wanted %q in:\n%s", want, without, text)
		}
	}
}

// everything is all that an owner has, to compare.
func (w *world) everything(user string) (all struct {
	Entities  []graph.Entity
	Relations []graph.Relation
}) {
	w.t.Helper()
	o := graph.Owner{Agent: "a", User: user}
	err := w.view(w.t.Context(), func(tx Tx) (err error) {
		all.Relations = nil
		if all.Entities, err = tx.List(o, graph.Listing{Limit: 1000}); err != nil {
			return err
		}
		known := map[string]bool{}
		for i := range all.Entities {
			list, err := tx.RelationsOf(o, all.Entities[i].Slug, 1000)
			if err != nil {
				return err
			}
			for _, r := range list {
				if r.Version = 0; !known[r.ID] {
					all.Relations = append(all.Relations, r)
				}
				known[r.ID] = true
			}
			all.Entities[i].Version = 0
		}
		return nil
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return all
}
