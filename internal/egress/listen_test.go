package egress

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestListen(t *testing.T) {
	short := t.TempDir()
	long := filepath.Join(short, strings.Repeat("long", 30))
	t.Setenv("TMPDIR", short)
	for _, dir := range []string{filepath.Join(short, "a"), long} {
		socket, l, err := Listen(dir)
		if err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(socket)
		if err != nil || info.Mode().Perm() != 0o600 || len(socket) > maxSocket {
			t.Errorf("%s: %v, %v", socket, info.Mode(), err)
		}
		above, err := os.Stat(filepath.Dir(socket))
		if err != nil || above.Mode().Perm() != 0o700 {
			t.Errorf("%s: %v, %v", filepath.Dir(socket), above.Mode(), err)
		}
		for range 2 {
			_ = l.Close() // the second Close returns an error
		}
		if left, err := filepath.Glob(filepath.Join(filepath.Dir(socket), "*.sock")); len(left) > 0 || err != nil {
			t.Errorf("left: %q, %v", left, err)
		}
	}
	if err := os.Chmod(short, 0o777); err != nil {
		t.Fatal(err)
	}
	if _, _, err := Listen(short); err == nil {
		t.Error("a directory that others may write to")
	}
	t.Setenv("TMPDIR", long)
	if _, _, err := Listen(long); err == nil {
		t.Error("there is no short path, and no error")
	}
}
