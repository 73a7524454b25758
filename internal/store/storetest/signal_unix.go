//go:build unix

package storetest

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// Signal sends a signal to the server and to all its processes.
func (s *Server) Signal(t testing.TB, sig syscall.Signal) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(s.data(), "postmaster.pid"))
	if err != nil {
		t.Fatal(err)
	}
	pid, _, _ := strings.Cut(string(text), "\n")
	all := []string{pid}
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, at := range stats {
		stat, _ := os.ReadFile(at) // the process may have ended
		_, rest, _ := strings.Cut(string(stat), ") ")
		if f := strings.Fields(rest); len(f) > 1 && f[1] == pid {
			all = append(all, filepath.Base(filepath.Dir(at)))
		}
	}
	for _, one := range all {
		if n, err := strconv.Atoi(one); err == nil {
			_ = syscall.Kill(n, sig)
		}
	}
}
