// Package private keeps small files that only their owner may use: keys,
// tables, whatever several processes share in a data directory. A file is
// replaced as a whole, so that a reader sees one version or the next, and a
// crash or a power cut leaves one of the two; changes are made one at a time,
// under a lock that the system releases when its holder dies.
//
// It knows what private means on each system. It does not know what is in the
// files, and it decides nothing about a file that is damaged or missing.
//
// Begin with Replace and Lock.
package private

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// MakeDir makes a directory for private files, and what it lies in. One that
// is there already has to be its owner's alone to write to.
func MakeDir(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	return CheckDir(dir)
}

// MakeSub makes the directory name in dir, and what it lies in, and returns its
// path. dir may be a link, as its owner likes; a link in the place of name would
// lead what is written there to where somebody else likes, and is refused.
func MakeSub(dir, name string) (string, error) {
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	if err := os.Mkdir(path, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", err
	}
	info, err := os.Lstat(path)
	if err != nil {
		return "", err
	}
	if !info.IsDir() {
		return "", fmt.Errorf("%s is a link or a file, and has to be a directory; move it away", path)
	}
	return path, nil
}

// CheckDir is an error where others could put files of their own into dir, or
// where dir is not there.
func CheckDir(dir string) error {
	info, err := os.Stat(dir)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return fmt.Errorf("%s is not a directory; move it away", dir)
	}
	if why := open(info, 0o022, "write to", "700"); why != "" {
		return fmt.Errorf("the directory %s: %s", dir, why)
	}
	return nil
}

// CheckFile is an error where others could use the file.
func CheckFile(file *os.File) error {
	info, err := file.Stat()
	if err != nil {
		return err
	}
	if why := open(info, 0o077, "use", "600"); why != "" {
		return fmt.Errorf("%s: %s", file.Name(), why)
	}
	return nil
}

// Read returns what a private file holds. A file that is not private, or is
// longer than most bytes, is an error; one that is missing is fs.ErrNotExist.
func Read(path string, most int) ([]byte, error) {
	file, err := os.OpenFile(path, os.O_RDONLY|dontWait, 0)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file; move it away", path)
	}
	if why := open(info, 0o077, "use", "600"); why != "" {
		return nil, fmt.Errorf("%s: %s", path, why)
	}
	if info.Size() > int64(most) {
		return nil, fmt.Errorf("%s has %d bytes, the most is %d", path, info.Size(), most)
	}
	text := make([]byte, info.Size())
	n, err := io.ReadFull(file, text) // one allocation: nothing is left behind in a smaller one
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		return nil, err
	}
	return text[:n], nil
}

// Replace puts text into the place of the file at path, or makes it. Of two
// that do so at once, the caller sees to it that one waits: there is one name
// for the new version, and what a crash left there is removed.
func Replace(path string, text []byte) error {
	next := path + ".new"
	if err := os.Remove(next); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	err := write(next, text)
	if err == nil {
		err = os.Rename(next, path)
	}
	if err != nil {
		_ = os.Remove(next) // the first error says more
		return err
	}
	return SyncDir(filepath.Dir(path))
}

func write(path string, text []byte) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(text)
	return errors.Join(err, file.Sync(), file.Close())
}

// Remove removes the file at path for good. One that is missing is no error.
func Remove(path string) error {
	if err := os.Remove(path); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	}
	return SyncDir(filepath.Dir(path))
}

// lockEvery is how often a lock that somebody has is tried again.
const lockEvery = 2 * time.Millisecond

// Lock takes the lock at path, in this process and among all others. It waits
// for no longer than patience. A lock file that lies about means nothing, and
// stays: to remove it would let two hold locks of the same name.
func Lock(ctx context.Context, path string, patience time.Duration) (unlock func(), err error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|dontWait, 0o600)
	if err != nil {
		return nil, err
	}
	late := time.NewTimer(patience)
	defer late.Stop()
	for {
		taken, err := TryLock(file)
		if taken {
			return func() { _ = file.Close() }, nil // closing unlocks, and nothing was written
		}
		if err == nil {
			err = pause(ctx, late.C, path, patience)
		}
		if err != nil {
			return nil, errors.Join(err, file.Close())
		}
	}
}

// pause waits a moment, and is an error when there is nothing to wait for any
// more.
func pause(ctx context.Context, late <-chan time.Time, path string, patience time.Duration) error {
	again := time.NewTimer(lockEvery)
	defer again.Stop()
	select {
	case <-again.C:
		return nil
	case <-late:
		return fmt.Errorf("another process has held %s for %s; end it, or try again", path, patience)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
