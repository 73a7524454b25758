//go:build !linux

package tree

import (
	"errors"
	"io"
	"io/fs"
	"syscall"

	"github.com/mcp-tools/mcp-tools/internal/workspace/root"
)

// A reader reads directories.
type reader struct{}

// read calls add for the entries of a directory, and between batches of them
// pause, whose error ends it.
func (*reader) read(r *root.Root, name string, pause func() error, add func([]byte, fs.FileMode)) error {
	dir, err := r.OpenDir(name)
	if err != nil {
		return &unreadError{err}
	}
	defer dir.Close()
	for {
		entries, err := dir.ReadDir(1000)
		for _, e := range entries {
			add([]byte(e.Name()), e.Type())
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return &unreadError{err}
		}
		if err := pause(); err != nil {
			return err
		}
	}
}

func notDirectory(err error) bool { return errors.Is(err, syscall.ENOTDIR) }
