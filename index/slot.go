package index

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
)

// mostSlots is how many processes can have an index beneath one directory.
const mostSlots = 256

// slot is a directory that this process alone uses, while its lock is open.
type slot struct {
	dir  string
	lock *os.File // what is not reachable is closed, and closing it unlocks
}

// takeSlot takes the first slot that nobody has. It never waits.
func takeSlot(dir string) (*slot, error) {
	for n := range mostSlots {
		path := filepath.Join(dir, "index-"+strconv.Itoa(n))
		s, err := trySlot(path)
		if s != nil || err != nil {
			return s, err
		}
	}
	return nil, fmt.Errorf("%d processes have an index beneath %s; end some of them", mostSlots, dir)
}

// trySlot is nil where another process has the slot.
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
