package sessions

import (
	"context"
	"os"
	"path/filepath"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/private"
	"github.com/mcp-tools/mcp-tools/internal/store"
)

// lockTimeout is the longest wait for the lock of this process. Another process may hold it for
// a moment to look.
const lockTimeout = time.Second

// hold takes the lock that shows other processes on this machine that this process
// lives. The system releases it when the process ends, however it ends. Without the lock
// the lease in the store decides.
func (s *Sessions) hold(ctx context.Context) {
	s.holding.Lock()
	defer s.holding.Unlock()
	if s.Dir == "" || s.release != nil {
		return
	}
	err := os.MkdirAll(s.Dir, 0o700)
	if err == nil {
		s.release, err = private.Lock(ctx, filepath.Join(s.Dir, s.host), lockTimeout)
	}
	if err != nil {
		s.Log.Warn("if this process is killed, its sessions end some minutes later: its lock could not be taken",
			"err", err)
		s.release = func() {}
	}
	s.locked = err == nil
}

// unhold releases the lock of this process at its end.
func (s *Sessions) unhold() {
	s.holding.Lock()
	defer s.holding.Unlock()
	if s.release != nil {
		s.release()
		_ = os.Remove(filepath.Join(s.Dir, s.host)) // another process removes the rest
	}
}

// killed returns the processes of this machine that ended without releasing their lock.
func (s *Sessions) killed() (hosts []string) {
	if s.Dir == "" {
		return nil
	}
	entries, err := os.ReadDir(s.Dir)
	if err != nil {
		return nil // the leases in the store decide
	}
	for _, e := range entries {
		if e.Name() == s.host {
			continue
		}
		file, err := os.OpenFile(filepath.Join(s.Dir, e.Name()), os.O_RDWR, 0)
		if err != nil {
			continue
		}
		if taken, err := private.TryLock(file); err == nil && taken {
			hosts = append(hosts, e.Name())
		}
		_ = file.Close()
	}
	return hosts
}

// bury removes killed processes, whose sessions end with them.
func bury(t *store.Tx, hosts []string) error {
	for _, host := range hosts {
		if _, err := t.Exec("DELETE FROM session_host WHERE id = $1", host); err != nil {
			return err
		}
	}
	return nil
}

// forget removes the locks of killed processes that are no longer in the store.
func (s *Sessions) forget(hosts []string) {
	for _, host := range hosts {
		_ = os.Remove(filepath.Join(s.Dir, host)) // the next process removes the rest
	}
}
