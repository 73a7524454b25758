package workspace

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/internal/workspace/root"
)

func link(t *testing.T, from, to string) {
	t.Helper()
	if err := os.Link(from, to); err != nil {
		t.Fatal(err)
	}
}

func TestHardLinks(t *testing.T) {
	w, ctx, ws := testWorkspace(t)
	outside := filepath.Join(filepath.Dir(ws), "outside.txt")
	plant(t, filepath.Dir(ws), map[string]string{"outside.txt": "evil"})
	plant(t, ws, map[string]string{"a": "twice", "dir/": "", "plain": "plain"})
	link(t, filepath.Join(ws, "a"), filepath.Join(ws, "dir", "b"))
	link(t, outside, filepath.Join(ws, "out"))
	refused := func(path string) {
		t.Helper()
		if got, err := content(ctx, w, path); kindOf(err) != tool.Refused {
			t.Errorf("%s: %q, %v; want it refused", path, got, err)
		}
	}
	served := func(path, want string) {
		t.Helper()
		if got, err := content(ctx, w, path); got != want || err != nil {
			t.Errorf("%s: %q, %v; want %q", path, got, err, want)
		}
	}
	served("plain", "plain")
	served("a", "twice")
	served("dir/b", "twice")
	refused("out")

	link(t, filepath.Join(ws, "a"), outside+"2") // cached before, and changed now
	refused("a")
	if err := os.Remove(outside + "2"); err != nil {
		t.Fatal(err)
	}
	served("a", "twice")
	link(t, filepath.Join(ws, "a"), filepath.Join(ws, ".env"))
	refused("a")
	if err := os.Remove(outside); err != nil {
		t.Fatal(err)
	}
	served("out", "evil")

	p, err := w.resolve(ctx, "a", toWrite)
	if err != nil {
		t.Fatal(err)
	}
	names, all, err := w.linkNames(ctx, p, p.info)
	slices.Sort(names)
	if !slices.Equal(names, []string{".env", "a", "dir/b"}) || !all || err != nil {
		t.Errorf("names: %q, %v, %v", names, all, err)
	}
	ended, end := context.WithCancel(ctx)
	end()
	p.mount.linkCache.files = nil
	if _, _, err := w.linkNames(ended, p, p.info); err != context.Canceled {
		t.Errorf("after the end: %v", err)
	}
}

func TestHardLinksAllowed(t *testing.T) {
	w, ctx, ws := testWorkspace(t, func(o *Options) { o.HardLinks = Allow })
	plant(t, filepath.Dir(ws), map[string]string{"outside.txt": "fine"})
	link(t, filepath.Join(filepath.Dir(ws), "outside.txt"), filepath.Join(ws, "out"))
	if got, err := content(ctx, w, "out"); got != "fine" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
}

func TestHardLinksOfProtectedFiles(t *testing.T) {
	for _, policy := range []HardLinks{Inside, Allow} {
		w, ctx, ws := testWorkspace(t, func(o *Options) { o.HardLinks = policy })
		plant(t, ws, map[string]string{".git/config": "config", "a": "a"})
		link(t, filepath.Join(ws, ".git", "config"), filepath.Join(ws, "b"))
		link(t, filepath.Join(ws, "a"), filepath.Join(ws, "c"))
		for path, want := range map[string]tool.Kind{"b": tool.Refused, "c": ""} {
			p, err := w.resolve(ctx, path, toWrite)
			if err != nil {
				t.Fatal(err)
			}
			file, _, err := w.open(ctx, p)
			if kindOf(err) != want {
				t.Errorf("%s, %s: %v, want %q", policy, path, err, want)
			}
			if err == nil {
				_ = file.Close()
			}
		}
		if got, err := content(ctx, w, "b"); got != "config" || err != nil {
			t.Errorf("%s, reading: %q, %v", policy, got, err)
		}
	}
}

// TestLinkSeenTwice checks that a link that is seen twice counts once.
func TestLinkSeenTwice(t *testing.T) {
	began := time.Now()
	old := began.Add(-time.Hour)
	dir, other := inode{1, 10}, inode{1, 11}
	for name, test := range map[string]struct {
		first, second linkName
		changed       time.Time // when it was seen again
		began         time.Time
		holds         bool
		names         int
	}{
		"two":           {linkName{dir, "a"}, linkName{dir, "b"}, old, began, true, 2},
		"renamed above": {linkName{dir, "a"}, linkName{dir, "a"}, old, began, true, 1},
		"renamed":       {linkName{dir, "a"}, linkName{other, "a"}, began, began, false, 2},
		"just changed":  {linkName{dir, "a"}, linkName{dir, "b"}, old, old.Add(settleTime / 2), false, 2},
	} {
		files := map[inode]*linkedFile{}
		info := root.Info{Dev: 1, Ino: 2, Links: 2, Changed: old}
		addLink(files, test.first, "x", info, test.began)
		again := info
		again.Changed = test.changed
		addLink(files, test.second, "y", again, test.began)
		found := files[inode{1, 2}]
		if found.isCurrent(info) != test.holds || len(found.names) != test.names {
			t.Errorf("%s: %v with %d names, want %v with %d", name, found.isCurrent(info), len(found.names), test.holds, test.names)
		}
	}
}
