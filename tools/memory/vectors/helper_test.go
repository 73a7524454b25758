package vectors_test

import (
	"context"
	"path/filepath"
	"slices"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/store/storetest"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/tools/memory"
	"github.com/mcp-tools/mcp-tools/tools/memory/embed/clienttest"
	"github.com/mcp-tools/mcp-tools/tools/memory/embed/embedtest"
	"github.com/mcp-tools/mcp-tools/tools/memory/indexer"
	"github.com/mcp-tools/mcp-tools/tools/memory/indexer/embeddings"
	"github.com/mcp-tools/mcp-tools/tools/memory/indexer/indexertest"
	"github.com/mcp-tools/mcp-tools/tools/memory/vectors"
)

// synonyms are the words that the encoder of the tests knows.
var synonyms = []string{"car automobile vehicle", "doctor physician medic", "money cash funds", "dog hound puppy"}

// A world is a server: a store, an endpoint, and a memory on both.
type world struct {
	*memory.Memory
	store      *store.Store
	rows       *memory.Rows
	vectors    vectors.Vectors
	embeddings *embeddings.Embeddings
	endpoint   *embedtest.Server
}

// newWorld makes a server on a store. Its worker does not run yet.
func newWorld(t testing.TB, dsn, dir string, endpoint *embedtest.Server) *world {
	t.Helper()
	encoder := clienttest.Open(t, endpoint.URL)
	w := newWorldWith(t, dsn, dir, encoder, encoder.Space())
	w.endpoint = endpoint
	return w
}

// newWorldWith makes a server with an encoder, or without one.
func newWorldWith(t testing.TB, dsn, dir string, encoder embeddings.Encoder, space string) *world {
	t.Helper()
	s := storetest.Open(t, dsn)
	rows := memory.NewRows(s, memory.Limits{})
	w := &world{store: s, rows: rows, vectors: vectors.New(s, rows, space)}
	follower := indexertest.Follow(t, s)
	x := indexer.Open(indexer.Options{Dir: dir, Follower: follower, Sources: []indexer.Source{rows}})
	t.Cleanup(func() {
		if err := x.Close(); err != nil {
			t.Error(err)
		}
	})
	if encoder != nil {
		w.embeddings = embeddings.New(embeddings.Options{Encoder: encoder, Space: space, Rows: w.vectors,
			Feed: s})
		t.Cleanup(func() {
			if err := w.embeddings.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	w.Memory = memory.New(memory.Options{Rows: rows, Index: x, Embeddings: w.embeddings})
	return w
}

// each runs a test in a store of each engine.
func each(t *testing.T, f func(t *testing.T, w *world)) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) {
		dir := t.TempDir()
		f(t, newWorld(t, dir, filepath.Join(dir, "search"), embedtest.New(t, synonyms...)))
	})
	t.Run("postgres", func(t *testing.T) {
		f(t, newWorld(t, storetest.Database(t), t.TempDir(), embedtest.New(t, synonyms...)))
	})
}

// work starts the worker until the end of the test, or until stop is called.
func (w *world) work(t testing.TB) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		w.embeddings.Work(ctx)
	}()
	stop = func() { cancel(); <-done }
	t.Cleanup(stop)
	return stop
}

// settled waits until everything that is remembered has vectors.
func (w *world) settled(t testing.TB) {
	t.Helper()
	for {
		wait := w.store.Wait(vectors.Topic)
		missing, err := w.vectors.Missing(t.Context(), nil, "", 1)
		if err != nil {
			t.Fatal(err)
		}
		if len(missing) == 0 {
			return
		}
		<-wait // which also ends after a while by itself
	}
}

func (w *world) remember(t testing.TB, ctx context.Context, key, text string) {
	t.Helper()
	if _, err := w.Store(ctx, memory.Write{Key: key, Text: text}); err != nil {
		t.Fatalf("%s: %v", key, err)
	}
}

// find searches until the answer has everything, also what is only near: a
// search does not wait long for that, and does without.
func (w *world) find(t testing.TB, ctx context.Context, q memory.Query) memory.Found {
	t.Helper()
	for {
		if found := w.findWords(t, ctx, q); !found.WordsOnly || w.embeddings == nil {
			return found
		}
	}
}

// findWords searches until the answer has all that is found by its words.
func (w *world) findWords(t testing.TB, ctx context.Context, q memory.Query) memory.Found {
	t.Helper()
	if q.Limit == 0 {
		q.Limit = 6
	}
	for {
		found, err := w.Search(ctx, q)
		if err != nil {
			t.Fatal(err)
		}
		if !found.Behind {
			return found
		}
	}
}

func (w *world) paths(t testing.TB, ctx context.Context, text string) (list []string) {
	t.Helper()
	for _, h := range w.find(t, ctx, memory.Query{Text: text}).Hits {
		list = append(list, h.Path)
	}
	return list
}

func as(t testing.TB, agent, user string) context.Context {
	t.Helper()
	return tool.With(t.Context(), &tool.Running{Caller: tool.Caller{Agent: agent, User: user, Session: "s1"}})
}

func first(list []string) string {
	if len(list) == 0 {
		return ""
	}
	return list[0]
}

func has(list []string, path string) bool { return slices.Contains(list, path) }
