package managed

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/blob"
	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/store/storetest"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// A replica is one holder, with a directory of its own.
type replica struct {
	*testing.T
	*Trees
	base string
}

// A team is replicas on one store.
type team struct {
	*testing.T
	store    *store.Store
	blobs    *blob.Blobs
	replicas map[string]*replica
	limits   Limits
	deaf     bool // nobody gives a workspace up
}

func newTeam(t *testing.T, s *store.Store) *team {
	b := blob.New(blob.Options{Store: s, Place: blob.NewDatabase(s), Scratch: t.TempDir()})
	return &team{T: t, store: s, blobs: b, replicas: map[string]*replica{}}
}

// replica returns a replica; data is what survives its end.
func (m *team) replica(name string, data ...string) *replica {
	m.Helper()
	if len(data) == 0 {
		data = []string{m.TempDir(), m.TempDir()}
	}
	r := &replica{T: m.T, base: data[0]}
	r.Trees = New(Options{
		Store: m.store, Blobs: m.blobs, Base: data[0], Dir: data[1], ID: name, Name: name, Limits: m.limits,
		Ask: func(ctx context.Context, holder, workspace string) {
			if other := m.replicas[holder]; other != nil && !m.deaf {
				other.GiveUp(ctx, workspace)
			}
		},
	})
	m.replicas[name] = r
	m.Cleanup(func() { _ = r.Trees.Close() })
	return r
}

func (r *replica) dir() string { return filepath.Join(r.base, "ann") }

// call runs what a tool does in a call, and returns the notes and the error at its end.
func (r *replica) call(do func(ctx context.Context) error) (notes []string, err error) {
	ends := new(tool.Ends)
	ctx := tool.With(r.Context(), &tool.Running{Caller: tool.Caller{Agent: "main", User: "ann"}, Ends: ends})
	err = r.Use(ctx, r.dir())
	if err == nil {
		err = do(ctx)
	}
	notes, failed := ends.Do(ctx)
	return notes, errors.Join(err, failed)
}

// write writes a file as the file tools do.
func (r *replica) write(name, content string) error {
	r.Helper()
	_, err := r.call(func(ctx context.Context) error {
		at := filepath.Join(r.dir(), name)
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(at, []byte(content), 0o644); err != nil {
			return err
		}
		r.Changed(ctx, r.dir(), []string{name})
		return nil
	})
	return err
}

// command does what a command does, which may change anything.
func (r *replica) command(do func(dir string) error) (notes []string, err error) {
	r.Helper()
	return r.call(func(ctx context.Context) error {
		r.Commands(ctx, r.dir())
		return do(r.dir())
	})
}

func (r *replica) fine(err error) {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
}

// has checks the files that a call finds.
func (r *replica) has(want ...string) []string {
	r.Helper()
	var got []string
	notes, err := r.call(func(context.Context) error { got = list(r.T, r.dir()); return nil })
	r.fine(err)
	for i, w := range want { // the name of a directory for conflicts has a time
		if dir, rest, ok := strings.Cut(w, "*"); ok && i < len(got) && strings.HasPrefix(got[i], dir) && strings.HasSuffix(got[i], rest) {
			got[i] = w
		}
	}
	if !slices.Equal(got, want) {
		r.Errorf("the files are\n%s\nnot\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	return notes
}

// list returns the names in a directory with their contents.
func list(t *testing.T, dir string) (all []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(at string, d fs.DirEntry, err error) error {
		if err != nil || at == dir {
			return err
		}
		rel, _ := filepath.Rel(dir, at)
		switch {
		case d.IsDir():
			all = append(all, rel+"/")
		case d.Type()&fs.ModeSymlink != 0:
			to, err := os.Readlink(at)
			all = append(all, rel+" -> "+to)
			return err
		case d.Type().IsRegular():
			text, err := os.ReadFile(at)
			all = append(all, rel+"="+string(text))
			return err
		default:
			all = append(all, rel+"?")
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func put(t *testing.T, dir, name, content string) {
	t.Helper()
	at := filepath.Join(dir, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(at), 0o755), os.WriteFile(at, []byte(content), 0o644)); err != nil {
		t.Fatal(err)
	}
}

func TestWorkspaceMoves(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		m := newTeam(t, s)
		a, b := m.replica("a"), m.replica("b")
		put(t, a.dir(), "old/there.txt", "before") // the first holder's files are the first tree
		a.fine(a.write("notes.txt", "first"))
		b.has("notes.txt=first", "old/", "old/there.txt=before")
		_, err := b.command(func(dir string) error {
			put(t, dir, "src/main.go", "package main")
			return errors.Join(os.Symlink("main.go", filepath.Join(dir, "src/link")), os.RemoveAll(filepath.Join(dir, "old")),
				os.Chmod(filepath.Join(dir, "notes.txt"), 0o755))
		})
		b.fine(err)
		b.fine(b.write("deep/er/file", ""))
		want := []string{"deep/", "deep/er/", "deep/er/file=", "notes.txt=first", "src/", "src/link -> main.go", "src/main.go=package main"}
		a.has(want...)
		if info, err := os.Stat(filepath.Join(a.dir(), "notes.txt")); err != nil || info.Mode().Perm() != 0o755 {
			t.Errorf("the mode is %v, %v", info.Mode(), err)
		}
		_, err = a.command(func(dir string) error { // kinds change
			return errors.Join(os.RemoveAll(filepath.Join(dir, "deep")), os.WriteFile(filepath.Join(dir, "deep"), []byte("a file"), 0o600),
				os.Remove(filepath.Join(dir, "notes.txt")), os.Mkdir(filepath.Join(dir, "notes.txt"), 0o755),
				os.Rename(filepath.Join(dir, "src"), filepath.Join(dir, "lib")))
		})
		a.fine(err)
		b.has("deep=a file", "lib/", "lib/link -> main.go", "lib/main.go=package main", "notes.txt/")
		// A new machine, and the same one after its end, find what was acknowledged.
		m.replica("c").has("deep=a file", "lib/", "lib/link -> main.go", "lib/main.go=package main", "notes.txt/")
		var files, bytes int64
		if err := s.Row(t.Context(), `SELECT files, bytes FROM workspace`, nil, &files, &bytes); err != nil || files != 2 || bytes != 18 {
			t.Errorf("%d files, %d bytes, %v", files, bytes, err)
		}
	})
}

func TestKilledHolders(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		m := newTeam(t, s)
		data := []string{t.TempDir(), t.TempDir()}
		a := m.replica("a", data...)
		a.fine(a.write("kept.txt", "one"))
		a.fine(a.write("other.txt", "same"))
		// A write that was not acknowledged: the replica ends, and its next run goes on with the same files.
		put(t, a.dir(), "kept.txt", "not stored")
		again := m.replica("a", data...)
		if notes := again.has("kept.txt=not stored", "other.txt=same"); len(notes) > 0 {
			t.Errorf("the notes are %q", notes)
		}
		b := m.replica("b")
		b.has("kept.txt=not stored", "other.txt=same")
		// Now another one goes on meanwhile.
		put(t, a.dir(), "kept.txt", "lost?")
		if err := os.Remove(filepath.Join(a.dir(), "other.txt")); err != nil {
			t.Fatal(err)
		}
		b.fine(b.write("kept.txt", "two"))
		third := m.replica("a", data...)
		notes := third.has("conflict-*a/", "conflict-*a/kept.txt=lost?", "kept.txt=two", "other.txt=same")
		if len(notes) != 1 || !strings.Contains(notes[0], `"kept.txt"`) {
			t.Errorf("the notes are %q", notes)
		}
		b.has("conflict-*a/", "conflict-*a/kept.txt=lost?", "kept.txt=two", "other.txt=same")
		// The memory of a machine survives its directory.
		if err := os.RemoveAll(data[0]); err != nil {
			t.Fatal(err)
		}
		m.replica("a", data...).has("conflict-*a/", "conflict-*a/kept.txt=lost?", "kept.txt=two", "other.txt=same")
	})
}

// TestKilledBeforeTheAnswer kills a replica after the store has the changes of a call, before the replica remembers that
// and answers. Its next run, and another replica, find the changes once, and none of them aside.
func TestKilledBeforeTheAnswer(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		m := newTeam(t, s)
		data, before := []string{t.TempDir(), t.TempDir()}, t.TempDir()
		a := m.replica("a", data...)
		a.fine(a.write("changed.txt", "one"))
		a.fine(a.write("removed.txt", "x"))
		a.fine(os.CopyFS(before, os.DirFS(data[1])))
		_, err := a.command(func(dir string) error {
			put(t, dir, "changed.txt", "two")
			put(t, dir, "new.txt", "three")
			return os.Remove(filepath.Join(dir, "removed.txt"))
		})
		a.fine(err)
		again := m.replica("a", data[0], before)
		if notes := again.has("changed.txt=two", "new.txt=three"); len(notes) > 0 {
			t.Errorf("the notes are %q", notes)
		}
		m.replica("b").has("changed.txt=two", "new.txt=three")
	})
}

// expire ends all leases, as a jump of the clock does.
func (m *team) expire() {
	m.Helper()
	if err := m.store.Update(m.Context(), func(t *store.Tx) error {
		_, err := t.Exec(`UPDATE workspace SET until = 1`)
		return err
	}); err != nil {
		m.Fatal(err)
	}
}

func TestFence(t *testing.T) {
	s := storetest.Open(t, t.TempDir())
	m := newTeam(t, s)
	m.deaf = true
	a, b := m.replica("a"), m.replica("b")
	a.fine(a.write("file", "one"))
	// While a command runs on A, which is frozen, B takes over.
	_, err := a.command(func(dir string) error {
		put(t, dir, "file", "of a")
		put(t, dir, "new", "of a")
		m.expire()
		b.fine(b.write("file", "of b"))
		return nil
	})
	if known := tool.AsError(err); known == nil || known.Kind != tool.Conflict || !strings.Contains(known.What, `"a" only`) {
		t.Errorf("the call of the former holder ended with %v", err)
	}
	b.has("file=of b")
}

func TestFormerHolderPutsAside(t *testing.T) {
	s := storetest.Open(t, t.TempDir())
	m := newTeam(t, s)
	m.deaf = true
	a, b := m.replica("a"), m.replica("b")
	a.fine(a.write("file", "one"))
	_, err := a.command(func(dir string) error {
		put(t, dir, "file", "of a")
		m.expire()
		b.fine(b.write("file", "of b"))
		return nil
	})
	if err == nil {
		t.Error("the former holder has stored something")
	}
	m.expire()
	w, err := a.of(a.dir())
	if err != nil {
		t.Fatal(err)
	}
	a.fine(w.settle(t.Context()))
	w.unuse()
	b.round() // notices that it has lost the lease
	m.deaf = false
	b.has("conflict-*a/", "conflict-*a/file=of a", "file=of b")
}

func TestLeases(t *testing.T) {
	s := storetest.Open(t, t.TempDir())
	m := newTeam(t, s)
	a, b := m.replica("a"), m.replica("b")
	a.fine(a.write("file", "one"))
	if _, elsewhere, err := a.Holder(t.Context(), a.dir()); elsewhere || err != nil {
		t.Errorf("a has it: %v, %v", elsewhere, err)
	}
	h, elsewhere, err := b.Holder(t.Context(), b.dir())
	if !elsewhere || err != nil || h != (Holder{"a", "a"}) {
		t.Errorf("the holder is %v, %v, %v", h, elsewhere, err)
	}
	// A workspace in use is not given up, and a call of another replica waits no longer than its context.
	_, err = a.call(func(context.Context) error {
		if a.GiveUp(t.Context(), "ann") {
			t.Error("a workspace in use was given up")
		}
		ctx, cancel := context.WithTimeout(t.Context(), 3*poll)
		defer cancel()
		if err := b.Use(ctx, b.dir()); err == nil {
			t.Error("two replicas have one workspace")
		}
		return nil
	})
	a.fine(err)
	// A lease that is far in the future is one of a clock that has jumped.
	if err := s.Update(t.Context(), func(t *store.Tx) error {
		_, err := t.Exec(`UPDATE workspace SET until = until + 3600000`)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	m.deaf = true
	b.has("file=one")
	b.fine(b.Trees.Close())
	if _, elsewhere, err := a.Holder(t.Context(), a.dir()); elsewhere || err != nil {
		t.Errorf("after its end the holder has it: %v, %v", elsewhere, err)
	}
	// Workspaces do not overlap.
	for _, dir := range []string{a.base, filepath.Join(a.base, "ann", "sub")} {
		if err := a.Use(t.Context(), dir); tool.AsError(err) == nil || !strings.Contains(err.Error(), "within another") {
			t.Errorf("%s: %v", dir, err)
		}
	}
	if err := a.Use(t.Context(), t.TempDir()); err != nil { // it is not managed
		t.Error(err)
	}
}

func TestQuotas(t *testing.T) {
	s := storetest.Open(t, t.TempDir())
	m := newTeam(t, s)
	m.limits = Limits{User: 1000, Team: 1500}
	a := m.replica("a")
	a.fine(a.write("small", strings.Repeat("s", 300)))
	err := a.write("build/large", strings.Repeat("l", 800))
	known := tool.AsError(err)
	if known == nil || known.Kind != tool.TooLarge {
		t.Fatalf("the error is %v", err)
	}
	for _, word := range []string{"workspaces of user ann", "1100 bytes", "1000 bytes", `"build" (800 bytes)`, `"a" only`} {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("%q lacks %s", err, word)
		}
	}
	if err := a.write("more", "m"); tool.AsError(err) == nil || tool.AsError(err).Kind != tool.TooLarge { // it is full until something goes
		t.Errorf("the next call: %v", err)
	}
	_, err = a.command(func(dir string) error { return os.Remove(filepath.Join(dir, "small")) })
	a.fine(err)
	b := m.replica("b")
	b.has("build/", "build/large="+strings.Repeat("l", 800), "more=m")
	// A user with another workspace counts both, and another user has the rest of all.
	use := func(user, dir string, bytes int) error {
		ends := new(tool.Ends)
		ctx := tool.With(t.Context(), &tool.Running{Caller: tool.Caller{Agent: "main", User: user}, Ends: ends})
		at := filepath.Join(b.base, dir)
		if err := b.Use(ctx, at); err != nil {
			t.Fatal(err)
		}
		put(t, at, "file", strings.Repeat("x", bytes))
		b.Changed(ctx, at, []string{"file"})
		_, err := ends.Do(ctx)
		return err
	}
	if err := use("ann", "ann2", 300); err == nil || !strings.Contains(err.Error(), "1101 bytes") {
		t.Errorf("a second workspace: %v", err)
	}
	if err := use("bob", "bob", 700); err == nil || !strings.Contains(err.Error(), "all workspaces") {
		t.Errorf("another user: %v", err)
	}
	b.fine(use("bob", "bob", 600))
}

func TestDirectoryRemovedUnderACommand(t *testing.T) {
	s := storetest.Open(t, t.TempDir())
	a := newTeam(t, s).replica("a")
	a.fine(a.write("file", "one"))
	_, err := a.command(func(dir string) error { return os.RemoveAll(dir) })
	if known := tool.AsError(err); known == nil || known.Kind != tool.Unavailable || !strings.Contains(known.What, "removed") {
		t.Errorf("the error is %v", err)
	}
	a.has("file=one")
	_, err = a.command(func(dir string) error { // another directory in its place
		return errors.Join(os.RemoveAll(dir), os.Mkdir(dir, 0o755))
	})
	if err == nil {
		t.Error("an empty directory became the tree")
	}
	a.has("file=one")
	a.fine(os.RemoveAll(a.dir())) // between two calls
	if notes := a.has("file=one"); len(notes) != 1 || !strings.Contains(notes[0], `was removed on the server "a"`) {
		t.Errorf("the notes are %q", notes)
	}
	if notes := a.has("file=one"); notes != nil {
		t.Errorf("the notes are %q", notes)
	}
}

func TestStoreAway(t *testing.T) {
	s := storetest.Open(t, t.TempDir())
	m := newTeam(t, s)
	a, b := m.replica("a"), m.replica("b")
	a.fine(a.write("file", "one"))
	good := m.blobs
	for _, c := range []struct {
		away   error
		reason string
	}{{errors.New("away"), ""}, {tool.Errorf(tool.Unavailable, "the place is full").Try("repeat it"), " (the place is full)"}} {
		broken := blob.New(blob.Options{Store: s, Place: brokenPlace{c.away}, Scratch: t.TempDir()})
		a.o.Blobs = broken
		err := a.write("file", "two"+c.reason)
		if known := tool.AsError(err); known.Kind != tool.Unavailable || !errors.Is(err, c.away) ||
			!strings.Contains(known.What, `"a" only`) || !strings.HasSuffix(known.What, "for the others"+c.reason) ||
			!strings.HasPrefix(known.Next, "do not repeat the call") {
			t.Errorf("the error is %v", err)
		}
		a.o.Blobs = good
		a.fine(a.write("next", "three"))
		b.o.Blobs = broken
		_, err = b.call(func(context.Context) error { return nil })
		if known := tool.AsError(err); known.Kind != tool.Unavailable || known.What != "the files of the workspace could not be fetched"+c.reason {
			t.Errorf("the error is %v", err)
		}
		b.o.Blobs = good
		b.has("file=two"+c.reason, "next=three")
	}
}

// A brokenPlace stores nothing.
type brokenPlace struct{ err error }

func (p brokenPlace) Put(context.Context, string, blob.Content) error { return p.err }
func (p brokenPlace) Open(context.Context, string, int64, int64) (io.ReadCloser, error) {
	return nil, p.err
}
func (p brokenPlace) Delete(context.Context, ...string) error                  { return p.err }
func (p brokenPlace) Each(context.Context, string, func([]string) error) error { return p.err }
func (p brokenPlace) Max() int64                                               { return 1 << 30 }
func (p brokenPlace) String() string                                           { return "nowhere" }

func TestLargeAndMany(t *testing.T) {
	s := storetest.Open(t, t.TempDir())
	m := newTeam(t, s)
	a, b := m.replica("a"), m.replica("b")
	a.part, b.part = 1<<16, 1<<16
	large := strings.Repeat("0123456789abcdef", 1<<12) // exactly one part, and then a little more
	_, err := a.command(func(dir string) error {
		put(t, dir, "one", large)
		put(t, dir, "two", large+"!")
		for i := range 500 {
			put(t, dir, fmt.Sprintf("many/%d/%d", i%20, i), fmt.Sprint(i))
		}
		return nil
	})
	a.fine(err)
	_, err = b.call(func(context.Context) error {
		for name, want := range map[string]string{"one": large, "two": large + "!"} {
			if text, err := os.ReadFile(filepath.Join(b.dir(), name)); err != nil || string(text) != want {
				t.Errorf("%s has %d bytes, %v", name, len(text), err)
			}
		}
		for i := range 500 {
			if text, err := os.ReadFile(filepath.Join(b.dir(), fmt.Sprintf("many/%d/%d", i%20, i))); err != nil || string(text) != fmt.Sprint(i) {
				t.Fatalf("%d: %q, %v", i, text, err)
			}
		}
		return nil
	})
	b.fine(err)
	// A copy of a file needs no second blob, and blobs in use survive a sweep.
	before := count(t, s)
	_, err = b.command(func(dir string) error { put(t, dir, "three", large+"!"); return nil })
	b.fine(err)
	if after := count(t, s); after != before {
		t.Errorf("%d blobs became %d", before, after)
	}
	if err := blob.New(blob.Options{Store: s, Place: blob.NewDatabase(s), Scratch: t.TempDir(),
		Now: func() time.Time { return time.Now().Add(72 * time.Hour) }}).Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	if after := count(t, s); after != before {
		t.Errorf("after the sweep %d blobs are %d", before, after)
	}
}

func count(t *testing.T, s *store.Store) (n int) {
	t.Helper()
	if err := s.Row(t.Context(), `SELECT count(DISTINCT name) FROM blob`, nil, &n); err != nil {
		t.Fatal(err)
	}
	return n
}

// TestCommandsInTheBackground has changes that no call waits for.
func TestCommandsInTheBackground(t *testing.T) {
	s := storetest.Open(t, t.TempDir())
	m := newTeam(t, s)
	a, b := m.replica("a"), m.replica("b")
	running := true
	a.o.Busy = func(dir string) bool { return running && dir == a.dir() }
	_, err := a.command(func(string) error { return nil })
	a.fine(err)
	if a.GiveUp(t.Context(), "ann") {
		t.Error("a workspace with a command was given up")
	}
	put(t, a.dir(), "out", "half")
	w, _ := a.of(a.dir())
	w.mu.Lock()
	w.scanned = time.Time{}
	w.mu.Unlock()
	w.unuse()
	a.round()
	put(t, a.dir(), "out", "whole")
	running = false
	a.Ended(a.dir())
	_, err = a.call(func(ctx context.Context) error { a.Settle(ctx, a.dir()); return nil })
	a.fine(err)
	b.has("out=whole")
}
