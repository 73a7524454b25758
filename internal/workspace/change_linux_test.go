package workspace_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/mcp-tools/mcp-tools/internal/needtest"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/internal/workspace"
	"github.com/mcp-tools/mcp-tools/internal/workspace/workspacetest"
)

func TestFullDisk(t *testing.T) {
	for _, where := range []string{"the workspace", "the history", "both"} {
		t.Run(where, func(t *testing.T) {
			small := needtest.Disk(t, "256k")
			data, dir := workspacetest.Dir(t), workspacetest.Dir(t)
			if where != "the history" {
				dir = filepath.Join(small, "ws")
			}
			if where != "the workspace" {
				data = filepath.Join(small, "data")
			}
			write(t, filepath.Join(dir, "a"), "old a")
			write(t, filepath.Join(dir, "b"), strings.Repeat("b", 20_000))
			w, _, _ := workspacetest.New(t, func(o *workspace.Options) { o.Data = data })
			ctx := workspacetest.For(t.Context(), workspacetest.Caller(dir))
			mustPut(t, ctx, w, "a", "old a, changed")
			before := tree(t, dir)
			ballast := filepath.Join(small, "ballast")
			fill(t, ballast)
			want := map[string]string{"a": "new", "b": strings.Repeat("n", 20_000), "deep/c": strings.Repeat("c", 20_000)}
			for range 2 {
				r, err := putAll(ctx, w, want)
				if kind(err) != tool.Unavailable || !strings.Contains(err.Error(), "the disk is full; nothing was changed") {
					t.Errorf("%+v, %v", r, err)
				}
				mustBe(t, dir, before)
				nothingPending(t, data)
			}
			if err := os.Remove(ballast); err != nil {
				t.Fatal(err)
			}
			r, err := putAll(ctx, w, want)
			if err != nil {
				t.Fatalf("with space again: %v", err)
			}
			mustBe(t, dir, want)
			if _, err := w.Undo(ctx, r.ID); err != nil {
				t.Error(err)
			}
			mustBe(t, dir, before)
		})
	}
}

// fill writes until the disk is full.
func fill(t *testing.T, path string) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	for err == nil {
		_, err = f.Write(make([]byte, 4096))
	}
	if !errors.Is(err, unix.ENOSPC) {
		t.Fatal(err)
	}
	_ = f.Close()
}

// nothingPending checks that the history has no unfinished changes.
func nothingPending(t testing.TB, data string) {
	t.Helper()
	for _, pattern := range []string{"pending/*", "copies/.*"} {
		if left, err := filepath.Glob(filepath.Join(data, "files", pattern)); err != nil || len(left) > 0 {
			t.Errorf("left over: %v, %v", left, err)
		}
	}
}

func TestReadOnlyFileSystem(t *testing.T) {
	dir := needtest.Disk(t, "256k")
	write(t, filepath.Join(dir, "a"), "a")
	data := workspacetest.Dir(t)
	w, _, _ := workspacetest.New(t, func(o *workspace.Options) { o.Data = data })
	ctx := workspacetest.For(t.Context(), workspacetest.Caller(dir))
	if err := unix.Mount("", dir, "", unix.MS_REMOUNT|unix.MS_RDONLY, ""); err != nil {
		t.Fatal(err)
	}
	for _, files := range []map[string]string{{"a": "new"}, {"new": "new"}, {"a": removed}, {"far/new": "new", "a": "new"}} {
		if r, err := putAll(ctx, w, files); kind(err) != tool.Refused || !strings.Contains(err.Error(), "read-only file system") {
			t.Errorf("%v: %+v, %v", files, r, err)
		}
	}
	mustBe(t, dir, map[string]string{"a": "a"})
	nothingPending(t, data)
}

// TestDirectoryWithoutWritePermission runs as a user without permission to write.
func TestDirectoryWithoutWritePermission(t *testing.T) {
	data, dir := workspacetest.Dir(t), workspacetest.Dir(t)
	write(t, filepath.Join(dir, "closed", "a"), "a")
	write(t, filepath.Join(dir, "b"), "b")
	w, _, _ := workspacetest.New(t, func(o *workspace.Options) { o.Data = data })
	ctx := workspacetest.For(t.Context(), workspacetest.Caller(dir))
	if os.Geteuid() == 0 {
		// The directories of this test; all users can enter those above them.
		for _, open := range []string{filepath.Dir(data), filepath.Dir(dir)} {
			if err := os.Chmod(open, 0o755); err != nil {
				t.Fatal(err)
			}
		}
		for _, path := range []string{data, dir, filepath.Join(dir, "b")} {
			if err := os.Chown(path, 65534, 65534); err != nil {
				t.Fatal(err)
			}
		}
		runtime.LockOSThread()
		if err := unix.Setfsuid(65534); err != nil {
			t.Fatal(err)
		}
		defer func() { _ = unix.Setfsuid(0); runtime.UnlockOSThread() }()
	} else if err := os.Chmod(filepath.Join(dir, "closed"), 0o555); err != nil {
		t.Fatal(err)
	}
	for _, files := range []map[string]string{{"b": "new", "closed/a": "new"}, {"closed/new": "new"}, {"b": removed, "closed/a": removed}} {
		if r, err := putAll(ctx, w, files); kind(err) != tool.Refused {
			t.Errorf("%v: %+v, %v", files, r, err)
		}
	}
	mustPut(t, ctx, w, "b", "b again")
	mustBe(t, dir, map[string]string{"b": "b again", "closed/a": "a"})
	nothingPending(t, data)
	_ = os.Chmod(filepath.Join(dir, "closed"), 0o755)
}

func TestTooManyOpenFiles(t *testing.T) {
	w, ctx, dir := workspacetest.New(t)
	want := map[string]string{}
	for i := range 100 {
		name := fmt.Sprintf("d%d/f", i)
		write(t, filepath.Join(dir, name), "old")
		want[name] = "new"
	}
	before := tree(t, dir)
	open, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	var old unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &old); err != nil {
		t.Fatal(err)
	}
	// With each limit the change fails at a later point, until it succeeds.
	failed := 0
	for more := 5; ; more += 15 {
		limit := unix.Rlimit{Cur: uint64(len(open) + more), Max: old.Max}
		if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
			t.Fatal(err)
		}
		_, err := putAll(ctx, w, want)
		if restore := unix.Setrlimit(unix.RLIMIT_NOFILE, &old); restore != nil {
			t.Fatal(restore)
		}
		if err == nil {
			break
		}
		failed++
		if k := kind(err); k != tool.Busy && k != tool.Unavailable {
			t.Errorf("%d more: %v", more, err)
		}
		mustBe(t, dir, before)
	}
	if failed < 5 {
		t.Errorf("it failed %d times only", failed)
	}
	mustBe(t, dir, want)
}

// TestSwappedDirectories writes below a directory that another goroutine repeatedly
// replaces by a link to another directory.
func TestSwappedDirectories(t *testing.T) {
	outside, data := workspacetest.Dir(t), workspacetest.Dir(t)
	w, ctx, dir := workspacetest.New(t, func(o *workspace.Options) { o.Data = data })
	write(t, filepath.Join(outside, "f"), "theirs")
	write(t, filepath.Join(dir, "d", "f"), "ours")
	if err := os.Symlink(outside, filepath.Join(dir, "l")); err != nil {
		t.Fatal(err)
	}
	var stop atomic.Bool
	var wg sync.WaitGroup
	wg.Go(func() {
		for !stop.Load() {
			d, l := filepath.Join(dir, "d"), filepath.Join(dir, "l")
			if err := unix.Renameat2(unix.AT_FDCWD, d, unix.AT_FDCWD, l, unix.RENAME_EXCHANGE); err != nil {
				t.Error(err)
				return
			}
		}
	})
	made, refused := 0, 0
	for i := 0; i < 3000 && (i < 300 || made == 0 || refused == 0); i++ {
		files := map[string]string{"d/f": fmt.Sprint("ours ", i), "d/new": "x"}
		if i%2 == 1 {
			files = map[string]string{"d/f": fmt.Sprint("ours ", i), "d/sub/new": removed}
		}
		if _, err := putAll(ctx, w, files); err == nil {
			made++
		} else {
			refused++
		}
	}
	stop.Store(true)
	wg.Wait()
	mustBe(t, outside, map[string]string{"f": "theirs"})
	for name := range tree(t, dir) {
		if strings.Contains(name, ".mcp-tools-") {
			t.Errorf("%s is left over", name)
		}
	}
	nothingPending(t, data)
	if made == 0 || refused == 0 {
		t.Errorf("%d made, %d refused: nothing was raced for", made, refused)
	}
}

func TestExtendedAttributesAreKept(t *testing.T) {
	w, ctx, dir := workspacetest.New(t)
	path := filepath.Join(dir, "f")
	write(t, path, "old")
	if err := unix.Setxattr(path, "user.origin", []byte("here"), 0); err != nil {
		t.Skip("files have no labels here:", err)
	}
	mustPut(t, ctx, w, "f", "new")
	value := make([]byte, 10)
	if n, err := unix.Getxattr(path, "user.origin", value); err != nil || string(value[:n]) != "here" {
		t.Errorf("%q, %v", value[:max(n, 0)], err)
	}
}
