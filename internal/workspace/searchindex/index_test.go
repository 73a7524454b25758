package searchindex

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/workspace/root"
	"github.com/mcp-tools/mcp-tools/internal/workspace/tree"
)

// A world is a directory, an index of it, and the expected results.
type world struct {
	t     testing.TB
	dir   string
	store string
	root  *root.Root
	x     *Index
	skip  func(string, bool) bool
}

func newWorld(t testing.TB, dir string) *world {
	t.Helper()
	r, err := root.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	w := &world{t: t, dir: dir, store: filepath.Join(t.TempDir(), "store"), root: r}
	w.skip = func(name string, dir bool) bool { return strings.HasSuffix(name, ".secret") }
	return w
}

// start creates an index and waits until it is ready.
func (w *world) start(change ...func(*Index)) {
	w.t.Helper()
	x := New(Options{Root: w.root, Skip: w.skip, Store: w.store})
	for _, change := range change {
		change(x)
	}
	x.Start()
	if !x.Settle(w.t.Context()) {
		w.t.Fatal("there is no index")
	}
	w.x = x
	w.t.Cleanup(func() { _ = x.Close() })
}

func (w *world) path(name string) string { return filepath.Join(w.dir, filepath.FromSlash(name)) }

func (w *world) write(name, text string) {
	w.t.Helper()
	if err := os.MkdirAll(filepath.Dir(w.path(name)), 0o755); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(w.path(name), []byte(text), 0o644); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) do(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// check compares the index with the expected results: the same files, and all matching
// files among the candidates. It reports whether the index answered.
func (w *world) check(what string, dirs ...string) bool {
	w.t.Helper()
	answered := true
	for _, dir := range append(dirs, ".") {
		want, unread, err := tree.Files(w.t.Context(), w.root, tree.Options{Dir: dir, Skip: w.skip}, nil)
		if err != nil {
			continue
		}
		got, ok := w.x.Files(w.t.Context(), dir)
		if !ok {
			answered = false
			continue
		}
		if !slices.Equal(got, want) {
			w.t.Errorf("%s: files beneath %q:\n got %q\nwant %q", what, dir, got, want)
		}
		if got := w.x.Unread(dir); !slices.Equal(got, unread) {
			w.t.Errorf("%s: unread beneath %q: %q, want %q", what, dir, got, unread)
		}
		for _, pattern := range []string{"needle", "(?i)Needle", "alpha.*beta", "gamma|delta", "x"} {
			answered = w.candidates(what, dir, pattern, want) && answered
		}
	}
	return answered
}

func (w *world) candidates(what, dir, pattern string, files []string) bool {
	w.t.Helper()
	re, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		w.t.Fatal(err)
	}
	got, ok := w.x.Candidates(w.t.Context(), dir, re, nil)
	if !ok {
		return false
	}
	if !slices.IsSorted(got) {
		w.t.Errorf("%s: not in order: %q", what, got)
	}
	full := regexp.MustCompile(pattern)
	for _, name := range files {
		text, err := os.ReadFile(w.path(name))
		text = searched(text)
		if _, found := slices.BinarySearch(got, name); err == nil && !found && full.Match(text) {
			w.t.Errorf("%s: %q matches in %q and is not a candidate", what, pattern, name)
		}
	}
	for _, name := range got {
		if _, found := slices.BinarySearch(files, name); !found {
			w.t.Errorf("%s: the candidate %q is not there", what, name)
		}
	}
	return true
}

// searched returns the text of a file that a search would search.
func searched(content []byte) []byte {
	if units, ok := bytes.CutPrefix(content, []byte("\xff\xfe")); ok {
		return bytes.ReplaceAll(units, []byte{0}, nil) // of ASCII letters
	}
	if bytes.IndexByte(content, 0) >= 0 {
		return nil
	}
	return content
}

// fewer checks that the index excludes files.
func (w *world) fewer(pattern string, most int) {
	w.t.Helper()
	re, err := syntax.Parse(pattern, syntax.Perl)
	w.do(err)
	if got, ok := w.x.Candidates(w.t.Context(), ".", re, nil); !ok || len(got) > most {
		w.t.Errorf("%d candidates for %q (%v), want at most %d: %.300q", len(got), pattern, ok, most, got)
	}
}

// age sets the times of all files back, so that their stamps are reliable.
func (w *world) age() {
	w.t.Helper()
	old := time2020()
	w.do(filepath.WalkDir(w.dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			err = os.Chtimes(path, old, old)
		}
		return err
	}))
}

func plain(w *world, n int) {
	for i := range n {
		w.write(fmt.Sprintf("d%d/e%d/f%d.txt", i%5, i%3, i), fmt.Sprintf("file %d alpha\nand beta\nx", i))
	}
	w.write("d1/needle.txt", "a needle in the hay")
}

func TestChanges(t *testing.T) {
	w := newWorld(t, t.TempDir())
	plain(w, 60)
	w.write("sub/.gitignore", "*.log\n")
	w.write("sub/a.log", "needle")
	w.write(".hidden/h.txt", "needle")
	w.write("k.secret", "needle")
	outside := t.TempDir()
	w.do(os.MkdirAll(filepath.Join(outside, "in/deep"), 0o755))
	w.do(os.WriteFile(filepath.Join(outside, "in/deep/n.txt"), []byte("needle"), 0o644))
	w.start()
	if !w.check("at first", "d1", "sub", "d1/e1") {
		t.Fatal("no answer")
	}
	w.fewer("needle", 2)
	change := func(what string, do func()) {
		t.Helper()
		do()
		if !w.check(what, "d1", "sub", "d1/e1") && what != "many events" {
			t.Errorf("%s: no answer", what)
		}
	}
	p := w.path
	change("write", func() { w.write("d0/e0/f0.txt", "now a needle") })
	change("append", func() {
		f, err := os.OpenFile(p("d0/e1/f10.txt"), os.O_APPEND|os.O_WRONLY, 0)
		w.do(err)
		_, err = f.WriteString(" needle")
		w.do(err)
		w.do(f.Close())
	})
	change("truncate", func() { w.do(os.Truncate(p("d1/needle.txt"), 3)) })
	change("rename a file", func() { w.do(os.Rename(p("d0/e0/f0.txt"), p("d2/renamed.txt"))) })
	change("rename over", func() { w.do(os.Rename(p("d2/renamed.txt"), p("d2/e2/f2.txt"))) })
	change("rename a directory", func() { w.do(os.Rename(p("d3"), p("moved"))) })
	change("write in it", func() { w.write("moved/e0/f3.txt", "needle") })
	change("rename it back, and another", func() {
		w.do(os.Rename(p("moved"), p("d3")))
		w.do(os.Rename(p("d4"), p("moved")))
		w.write("moved/e1/new.txt", "gamma")
	})
	change("mkdir -p", func() { w.write("new/a/b/c/d.txt", "needle"); w.write("new/a/x.txt", "delta") })
	change("rm -r", func() { w.do(os.RemoveAll(p("new/a/b"))) })
	change("rm -r and again", func() { w.do(os.RemoveAll(p("new"))); w.write("new/a/b/c/d.txt", "alpha beta") })
	change("chmod", func() { w.do(os.Chmod(p("d1"), 0o700)); w.do(os.Chmod(p("d1/needle.txt"), 0o600)) })
	change(".gitignore without a repository", func() { w.write("sub/.gitignore", "x") })
	change("a repository", func() { w.do(os.Mkdir(p("sub/.git"), 0o755)); w.write("sub/.gitignore", "*.log\n") })
	change("its exclude file", func() {
		w.write("sub/.git/info/exclude", "*.tmp")
		w.write("sub/a.tmp", "needle")
		w.write("sub/b.txt", "needle")
	})
	change("another exclude", func() { w.write("sub/.git/info/exclude", "b.txt") })
	change("written while ignored", func() { w.write("sub/b.txt", "gamma"); w.do(os.Remove(p("sub/.git/info/exclude"))) })
	change(".ignore", func() { w.write(".ignore", "d2\n!.hidden\n") })
	change("write where it is ignored", func() { w.write("d2/e0/f12.txt", "needle") })
	change(".ignore goes", func() { w.do(os.Remove(p(".ignore"))) })
	change("a link in place of a file", func() {
		w.do(os.Remove(p("d0/e0/f15.txt")))
		w.do(os.Symlink("../../d1/needle.txt", p("d0/e0/f15.txt")))
	})
	change("a link in place of a directory", func() { w.do(os.RemoveAll(p("d0/e1"))); w.do(os.Symlink("/etc", p("d0/e1"))) })
	change("the time set back", func() {
		info, err := os.Stat(p("d1/e1/f1.txt"))
		w.do(err)
		text, err := os.ReadFile(p("d1/e1/f1.txt"))
		w.do(err)
		w.do(os.WriteFile(p("d1/e1/f1.txt"), []byte(strings.Replace(string(text), "file 1", "needle", 1)), 0o644))
		w.do(os.Chtimes(p("d1/e1/f1.txt"), info.ModTime(), info.ModTime()))
	})
	change("moved in", func() { w.do(os.Rename(filepath.Join(outside, "in"), p("d2/in"))) })
	change("write to what moved in", func() { w.write("d2/in/deep/n.txt", "gamma"); w.write("d2/in/deep/m.txt", "needle") })
	change("moved out", func() { w.do(os.Rename(p("d2/in"), filepath.Join(outside, "back"))) })
	change("written to outside", func() { w.do(os.WriteFile(filepath.Join(outside, "back/deep/n.txt"), nil, 0o644)) })
	change("a file in place of a directory", func() { w.do(os.RemoveAll(p("d2/e0"))); w.write("d2/e0", "needle") })
	change("a directory in place of a file", func() { w.do(os.Remove(p("d2/e0"))); w.write("d2/e0/z.txt", "needle") })
	change("a second name", func() { w.do(os.Link(p("d2/e1/f7.txt"), p("link.txt"))) })
	change("write by the second name", func() { w.write("link.txt", "needle") })
	change("nothing", func() {})
	change("many events", func() {
		for i := range 400 {
			for range 60 {
				w.do(os.Chmod(p("d1/needle.txt"), 0o600))
				w.do(os.Chmod(p("d1/e1/f1.txt"), 0o600))
			}
			w.write(fmt.Sprintf("many/m%d.txt", i), "needle")
		}
	})
	if !w.x.Settle(t.Context()) {
		t.Fatal("not back after many events")
	}
	change("after many events", func() { w.write("many/last.txt", "needle") })
}

func TestNotStarted(t *testing.T) {
	w := newWorld(t, t.TempDir())
	w.write("a.txt", "x")
	x := New(Options{Root: w.root, Store: w.store})
	if _, ok := x.Files(t.Context(), "."); ok {
		t.Error("an answer before Warm")
	}
	if x.Settle(t.Context()) {
		t.Error("settled before Warm")
	}
	w.do(x.Close())
	x.Start()
	if _, ok := x.Files(t.Context(), "."); ok || x.Settle(t.Context()) {
		t.Error("an answer after Close")
	}
	w.do(x.Close())
	none := New(Options{Root: w.root})
	none.Start()
	if none.Settle(t.Context()) {
		t.Error("an index without a store")
	}
	w.do(none.Close())
	w.start()
	for _, dir := range []string{"none", "a.txt", "..", "/", ""} {
		if _, ok := w.x.Files(t.Context(), dir); ok {
			t.Errorf("an answer for %q", dir)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	w.write("b.txt", "x")
	if _, ok := w.x.Files(ctx, "."); ok {
		t.Error("an answer after the end")
	}
	w.check("after a call that ended")
}
