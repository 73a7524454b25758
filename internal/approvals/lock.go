package approvals

import (
	"fmt"
	"os"
	"time"
)

// lock takes the lock at path, which other processes and other Stores of this
// process respect. The system releases it when a process dies.
func lock(path string, patience time.Duration) (unlock func(), err error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("opening a lock of the approvals: %w", err)
	}
	for until := time.Now().Add(patience); ; time.Sleep(lockEvery) {
		taken, err := tryLock(file)
		switch {
		case err != nil:
			_ = file.Close()
			return nil, fmt.Errorf("locking %s: %w", path, err)
		case taken:
			return func() { _ = file.Close() }, nil // closing unlocks
		case !time.Now().Before(until):
			_ = file.Close()
			return nil, fmt.Errorf("another process has held %s for %s; end it, or try again", path, patience)
		}
	}
}

const lockEvery = 2 * time.Millisecond
