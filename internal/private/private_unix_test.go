//go:build !windows

package private

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestPermissions(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	for mode, good := range map[fs.FileMode]bool{
		0o600: true, 0o400: true, 0o700: true, 0o640: false, 0o604: false, 0o602: false, 0o660: false, 0o601: false,
	} {
		put(t, path, "x", mode)
		_, err := Read(path, 10)
		if good != (err == nil) || err != nil && !strings.Contains(err.Error(), "chmod 600") {
			t.Errorf("a file with mode %#o: %v", mode, err)
		}
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
	for mode, good := range map[fs.FileMode]bool{0o700: true, 0o755: true, 0o720: false, 0o777: false, 0o702: false} {
		if err := os.Chmod(dir, mode); err != nil {
			t.Fatal(err)
		}
		err := MakeDir(dir)
		if good != (err == nil) || err != nil && !strings.Contains(err.Error(), "chmod 700") {
			t.Errorf("a directory with mode %#o: %v", mode, err)
		}
	}
}

func TestOwner(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give files away")
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	put(t, path, "x", 0o600)
	for _, place := range []string{path, dir} {
		if err := os.Chown(place, 12345, -1); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := Read(path, 10); err == nil || !strings.Contains(err.Error(), "belongs to user 12345") {
		t.Errorf("a file of another user: %v", err)
	}
	if err := CheckDir(dir); err == nil || !strings.Contains(err.Error(), "belongs to user 12345") {
		t.Errorf("a directory of another user: %v", err)
	}
}

// TestReadRefusesPipes checks that a pipe is refused, because reading a pipe
// without a writer would block forever.
func TestReadRefusesPipes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe")
	if err := unix.Mkfifo(path, 0o600); err != nil {
		t.Skip("no pipes here: ", err)
	}
	if _, err := Read(path, 10); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("a pipe was read: %v", err)
	}
}
