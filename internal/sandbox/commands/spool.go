package commands

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/mcp-tools/mcp-tools/internal/private"
)

// A spool is a directory of this process alone, for the output of commands and
// for the files of those that hold credentials. Others have theirs beside it;
// what a process left that died is removed by the next one.
type spool struct {
	dir  string
	lock *os.File
	most int64 // bytes of all output

	mu   sync.Mutex
	used int64
}

const (
	runPrefix = "run-"
	lockName  = "lock"
)

// openSpool makes a directory in parent, which is made too.
func openSpool(parent string, most int64) (*spool, error) {
	err := private.MakeDir(parent)
	if err == nil {
		sweepSpool(parent)
	}
	for range 5 { // the sweep of another process can take a new directory for an old one
		if err != nil {
			break
		}
		var s *spool
		if s, err = newSpool(parent, most); s != nil {
			return s, nil
		}
	}
	if err == nil {
		err = errors.New("others keep removing it")
	}
	return nil, fmt.Errorf("the directory for the output of commands: %w", err)
}

// newSpool returns nil when another process was faster.
func newSpool(parent string, most int64) (*spool, error) {
	dir, err := os.MkdirTemp(parent, runPrefix)
	if err != nil {
		return nil, err
	}
	path := filepath.Join(dir, lockName)
	lock, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		}
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	taken, err := private.TryLock(lock)
	if _, gone := os.Lstat(path); err != nil || !taken || gone != nil {
		return nil, errors.Join(err, lock.Close())
	}
	return &spool{dir: dir, lock: lock, most: most}, nil
}

// sweepSpool removes what processes left that are no more. What cannot be
// removed is in nobody's way.
func sweepSpool(parent string) {
	entries, err := os.ReadDir(parent)
	if err != nil {
		return
	}
	for _, e := range entries {
		if !e.IsDir() || !strings.HasPrefix(e.Name(), runPrefix) {
			continue
		}
		dir := filepath.Join(parent, e.Name())
		lock, err := os.OpenFile(filepath.Join(dir, lockName), os.O_RDWR, 0)
		if errors.Is(err, fs.ErrNotExist) {
			_ = os.Remove(dir) // only when it is empty: somebody may be about to make the lock
			continue
		}
		if err != nil {
			continue
		}
		if taken, err := private.TryLock(lock); err == nil && taken {
			_ = os.RemoveAll(dir)
		}
		_ = lock.Close()
	}
}

// create makes a file without a name. Where files cannot be without one it
// goes with the directory.
func (s *spool) create() (*os.File, error) {
	file, err := os.CreateTemp(s.dir, "out-")
	if err != nil {
		return nil, err
	}
	_ = os.Remove(file.Name()) // refused on Windows while it is open
	return file, nil
}

// close removes everything. Logs that still have files can be read on.
func (s *spool) close() error {
	err := os.RemoveAll(s.dir)
	if cerr := s.lock.Close(); err == nil {
		err = cerr
	}
	return err
}

// An extent is how much of the spool one file takes.
type extent struct {
	spool *spool
	size  int64
}

func (s *spool) extent() *extent { return &extent{spool: s} }

// reach asks for room up to an offset, and says whether there is.
func (e *extent) reach(end int64) bool {
	if end <= e.size {
		return true
	}
	e.spool.mu.Lock()
	defer e.spool.mu.Unlock()
	if e.spool.used+end-e.size > e.spool.most {
		return false
	}
	e.spool.used += end - e.size
	e.size = end
	return true
}

// release gives the room back.
func (e *extent) release() {
	e.spool.mu.Lock()
	defer e.spool.mu.Unlock()
	e.spool.used -= e.size
	e.size = 0
}
