package index

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
)

// maxSlots is the number of processes that can have an index below one directory.
const maxSlots = 256

// A slot is a directory that this process alone uses, while its lock is open.
type slot struct {
	dir  string
	lock *os.File // kept reachable: the garbage collector would close, and so unlock, the file
}

// takeSlot takes the first free slot. It does not wait.
func takeSlot(dir string) (*slot, error) {
	for n := range maxSlots {
		path := filepath.Join(dir, "index-"+strconv.Itoa(n))
		s, err := trySlot(path)
		if s != nil || err != nil {
			return s, err
		}
	}
	return nil, fmt.Errorf("%d processes have an index beneath %s; end some of them", maxSlots, dir)
}

// trySlot returns nil if another process has the slot.
func trySlot(dir string) (*slot, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	file, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	taken, err := tryLock(file)
	if err != nil || !taken {
		return nil, errors.Join(err, file.Close())
	}
	return &slot{dir: dir, lock: file}, nil
}

func (s *slot) release() error { return s.lock.Close() }
