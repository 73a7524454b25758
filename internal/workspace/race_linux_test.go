package workspace

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mcp-tools/mcp-tools/internal/needtest"
)

// TestSwaps replaces directories and files by links to the outside, and back, while it
// reads paths through them. It must never read a file from outside.
func TestSwaps(t *testing.T) {
	w, ctx, ws := testWorkspace(t)
	top := filepath.Dir(ws)
	plant(t, top, map[string]string{"out/f": "evil", "out/sub/f": "evil", "secret.txt": "evil"})
	plant(t, ws, map[string]string{
		"dir/f": "inside", "dir/sub/f": "inside", "dir-link": "-> " + top + "/out", "d2/sub/f": "inside", "sub-link": "-> ../../out/sub",
		"file": "inside", "file-link": "-> ../secret.txt", "to-dir": "-> dir", ".env": "evil", "env-link": "-> .env", "file2": "inside",
	})
	swaps := [][2]string{{"dir", "dir-link"}, {"d2/sub", "sub-link"}, {"file", "file-link"}, {"file2", "env-link"}}
	begun := time.Now()
	run, stop := context.WithCancel(ctx)
	defer stop()
	var swapping, reading sync.WaitGroup
	for _, pair := range swaps {
		swapping.Go(func() {
			for run.Err() == nil {
				a, b := filepath.Join(ws, pair[0]), filepath.Join(ws, pair[1])
				_ = unix.Renameat2(unix.AT_FDCWD, a, unix.AT_FDCWD, b, unix.RENAME_EXCHANGE)
			}
		})
	}
	reads := make([]int, 2)
	for i := range reads {
		reading.Go(func() {
			took := func() time.Duration { return time.Since(begun) }
			for took() < 500*time.Millisecond || reads[i] == 0 && took() < time.Minute {
				for _, path := range []string{"dir/f", "dir/sub/f", "to-dir/sub/f", "d2/sub/f", "d2/sub/../sub/f", "file", "file2", "dir/../file", "dir/sub/../f"} {
					got, err := content(ctx, w, path)
					if err == nil {
						reads[i]++
					}
					if strings.Contains(got, "evil") {
						t.Errorf("%s leads out", path)
						return
					}
					p, err := w.resolve(ctx, path, toWrite)
					if err != nil {
						continue
					}
					if f, err := p.mount.root.OpenFile(p.name, os.O_RDONLY, 0); err == nil {
						text := make([]byte, 10)
						n, _ := f.Read(text)
						_ = f.Close()
						if string(text[:n]) == "evil" {
							t.Errorf("%s leads out when it is to be written", path)
							return
						}
					}
				}
			}
		})
	}
	reading.Wait()
	stop()
	swapping.Wait()
	if reads[0]+reads[1] == 0 {
		t.Error("nothing could ever be read")
	}
	t.Logf("%d reads succeeded", reads[0]+reads[1])
}

// TestRenamedHardLink renames a hard link during the search for links: it must not count
// twice.
func TestRenamedHardLink(t *testing.T) {
	w, ctx, ws := testWorkspace(t)
	plant(t, filepath.Dir(ws), map[string]string{"out": "evil"})
	plant(t, ws, map[string]string{"a/": "", "z/": "", "b/": ""})
	plant(t, filepath.Dir(ws), map[string]string{"out2": "evil"})
	link(t, filepath.Join(filepath.Dir(ws), "out"), filepath.Join(ws, "a", "f"))
	link(t, filepath.Join(filepath.Dir(ws), "out2"), filepath.Join(ws, "b", "f"))
	run, stop := context.WithTimeout(ctx, 300*time.Millisecond)
	defer stop()
	var all sync.WaitGroup
	all.Go(func() {
		for run.Err() == nil {
			_ = os.Rename(filepath.Join(ws, "a", "f"), filepath.Join(ws, "z", "f"))
			_ = os.Rename(filepath.Join(ws, "z", "f"), filepath.Join(ws, "a", "f"))
		}
	})
	all.Go(func() {
		for run.Err() == nil {
			_ = os.Rename(filepath.Join(ws, "b"), filepath.Join(ws, "y"))
			_ = os.Rename(filepath.Join(ws, "y"), filepath.Join(ws, "b"))
		}
	})
	for run.Err() == nil {
		for _, path := range []string{"a/f", "z/f", "b/f", "y/f"} {
			if got, err := content(ctx, w, path); err == nil && got == "evil" {
				t.Errorf("%s: %q", path, got)
				stop()
			}
		}
	}
	all.Wait()
}

// TestBindMount mounts the data directory at a path in the workspace.
func TestBindMount(t *testing.T) {
	w, ctx, ws := testWorkspace(t)
	plant(t, w.o.Data, map[string]string{"changes.jsonl": "evil"})
	plant(t, ws, map[string]string{"alias/": ""})
	alias := filepath.Join(ws, "alias")
	if err := unix.Mount(w.o.Data, alias, "", unix.MS_BIND, ""); err != nil {
		needtest.Lacking(t, "mount", "mounting takes root: "+err.Error())
	}
	t.Cleanup(func() {
		if err := unix.Unmount(alias, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	for _, path := range []string{"alias", "alias/changes.jsonl", "alias/none"} {
		if p, err := w.resolve(ctx, path, toList); err == nil {
			t.Errorf("%q leads to %q", path, p.name)
		}
	}
	if _, err := w.resolve(callFor(t.Context(), alias), ".", toList); err == nil {
		t.Error("a workspace that is the data directory")
	}
}
