package history

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/needtest"
)

// TestPlantedTemporaryNames checks that a program that guesses a temporary name gains
// nothing.
func TestPlantedTemporaryNames(t *testing.T) {
	b := newBench(t, Limits{})
	b.write("a", "old")
	outside := filepath.Join(t.TempDir(), "theirs")
	if err := os.WriteFile(outside, []byte("theirs"), 0o600); err != nil {
		t.Fatal(err)
	}
	temp := tempName()
	for name, plant := range map[string]func() error{
		"link":          func() error { return os.Symlink(outside, filepath.Join(b.dir, temp)) },
		"dangling link": func() error { return os.Symlink(outside+".new", filepath.Join(b.dir, temp)) },
		"hard link":     func() error { return os.Link(outside, filepath.Join(b.dir, temp)) },
	} {
		if err := plant(); err != nil {
			t.Fatal(err)
		}
		for _, target := range []string{"a", "new"} {
			st := &step{Base: Text(target), Temp: Text(temp), dir: b.root}
			if file, err := st.create(b.target(target), 0o600); err == nil {
				_ = file.Close()
				t.Errorf("%s for %s: no error", name, target)
			}
		}
		if err := os.Remove(filepath.Join(b.dir, temp)); err != nil {
			t.Fatal(err)
		}
		if text, err := os.ReadFile(outside); err != nil || string(text) != "theirs" {
			t.Errorf("%s: %q, %v", name, text, err)
		}
		if _, err := os.Lstat(outside + ".new"); err == nil {
			t.Errorf("%s: a file was made outside", name)
		}
	}
}

// TestOldFilesThatCannotBeMoved checks that the old content is copied if two file
// systems have the same device number, as the layers of an overlay.
func TestOldFilesThatCannotBeMoved(t *testing.T) {
	data, err := os.MkdirTemp("/dev/shm", "mcp-tools-test-")
	if err != nil {
		needtest.Lacking(t, "/dev/shm", "no other disk: "+err.Error())
	}
	defer os.RemoveAll(data)
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	b := benchAt(t, dir, data, Limits{})
	b.write("a", "old")
	c, l := b.begin("a")
	defer l.Unlock()
	if c.device == b.target("a").Info.Dev {
		t.Skip("it is one disk")
	}
	c.device = b.target("a").Info.Dev
	b.stage(c, []string{"a"}, map[string]string{"a": "new"})
	r, err := c.Commit(t.Context(), Record{Time: time.Now()})
	if err != nil || !b.s.Kept(r.Files[0].Before) {
		t.Errorf("%+v, %v", r.Files, err)
	}
	b.has(map[string]string{"a": "new"})
	b.tidy()
}

// TestChangingInodeNumbers checks that the content identifies the old file on file systems
// that change its inode number.
func TestChangingInodeNumbers(t *testing.T) {
	b := newBench(t, Limits{})
	for _, c := range []struct{ now, want string }{{"old", "new"}, {"odd", "odd"}} {
		b.write("a", "old")
		ch, l := b.begin("a")
		b.stage(ch, []string{"a"}, map[string]string{"a": "new"})
		b.write("b", c.now)
		if err := os.Rename(filepath.Join(b.dir, "b"), filepath.Join(b.dir, "a")); err != nil {
			t.Fatal(err)
		}
		_, err := ch.Commit(t.Context(), Record{Time: time.Now()})
		l.Unlock()
		if (err == nil) != (c.want == "new") {
			t.Errorf("%s: %v", c.now, err)
		}
		b.has(map[string]string{"a": c.want})
		b.tidy()
	}
}
