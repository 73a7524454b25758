package history

import (
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/workspace/root"
)

// A bench is a store, and a directory with the files to change.
type bench struct {
	t    testing.TB
	s    *Store
	dir  string
	root *root.Root
}

func newBench(t testing.TB, l Limits) *bench {
	t.Helper()
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(top, "ws")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	return benchAt(t, dir, filepath.Join(top, "data"), l)
}

func benchAt(t testing.TB, dir, data string, l Limits) *bench {
	t.Helper()
	r, err := root.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	return &bench{t, New(data, l, slog.New(slog.DiscardHandler)), dir, r}
}

func (b *bench) write(name, text string) {
	b.t.Helper()
	if err := os.WriteFile(filepath.Join(b.dir, name), []byte(text), 0o640); err != nil {
		b.t.Fatal(err)
	}
}

// has checks the contents of all files in the directory.
func (b *bench) has(want map[string]string) {
	b.t.Helper()
	got := map[string]string{}
	err := filepath.WalkDir(b.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == b.dir {
			return err
		}
		name, err := filepath.Rel(b.dir, path)
		if err != nil {
			return err
		}
		if d.IsDir() {
			got[filepath.ToSlash(name)+"/"] = ""
			return nil
		}
		text, err := os.ReadFile(path)
		got[filepath.ToSlash(name)] = string(text)
		return err
	})
	if err != nil {
		b.t.Fatal(err)
	}
	for name, text := range want {
		if have, ok := got[name]; !ok || have != text {
			b.t.Errorf("%s is %q (there: %v), want %q", name, have, ok, text)
		}
		delete(got, name)
	}
	for name := range got {
		b.t.Errorf("%s is left over", name)
	}
}

// tidy checks that there are no unfinished changes.
func (b *bench) tidy() {
	b.t.Helper()
	for _, dir := range []string{pendingDir, copiesDir} {
		entries, err := os.ReadDir(b.s.path(dir))
		if err != nil && !os.IsNotExist(err) {
			b.t.Fatal(err)
		}
		for _, e := range entries {
			if dir == pendingDir || !isDigest(e.Name()) {
				b.t.Errorf("%s/%s is left over", dir, e.Name())
			}
		}
	}
}

// target returns the Target for the current file.
func (b *bench) target(name string) Target {
	b.t.Helper()
	t := Target{Root: b.root, Dir: b.dir, Name: name, Shown: name}
	file, info, err := b.root.OpenRegular(name)
	if notExist(err) {
		return t
	}
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { _ = file.Close() })
	t.File, t.Info = file, info
	return t
}

// begin locks files and begins a change.
func (b *bench) begin(names ...string) (*Change, *Lock) {
	b.t.Helper()
	l, err := b.s.Lock(b.t.Context(), names)
	if err != nil {
		b.t.Fatal(err)
	}
	c, err := b.s.Begin(l)
	if err != nil {
		b.t.Fatal(err)
	}
	return c, l
}

const removed = "\x00removed"

// stage stages the new contents of files, in the order of names.
func (b *bench) stage(c *Change, names []string, texts map[string]string) {
	b.t.Helper()
	for _, name := range names {
		var err error
		if texts[name] == removed {
			_, err = c.Remove(b.t.Context(), b.target(name))
		} else {
			_, err = c.Write(b.t.Context(), b.target(name), strings.NewReader(texts[name]), 0)
		}
		if err != nil {
			b.t.Fatalf("%s: %v", name, err)
		}
	}
}

// change writes one file, and returns the record.
func (b *bench) change(name, text string, at time.Time) Record {
	b.t.Helper()
	c, l := b.begin(name)
	defer l.Unlock()
	b.stage(c, []string{name}, map[string]string{name: text})
	r, err := c.Commit(b.t.Context(), Record{Time: at})
	if err != nil {
		b.t.Fatal(err)
	}
	return r
}

func (b *bench) past(hint string) []LoggedChange {
	b.t.Helper()
	var all []LoggedChange
	err := b.s.Each(b.t.Context(), hint, func(p LoggedChange) bool { all = append(all, p); return true })
	if err != nil {
		b.t.Fatal(err)
	}
	return all
}
