// Package private reads and writes small files that only their owner may use: keys, tables, and
// other files that several processes share in a data directory. A file is replaced as a whole:
// readers see the old or the new version, and a crash or a power cut leaves one of the two.
// Writers take turns with a file lock; the system releases it when its holder dies.
//
// The package knows the permissions of private files on each system. It does not know the
// contents of the files, and does not repair a damaged or missing file.
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

	"github.com/mcp-tools/mcp-tools/internal/clock"
)

// MakeDir creates a directory for private files, with its parents. It fails if
// the directory exists and other users may write to it.
func MakeDir(dir string) error {
	if err := makeAll(dir); err != nil {
		return err
	}
	return CheckDir(dir)
}

// makeAll creates a directory that only its owner may use, with its parents. A directory that is there stays as it is.
func makeAll(dir string) error {
	if info, err := os.Stat(dir); err == nil && info.IsDir() {
		return nil
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	return protect(dir)
}

// MakeSub creates the directory name in dir, with the parents of dir, and
// returns its path. dir may be a symbolic link. If name is one, MakeSub fails,
// because the link would send the files to another directory.
func MakeSub(dir, name string) (string, error) {
	path := filepath.Join(dir, name)
	if err := makeAll(dir); err != nil {
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

// maxTempAge is the age of a temporary file that counts as left by a killed process.
const maxTempAge = 24 * time.Hour

// TempFile creates a temporary file in dir, and dir as MakeSub does. It removes files that
// killed processes have left there. The caller removes the file with Discard.
func TempFile(dir string) (*os.File, error) {
	if _, err := MakeSub(filepath.Dir(dir), filepath.Base(dir)); err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if info, err := e.Info(); err == nil && time.Since(info.ModTime()) > maxTempAge {
			_ = os.Remove(filepath.Join(dir, e.Name())) // or the next call does
		}
	}
	return os.CreateTemp(dir, "*")
}

// Discard closes and removes a temporary file.
func Discard(file *os.File) {
	_ = file.Close()
	_ = os.Remove(file.Name()) // or TempFile does
}

// CheckDir returns an error if other users may write to dir, or if dir does not
// exist.
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

// CheckFile returns an error if other users may use the file.
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

// Read returns the content of a private file. It fails if other users may use
// the file or if it is longer than max bytes. If there is no file the error is
// fs.ErrNotExist.
func Read(path string, max int) ([]byte, error) { return read(path, max, 0o077, "600") }

// ReadShared returns the content of a file as Read does, but the group of the file may read it.
func ReadShared(path string, max int) ([]byte, error) { return read(path, max, 0o037, "640") }

func read(path string, max int, others fs.FileMode, mode string) ([]byte, error) {
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
	if why := open(info, others, "use", mode); why != "" {
		return nil, fmt.Errorf("%s: %s", path, why)
	}
	if info.Size() > int64(max) {
		return nil, fmt.Errorf("%s has %d bytes, the maximum is %d", path, info.Size(), max)
	}
	text := make([]byte, info.Size())
	n, err := io.ReadFull(file, text) // one allocation, so that no copy of a secret stays in memory
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		return nil, err
	}
	return text[:n], nil
}

// Replace creates or replaces the file at path with text. Callers must hold a lock: all writers
// use the same temporary name, and Replace removes the remains of a crash there.
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
		_ = os.Remove(next) // the first error has the cause
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

// Remove removes the file at path. A missing file is not an error.
func Remove(path string) error {
	if err := os.Remove(path); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	}
	return SyncDir(filepath.Dir(path))
}

// lockEvery is the interval between attempts to take a lock.
const lockEvery = 2 * time.Millisecond

// Lock takes the lock file at path, to exclude other goroutines and processes. It waits at most
// timeout. The file stays when the lock is released: if it were removed, two processes could
// lock two files of the same name.
func Lock(ctx context.Context, path string, timeout time.Duration) (unlock func(), err error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|dontWait, 0o600)
	if err != nil {
		return nil, err
	}
	deadline := time.Now().Add(timeout)
	for {
		taken, err := TryLock(file)
		switch {
		case taken:
			return func() { _ = file.Close() }, nil // closing the file releases the lock
		case err == nil && time.Now().After(deadline):
			err = fmt.Errorf("another process has held %s for %s; end it, or try again", path, timeout)
		case err == nil:
			err = clock.Sleep(ctx, lockEvery)
		}
		if err != nil {
			return nil, errors.Join(err, file.Close())
		}
	}
}
