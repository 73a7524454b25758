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
// for the files of those that hold credentials. It is made when something is
// to be put there, since most processes never need it. Others have theirs beside
// it; what a process left that died is removed by the next one.
type spool struct {
	parent string
	most   int64 // bytes of all output

	making sync.Mutex
	dir    string // "" before it is made
	lock   *os.File
	closed bool

	mu   sync.Mutex
	used int64
}

const (
	runPrefix = "run-"
	lockName  = "lock"
)

// place is the directory.
func (s *spool) place() (dir string, err error) {
	s.making.Lock()
	defer s.making.Unlock()
	if s.closed {
		return "", fs.ErrClosed
	}
	if s.dir != "" {
		return s.dir, nil
	}
	if err = private.MakeDir(s.parent); err == nil {
		sweepSpool(s.parent)
	}
	for range 5 { // the sweep of another process can take a new directory for an old one
		if err != nil || s.dir != "" {
			break
		}
		s.dir, s.lock, err = makeRun(s.parent)
	}
	if err == nil && s.dir == "" {
		err = errors.New("others keep removing it")
	}
	if err != nil {
		return "", fmt.Errorf("the directory for the output of commands: %w", err)
	}
	return s.dir, nil
}

// makeRun returns "" when another process was faster.
func makeRun(parent string) (dir string, lock *os.File, err error) {
	if dir, err = os.MkdirTemp(parent, runPrefix); err != nil {
		return "", nil, err
	}
	path := filepath.Join(dir, lockName)
	if lock, err = os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return "", nil, nil
		}
		return "", nil, errors.Join(err, os.RemoveAll(dir))
	}
	taken, err := private.TryLock(lock)
	if _, gone := os.Lstat(path); err != nil || !taken || gone != nil {
		return "", nil, errors.Join(err, lock.Close())
	}
	return dir, lock, nil
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
	dir, err := s.place()
	if err != nil {
		return nil, err
	}
	file, err := os.CreateTemp(dir, "out-")
	if err != nil {
		return nil, err
	}
	_ = os.Remove(file.Name()) // refused on Windows while it is open
	return file, nil
}

// close removes everything. Logs that still have files can be read on.
func (s *spool) close() error {
	s.making.Lock()
	defer s.making.Unlock()
	s.closed = true
	if s.dir == "" {
		return nil
	}
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
