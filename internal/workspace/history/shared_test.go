package history

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/blob"
	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/store/storetest"
)

// replicas returns two servers with a data directory each that share a store and a directory of files.
func replicas(t *testing.T, s *store.Store, l Limits) (a, b *bench) {
	t.Helper()
	a = newBench(t, l)
	b = benchAt(t, a.dir, filepath.Join(t.TempDir(), "data"), l)
	for _, one := range []*bench{a, b} {
		one.share(s)
	}
	return a, b
}

// share makes a bench share its history on a store, or not with nil.
func (b *bench) share(s *store.Store) {
	b.s.shared = nil
	if s != nil {
		b.s.Share(NewShared(blob.New(blob.Options{Store: s, Place: blob.NewDatabase(s)}), b.s.limits))
	}
}

func (b *bench) old(c *Content) string {
	b.t.Helper()
	r, err := b.s.Open(b.t.Context(), c)
	if err != nil {
		b.t.Fatal(err)
	}
	text, err := io.ReadAll(r)
	if err != nil {
		b.t.Fatal(err)
	}
	_ = r.Close()
	return string(text)
}

func TestChangesOfOtherServers(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		a, b := replicas(t, s, Limits{})
		a.write("f", "zero")
		a.write("100%_", "x")
		first := a.change("f", "one", time.Now().Add(-2*time.Second))
		other := a.change("100%_", "y", time.Now().Add(-1*time.Second))
		second := b.change("f", "two", time.Now())
		want := []string{second.ID, other.ID, first.ID}
		for name, one := range map[string]*bench{"a": a, "b": b} {
			if got := ids(one.past("")); !slices.Equal(got, want) {
				t.Errorf("%s sees %q, want %q", name, got, want)
			}
		}
		if got := ids(b.past("100%_")); !slices.Equal(got, []string{other.ID}) {
			t.Errorf("by name: %q", got)
		}
		found, ok, err := b.s.Find(t.Context(), first.ID)
		if err != nil || !ok {
			t.Fatal(ok, err)
		}
		before := found.Files[0].Before
		if b.s.Kept(before) || !b.s.Has(t.Context(), before) || b.old(before) != "zero" {
			t.Error("the old content of another server is not there")
		}
		if a.s.Has(t.Context(), &Content{Kept: true, Digest: before.Digest[:63] + "x"}) {
			t.Error("an unknown content is there")
		}
	})
}

// A change that could not be published, because the store was away or the process was killed, is published later.
func TestChangesArePublishedLater(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		a, b := replicas(t, s, Limits{})
		a.write("f", "zero")
		a.change("f", "one", time.Now().Add(-time.Minute))
		a.share(nil) // it was killed after the commit
		lost := a.change("f", "two", time.Now())
		if got := b.past(""); len(got) != 1 {
			t.Fatalf("%d changes, want the first", len(got))
		}
		a.share(s)
		if err := a.s.Recover(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := b.past(""); len(got) != 2 || got[0].ID != lost.ID || b.old(got[0].Files[0].Before) != "one" {
			t.Errorf("after the next start: %q", ids(got))
		}
	})
}

// A change that could not be published is published without another change or a look into the history.
func TestChangesArePublishedWhenTheStoreIsBack(t *testing.T) {
	s := storetest.Open(t, storetest.Database(t))
	a, b := replicas(t, s, Limits{})
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	done := make(chan struct{})
	go func() { defer close(done); a.s.Work(ctx) }()
	defer func() { stop(); <-done }()
	a.write("f", "zero")
	rename := func(from, to string) {
		t.Helper()
		if err := s.Update(t.Context(), func(t *store.Tx) error {
			_, err := t.Exec(`ALTER TABLE ` + from + ` RENAME TO ` + to)
			return err
		}); err != nil {
			t.Fatal(err)
		}
	}
	rename("file_change", "file_change_away")
	r := a.change("f", "one", time.Now())
	rename("file_change_away", "file_change")
	for len(b.past("")) == 0 {
		if ctx.Err() != nil {
			t.Fatal("it is not published")
		}
		time.Sleep(10 * time.Millisecond)
	}
	if got := b.past(""); got[0].ID != r.ID || b.old(got[0].Files[0].Before) != "zero" {
		t.Errorf("published: %q", ids(got))
	}
}

// Without the store a server makes changes, and has its own history.
func TestHistoryWithoutTheStore(t *testing.T) {
	s, err := store.Open(t.Context(), store.Options{DSN: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	a, _ := replicas(t, s, Limits{})
	a.write("f", "zero")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	r := a.change("f", "one", time.Now())
	if got := a.past(""); len(got) != 1 || got[0].ID != r.ID || a.old(got[0].Files[0].Before) != "zero" {
		t.Errorf("its own change is not there: %q", ids(got))
	}
	a.tidy()
}

// The catalogue of a server is trimmed: what it has published, and what it has not, stay known.
func TestTrimmedCatalogueIsPublished(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		a, b := replicas(t, s, Limits{Records: 2})
		a.write("f", "zero")
		for _, text := range []string{"1", "2", "3"} {
			a.change("f", text, time.Now())
		}
		a.share(nil)
		a.change("f", "4", time.Now())
		a.share(s)
		if err := a.s.prune(t.Context(), time.Now()); err != nil {
			t.Fatal(err)
		}
		a.change("f", "5", time.Now())
		if got := b.past(""); len(got) != 5 {
			t.Errorf("%d changes are published, want 5", len(got))
		}
	})
}

// Two servers that keep the same content, one of which removes its own copy.
func TestRemovedCopiesAreReadFromTheStore(t *testing.T) {
	s := storetest.Open(t, storetest.Database(t))
	a, _ := replicas(t, s, Limits{})
	a.write("f", "zero")
	r := a.change("f", "one", time.Now())
	if err := os.Remove(a.s.path(copiesDir, r.Files[0].Before.Digest)); err != nil {
		t.Fatal(err)
	}
	if a.old(r.Files[0].Before) != "zero" {
		t.Error("the content is another one")
	}
}
