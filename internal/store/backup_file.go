package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/private"
)

// checkReplaceable is an error when something is at path that is no backup.
func checkReplaceable(path string) error {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if info.Mode().IsRegular() {
		if a, err := openArchive(path); err == nil {
			return a.file.Close()
		}
	}
	return fmt.Errorf("%s is there already and is no backup; choose another name, or move it away", path)
}

// A tempFile is a file that takes its place when it is complete. It is locked as
// long as somebody writes to it, so that what a crash left can be told from it.
type tempFile struct {
	file      *os.File
	path      string
	committed bool
}

const (
	partSuffix = ".part"
	// staleAfter is how long nobody has written to what a crash left.
	staleAfter = time.Minute
)

func newTempFile(path string) (*tempFile, error) {
	dir, base := filepath.Split(path)
	if dir == "" {
		dir = "."
	}
	removeStale(dir, "."+base+".")
	file, err := os.CreateTemp(dir, "."+base+".*"+partSuffix) // with mode 0600
	if err != nil {
		return nil, err
	}
	p := &tempFile{file: file, path: path}
	if taken, err := private.TryLock(file); err != nil || !taken {
		p.discard()
		return nil, fmt.Errorf("%s cannot be locked: %w", file.Name(), err)
	}
	return p, nil
}

// removeStale removes what backups that were killed have left. What cannot
// be removed does no harm.
func removeStale(dir, prefix string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || !info.Mode().IsRegular() || time.Since(info.ModTime()) < staleAfter ||
			!strings.HasPrefix(e.Name(), prefix) || !strings.HasSuffix(e.Name(), partSuffix) {
			continue
		}
		file, err := os.OpenFile(filepath.Join(dir, e.Name()), os.O_RDWR, 0)
		if err != nil {
			continue
		}
		taken, err := private.TryLock(file)
		if runtime.GOOS == "windows" { // where open files stay
			_ = file.Close()
		}
		if taken && err == nil {
			_ = os.Remove(file.Name())
		}
		_ = file.Close()
	}
}

// commit puts the file into its place, so that it survives a power cut.
func (p *tempFile) commit() error {
	if err := errors.Join(p.file.Sync(), p.file.Close()); err != nil {
		return err
	}
	if err := os.Rename(p.file.Name(), p.path); err != nil {
		return err
	}
	p.committed = true
	if runtime.GOOS == "windows" { // where a rename is journalled
		return nil
	}
	dir, err := os.Open(filepath.Dir(p.path))
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// discard removes a file that was not kept.
func (p *tempFile) discard() {
	if p.committed {
		return
	}
	_ = p.file.Close()
	_ = os.Remove(p.file.Name())
}
