package vectors_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/store/storetest"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/tools/memory"
	"github.com/mcp-tools/mcp-tools/tools/memory/indexer/embeddings"
	"github.com/mcp-tools/mcp-tools/tools/memory/vectors"
)

func remember(t *testing.T, rows *memory.Rows, o tool.Owner, path, text string) memory.Document {
	t.Helper()
	d, _, err := rows.Put(t.Context(), memory.Change{Owner: o, Path: path, Text: text})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func parts(t *testing.T, v vectors.Vectors, o tool.Owner) (list []string) {
	t.Helper()
	err := v.OfScope(t.Context(), memory.Scope(o), func(p embeddings.Part) bool {
		if memory.OwnerOf(p.Scope) != o {
			t.Errorf("a part of %q is among those of %v", p.Scope, o)
		}
		list = append(list, p.Path+" "+string(p.Vector))
		return true
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(list)
	return list
}

func TestLeaseOfASpace(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		rows := memory.NewRows(s, memory.Limits{})
		ctx, v := t.Context(), vectors.New(s, rows, "m")
		if place, err := v.Cursor(ctx); err != nil || place != "" {
			t.Fatalf("a new space is at %q, %v", place, err)
		}
		if _, wait, err := v.Hold(ctx, "a", time.Hour); err != nil || wait != 0 {
			t.Fatalf("the first waits %v, %v", wait, err)
		}
		if _, wait, err := v.Hold(ctx, "b", time.Hour); err != nil || wait < 59*time.Minute {
			t.Errorf("the second waits %v, %v", wait, err)
		}
		if err := v.Reach(ctx, "b", "x"); !errors.Is(err, vectors.ErrLost) {
			t.Errorf("one who does not hold it: %v", err)
		}
		if err := errors.Join(v.Reach(ctx, "a", "there"), v.Keep(ctx, "a", time.Millisecond)); err != nil {
			t.Fatal(err)
		}
		for {
			place, wait, err := v.Hold(ctx, "b", time.Hour)
			if err != nil {
				t.Fatal(err)
			}
			if wait == 0 {
				if place != "there" {
					t.Errorf("the next one begins at %q", place)
				}
				break
			}
		}
		if err := v.Keep(ctx, "a", time.Hour); !errors.Is(err, vectors.ErrLost) {
			t.Errorf("one whose lease was over: %v", err)
		}
		if err := v.Release(ctx, "b"); err != nil {
			t.Fatal(err)
		}
		if _, wait, err := v.Hold(ctx, "a", time.Hour); err != nil || wait != 0 {
			t.Errorf("after the release %v, %v", wait, err)
		}
		if _, err := vectors.New(s, rows, "n").Cursor(ctx); err != nil {
			t.Fatal(err)
		}
		if _, wait, err := vectors.New(s, rows, "n").Hold(ctx, "b", time.Hour); err != nil || wait != 0 {
			t.Errorf("another space: %v, %v", wait, err)
		}
	})
}

func TestVectorsOfMemories(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		rows := memory.NewRows(s, memory.Limits{})
		ctx, v := t.Context(), vectors.New(s, rows, "m")
		ada, bob := tool.Owner{Agent: "a", User: "ada"}, tool.Owner{Agent: "a", User: "bob"}
		x, y := remember(t, rows, ada, "memory/x.md", "one"), remember(t, rows, bob, "memory/y.md", "two")
		if ids, err := v.Missing(ctx, nil, "", 10); err != nil || len(ids) != 2 {
			t.Fatalf("missing are %v, %v", ids, err)
		}
		list := []embeddings.Vector{{Digest: "d1", Data: []byte("1")}, {Digest: "d2", Data: []byte("2")},
			{Digest: "d3", Data: []byte("3")}}
		if err := errors.Join(v.Add(ctx, list), v.Add(ctx, list[:1]),
			v.Set(ctx, x.ID, x.Version, []string{"d1", "", "d2"}),
			v.Set(ctx, y.ID, y.Version, []string{"d3"})); err != nil {
			t.Fatal(err)
		}
		if known, err := v.Known(ctx, []string{"d1", "d9", "d3"}); err != nil || len(known) != 2 || !known["d1"] ||
			!known["d3"] {
			t.Errorf("known are %v, %v", known, err)
		}
		if got := parts(t, v, ada); !slices.Equal(got, []string{"memory/x.md 1", "memory/x.md 2"}) {
			t.Errorf("ada has %v", got)
		}
		if got := parts(t, vectors.New(s, rows, "n"), ada); got != nil {
			t.Errorf("in another space ada has %v", got)
		}
		of, err := v.OfDocuments(ctx, []string{x.ID, y.ID}, memory.Scope(bob))
		if err != nil || len(of) != 1 || memory.OwnerOf(of[0].Scope) != bob {
			t.Errorf("bob has %v, %v", of, err)
		}
		if ids, err := v.Missing(ctx, []string{x.ID, y.ID}, "", 10); err != nil || len(ids) != 0 {
			t.Errorf("missing are %v, %v", ids, err)
		}
		x = remember(t, rows, ada, "memory/x.md", "three")
		if got := parts(t, v, ada); got != nil {
			t.Errorf("of a version that is over there is %v", got)
		}
		if ids, err := v.Missing(ctx, []string{x.ID}, "", 10); err != nil || !slices.Equal(ids, []string{x.ID}) {
			t.Errorf("missing are %v, %v", ids, err)
		}
		if err := v.Set(ctx, x.ID, x.Version-1, []string{"d1"}); err != nil {
			t.Fatal(err)
		}
		if got := parts(t, v, ada); got != nil {
			t.Errorf("a version that is over was set: %v", got)
		}
		if _, _, err := rows.Drop(ctx, bob, "memory/y.md", memory.Author{}); err != nil {
			t.Fatal(err)
		}
		if err := v.Set(ctx, y.ID, y.Version, []string{"d3"}); err != nil {
			t.Errorf("a memory that is gone: %v", err)
		}
		if got := parts(t, v, bob); got != nil {
			t.Errorf("of what is gone there is %v", got)
		}
	})
}

// TestSweepRemovesUnusedVectors moves the times in the tables back.
func TestSweepRemovesUnusedVectors(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		rows := memory.NewRows(s, memory.Limits{})
		ctx, v, old := t.Context(), vectors.New(s, rows, "m"), vectors.New(s, rows, "old")
		ada := tool.Owner{Agent: "a", User: "ada"}
		x := remember(t, rows, ada, "memory/x.md", "one")
		for _, space := range []vectors.Vectors{v, old} {
			if _, err := space.Cursor(ctx); err != nil {
				t.Fatal(err)
			}
		}
		list := []embeddings.Vector{{Digest: "used", Data: []byte("1")}, {Digest: "unused", Data: []byte("2")},
			{Digest: "of the old", Data: []byte("3")}, {Digest: "fresh", Data: []byte("4")}}
		if err := errors.Join(v.Add(ctx, list), v.Set(ctx, x.ID, x.Version, []string{"used"}),
			old.Set(ctx, x.ID, x.Version, []string{"of the old"})); err != nil {
			t.Fatal(err)
		}
		err := s.Update(ctx, func(tx *store.Tx) error {
			_, one := tx.Exec("UPDATE vector SET made = made - 4000000 WHERE digest <> 'fresh'")
			_, two := tx.Exec("UPDATE vector_space SET seen = seen - 700000000 WHERE space = 'old'")
			return errors.Join(one, two)
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := vectors.Sweep(ctx, s); err != nil {
			t.Fatal(err)
		}
		known, err := v.Known(ctx, []string{"used", "unused", "of the old", "fresh"})
		if err != nil || len(known) != 2 || !known["used"] || !known["fresh"] {
			t.Errorf("left are %v, %v", known, err)
		}
		if got := parts(t, v, ada); len(got) != 1 {
			t.Errorf("ada has %v", got)
		}
	})
}
