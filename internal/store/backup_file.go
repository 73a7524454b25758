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

// replaceable is an error when something is at path that is no backup.
func replaceable(path string) error {
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

// A part is a file that takes its place when it is complete. It is locked as
// long as somebody writes to it, so that what a crash left can be told from it.
type part struct {
	file *os.File
	path string
	kept bool
}

const (
	partSuffix = ".part"
	// abandoned is how long nobody has written to what a crash left.
	abandoned = time.Minute
)

func newPart(path string) (*part, error) {
	dir, base := filepath.Split(path)
	if dir == "" {
		dir = "."
	}
	removeAbandoned(dir, "."+base+".")
	file, err := os.CreateTemp(dir, "."+base+".*"+partSuffix) // with mode 0600
	if err != nil {
		return nil, err
	}
	p := &part{file: file, path: path}
	if taken, err := private.TryLock(file); err != nil || !taken {
		p.abandon()
		return nil, fmt.Errorf("%s cannot be locked: %w", file.Name(), err)
	}
	return p, nil
}

// removeAbandoned removes what backups that were killed have left. What cannot
// be removed does no harm.
func removeAbandoned(dir, prefix string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || !info.Mode().IsRegular() || time.Since(info.ModTime()) < abandoned ||
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

// keep puts the file into its place, so that it survives a power cut.
func (p *part) keep() error {
	if err := errors.Join(p.file.Sync(), p.file.Close()); err != nil {
		return err
	}
	if err := os.Rename(p.file.Name(), p.path); err != nil {
		return err
	}
	p.kept = true
	if runtime.GOOS == "windows" { // where a rename is journalled
		return nil
	}
	dir, err := os.Open(filepath.Dir(p.path))
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// abandon removes a file that was not kept.
func (p *part) abandon() {
	if p.kept {
		return
	}
	_ = p.file.Close()
	_ = os.Remove(p.file.Name())
}
