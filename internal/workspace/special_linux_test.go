package workspace

import (
	"net"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// special creates a pipe, and other files that are not regular.
func special(t *testing.T, dir string) {
	t.Helper()
	if err := unix.Mkfifo(filepath.Join(dir, "fifo"), 0o600); err != nil {
		t.Fatal(err)
	}
	socket, err := net.Listen("unix", filepath.Join(dir, "socket"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = socket.Close() })
}
