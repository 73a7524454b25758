package approvals

import (
	"context"
	"os"

	"github.com/mcp-tools/mcp-tools/internal/private"
)

// A process proves that it lives by a lock on a file of its own, which the
// system releases however the process ends.

func ownerFile(owner string) string { return "owner-" + owner }

// live makes the proof for this process. The caller holds the store's lock, so
// nobody sees the file before it is locked.
func (s *Store) live() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.alive != nil {
		return nil
	}
	unlock, err := private.Lock(context.Background(), s.path(ownerFile(s.me)), 0)
	if err != nil {
		return err
	}
	s.alive = unlock
	return nil
}

// lives reports whether the process of that name is still there. What a dead
// one left behind is removed. The caller holds the store's lock.
func (s *Store) lives(owner string) bool {
	path := s.path(ownerFile(owner))
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return false
	}
	free, err := private.TryLock(file)
	_ = file.Close()
	if err != nil || !free {
		return true // what cannot be found out takes nobody's question away
	}
	_ = os.Remove(path)
	return false
}
