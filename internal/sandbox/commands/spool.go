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

// A spool is a private directory of this process, for the output of commands and
// for the files of commands with credentials. It is created at the first use,
// since most servers never need it. Each server process has its own; the next
// process removes the directories of dead ones.
type spool struct {
	parent string
	most   int64 // maximum number of bytes of all output

	making sync.Mutex
	dir    string // "" before it is created
	lock   *os.File
	closed bool

	mu   sync.Mutex
	used int64
}

const (
	runPrefix = "run-"
	lockName  = "lock"
)

// place returns the directory, and creates it at the first call.
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
	for range 5 { // the sweep of another process may remove a new directory before it is locked
		if err != nil || s.dir != "" {
			break
		}
		s.dir, s.lock, err = makeRun(s.parent)
	}
	if err == nil && s.dir == "" {
		err = errors.New("another process removes it again and again")
	}
	if err != nil {
		return "", fmt.Errorf("the directory for the output of commands: %w", err)
	}
	return s.dir, nil
}

// makeRun creates and locks a directory. It returns "" if another process removed
// it in the meantime.
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

// sweepSpool removes the directories of dead processes. Errors are ignored: a later
// sweep tries again.
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
			_ = os.Remove(dir) // fails unless it is empty: a process may be about to create the lock
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

// create returns a new unnamed file. Where open files keep their name, it is
// removed with the directory.
func (s *spool) create() (*os.File, error) {
	dir, err := s.place()
	if err != nil {
		return nil, err
	}
	file, err := os.CreateTemp(dir, "out-")
	if err != nil {
		return nil, err
	}
	_ = os.Remove(file.Name()) // fails on Windows while the file is open
	return file, nil
}

// close removes the directory. Logs with open files can still be read.
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

// A reservation is the part of the spool's limit that one file uses.
type reservation struct {
	spool *spool
	size  int64
}

func (s *spool) reservation() *reservation { return &reservation{spool: s} }

// reach extends the reservation to end, and reports whether the limit permits it.
func (e *reservation) reach(end int64) bool {
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

// release returns the reserved bytes to the spool.
func (e *reservation) release() {
	e.spool.mu.Lock()
	defer e.spool.mu.Unlock()
	e.spool.used -= e.size
	e.size = 0
}
