package audit

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// TestAFullDiskThatIsReal needs the right to mount a small disk; without it
// TestFullDisk has to do.
func TestAFullDiskThatIsReal(t *testing.T) {
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=64k"); err != nil {
		t.Skip("cannot mount a small disk here:", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	})
	l := open(t, dir, Options{})
	add(t, l, "first")
	ballast := filepath.Join(dir, "ballast")
	if err := os.WriteFile(ballast, make([]byte, 30_000), 0o600); err != nil {
		t.Fatal(err)
	}
	written := 1
	for refusals := 0; refusals < 2; {
		err := l.Append(t.Context(), Record{Call: fmt.Sprint(written), Error: strings.Repeat("x", 500)})
		if err == nil {
			written++
			continue
		}
		refusals++
		if !errors.Is(err, ErrBroken) || !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("error %v", err)
		}
	}
	mustBeGreen(t, dir, written)
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	add(t, l, "again")
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	mustBeGreen(t, dir, written+1)
}
