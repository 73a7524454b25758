package tree

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestSpecialFilesAreNotOpened(t *testing.T) {
	dir, r := plant(t, "a", "d/b", ".git/")
	for _, name := range []string{"fifo", "d/.gitignore", ".ignore", ".gitignore"} { // opening one would wait for a writer
		if err := unix.Mkfifo(filepath.Join(dir, name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for link, target := range map[string]string{"loop": "loop", "up": "..", "d/here": ".", "out": "/etc"} {
		if err := os.Symlink(target, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	got, unread, err := Files(t.Context(), r, Options{}, nil)
	if want := []string{"a", "d/b"}; err != nil || len(unread) != 0 || !slices.Equal(got, want) {
		t.Errorf("%q, %q, %v", got, unread, err)
	}
}

func TestNamesThatAreNotUTF8(t *testing.T) {
	want := []string{"a\xff\xfe/b\xc3", "new\nline", "tab\t", "\x01", "\xff"}
	slices.Sort(want)
	_, r := plant(t, want...)
	got, _, err := Files(t.Context(), r, Options{}, nil)
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%q, %v", got, err)
	}
}

// TestTooDeep creates directories with paths that are longer than the system allows.
func TestTooDeep(t *testing.T) {
	dir, r := plant(t, "a/f")
	at, err := unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY, 0)
	if err != nil {
		t.Fatal(err)
	}
	step := strings.Repeat("d", 20)
	for range 1000 {
		if err := unix.Mkdirat(at, step, 0o755); err != nil {
			t.Fatal(err)
		}
		next, err := unix.Openat(at, step, unix.O_PATH|unix.O_DIRECTORY, 0)
		if err != nil {
			t.Fatal(err)
		}
		_ = unix.Close(at)
		at = next
	}
	_ = unix.Close(at)
	got, unread, err := Files(t.Context(), r, Options{}, nil)
	if err != nil || len(got) != 1 || len(unread) != 1 || len(unread[0]) < 4000 {
		t.Errorf("%d files, %d directories not read, %v", len(got), len(unread), err)
	}
}

func TestUnreadable(t *testing.T) {
	if os.Getuid() == 0 {
		t.Skip("the superuser reads everything")
	}
	dir, r := plant(t, "a/b", "c/d", "e")
	if err := os.Chmod(filepath.Join(dir, "a"), 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chmod(filepath.Join(dir, "a"), 0o700) })
	got, unread, err := Files(t.Context(), r, Options{}, nil)
	if err != nil || !slices.Equal(unread, []string{"a"}) || !slices.Equal(got, []string{"c/d", "e"}) {
		t.Errorf("%q, %q, %v", got, unread, err)
	}
}

// TestEntriesWithoutTypes parses entries without a type, as some file systems return them.
func TestEntriesWithoutTypes(t *testing.T) {
	dir, _ := plant(t, "file", "dir/")
	if err := os.Symlink("file", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	fd, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	buf := make([]byte, 8<<10)
	n, err := unix.Getdents(fd, buf)
	if err != nil {
		t.Fatal(err)
	}
	for at := 0; at < n; at += int(binary.NativeEndian.Uint16(buf[at+16:])) {
		buf[at+18] = unix.DT_UNKNOWN
	}
	got := map[string]os.FileMode{}
	entries(fd, buf[:n], func(name []byte, mode os.FileMode) { got[string(name)] = mode })
	if len(got) != 3 || got["file"] != 0 || got["dir"] != os.ModeDir || got["link"] != os.ModeSymlink {
		t.Errorf("%v", got)
	}
}
