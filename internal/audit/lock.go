package audit

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

const (
	lockName     = "lock"
	lockPatience = 5 * time.Second
)

// lockDir takes the lock that guards what processes share: the key, the heads
// and retention. Appending never needs it.
func lockDir(dir string) (unlock func(), err error) {
	path := filepath.Join(dir, lockName)
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("locking the audit log: %w", err)
	}
	for until := time.Now().Add(lockPatience); ; time.Sleep(2 * time.Millisecond) {
		taken, err := tryLock(file)
		if err == nil && !taken && !time.Now().Before(until) {
			err = fmt.Errorf("another process has held it for %s; end it, or try again", lockPatience)
		}
		if err != nil {
			return nil, errors.Join(fmt.Errorf("locking the audit log by %s: %w", path, err), file.Close())
		}
		if taken {
			return func() { _ = file.Close() }, nil // closing unlocks, and nothing was written
		}
	}
}
