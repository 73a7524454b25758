//go:build !linux

package search

import (
	"errors"
	"os"

	"github.com/mcp-tools/mcp-tools/internal/workspace/root"
)

// A handle is a file that is open for reading.
type handle struct{ *os.File }

func (h handle) close() { _ = h.Close() }

// An opener opens the files of a root.
type opener struct {
	root       *root.Root
	checkLinks LinkCheck
}

func newOpener(r *root.Root, checkLinks LinkCheck) *opener {
	return &opener{root: r, checkLinks: checkLinks}
}

// open opens a regular file that may be read. Other files are errSkip.
func (o *opener) open(name string) (h handle, info root.Info, err error) {
	f, info, err := o.root.OpenRegular(name)
	switch {
	case errors.Is(err, root.ErrLink), errors.Is(err, root.ErrSpecial), errors.Is(err, root.ErrName):
		return h, info, errSkip
	case err != nil:
		return h, info, err
	}
	h = handle{f}
	if info.Links > 1 && o.checkLinks != nil && !o.checkLinks(name, info) {
		h.close()
		return h, info, errSkip
	}
	return h, info, nil
}
