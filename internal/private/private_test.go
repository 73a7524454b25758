package private

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func put(t *testing.T, path, text string, mode fs.FileMode) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
}

func TestReplaceAndRead(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "deep", "dir")
	if err := MakeDir(dir); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "file")
	if _, err := Read(path, 10); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing file: %v", err)
	}
	put(t, path+".new", "left by a crash", 0o644)
	for _, text := range []string{"one", "", "longer one"} {
		if err := Replace(path, []byte(text)); err != nil {
			t.Fatal(err)
		}
		if got, err := Read(path, 10); err != nil || string(got) != text {
			t.Errorf("read %q, %v; want %q", got, err, text)
		}
	}
	if _, err := Read(path, 9); err == nil || !strings.Contains(err.Error(), "the maximum is 9") {
		t.Errorf("a file that is too long: %v", err)
	}
	if _, err := os.Stat(path + ".new"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the leftover is still there: %v", err)
	}
	if info, err := os.Stat(path); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("the mode is %v, %v", info.Mode(), err)
	}
	for range 2 {
		if err := Remove(path); err != nil {
			t.Error(err)
		}
	}
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the file is still there: %v", err)
	}
}

func TestReplaceFailure(t *testing.T) {
	dir := t.TempDir()
	taken := filepath.Join(dir, "taken")
	if err := os.MkdirAll(filepath.Join(taken, "x"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := Replace(taken, []byte("text")); err == nil {
		t.Error("a directory was replaced")
	}
	if _, err := os.Stat(taken + ".new"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the new version was left behind: %v", err)
	}
	if err := Replace(filepath.Join(dir, "gone", "file"), nil); err == nil {
		t.Error("a file was made in a directory that is not there")
	}
}

func TestReadRefusesDirectories(t *testing.T) {
	if _, err := Read(t.TempDir(), 10); err == nil {
		t.Error("a directory was read")
	}
	path := filepath.Join(t.TempDir(), "file")
	put(t, path, "x", 0o600)
	if err := MakeDir(path); err == nil {
		t.Error("a file is a directory")
	}
	if err := CheckDir(path); err == nil {
		t.Error("a file is a good directory")
	}
	if err := CheckDir(path + "gone"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing directory: %v", err)
	}
}

func TestLock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	unlock, err := Lock(t.Context(), path, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Lock(t.Context(), path, time.Nanosecond); err == nil || !strings.Contains(err.Error(),
		"another process has held") {
		t.Errorf("a lock was taken twice: %v", err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	bored := errors.New("bored")
	cancel(bored)
	if _, err := Lock(ctx, path, time.Hour); !errors.Is(err, bored) {
		t.Errorf("waiting went on: %v", err)
	}
	unlock()
	var holders, count atomic.Int32
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 50 {
				unlock, err := Lock(t.Context(), path, time.Hour)
				if err != nil {
					t.Error(err)
					return
				}
				if n := holders.Add(1); n != 1 {
					t.Errorf("%d hold the lock", n)
				}
				count.Add(1)
				holders.Add(-1)
				unlock()
			}
		})
	}
	all.Wait()
	if count.Load() != 400 {
		t.Errorf("the lock was held %d times, want 400", count.Load())
	}
	if _, err := Lock(t.Context(), filepath.Join(path, "below"), time.Hour); err == nil {
		t.Error("a lock below a file")
	}
}

func TestMakeSub(t *testing.T) {
	elsewhere, dir := t.TempDir(), filepath.Join(t.TempDir(), "new", "data")
	for range 2 { // made, and there already
		path, err := MakeSub(dir, "sub")
		if info, statErr := os.Stat(path); err != nil || statErr != nil || !info.IsDir() ||
			path != filepath.Join(dir, "sub") {
			t.Errorf("made %q: %v, %v", path, err, statErr)
		}
	}
	put(t, filepath.Join(dir, "file"), "x", 0o600)
	if err := errors.Join(os.Symlink(elsewhere, filepath.Join(dir, "link")),
		os.Symlink("nowhere", filepath.Join(dir, "dangling"))); err != nil {
		t.Skip("no links here: ", err)
	}
	for _, name := range []string{"file", "link", "dangling"} {
		if _, err := MakeSub(dir, name); err == nil || !strings.Contains(err.Error(), "move it away") {
			t.Errorf("%s: %v", name, err)
		}
	}
	whole := filepath.Join(t.TempDir(), "whole")
	if err := os.Symlink(dir, whole); err != nil {
		t.Fatal(err)
	}
	if _, err := MakeSub(whole, "sub"); err != nil {
		t.Errorf("the directory around it is a link: %v", err)
	}
}

func TestTempFile(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new")
	file, err := TempFile(dir)
	if err != nil {
		t.Fatal(err)
	}
	left := filepath.Join(dir, "left")
	put(t, left, "by a killed process", 0o600)
	old := time.Now().Add(-2 * maxTempAge)
	if err := os.Chtimes(left, old, old); err != nil {
		t.Fatal(err)
	}
	second, err := TempFile(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		path string
		want bool
	}{{file.Name(), true}, {second.Name(), true}, {left, false}} {
		if _, err := os.Stat(test.path); (err == nil) != test.want {
			t.Errorf("%s: %v", test.path, err)
		}
	}
	Discard(file)
	if _, err := os.Stat(file.Name()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a discarded file: %v", err)
	}
	Discard(second)
}
