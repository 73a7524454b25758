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

// read calls add for each entry of a directory. Between batches it calls pause, and
// stops if pause returns an error.
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
