package search

import (
	"errors"
	"os"

	"github.com/mcp-tools/mcp-tools/internal/workspace/root"
)

// openRegular opens a regular file through package root and returns its size. Other
// files are errSkip.
func (o *opener) openRegular(name string) (*os.File, int64, error) {
	f, info, err := o.root.OpenRegular(name)
	switch {
	case errors.Is(err, root.ErrLink), errors.Is(err, root.ErrSpecial), errors.Is(err, root.ErrName):
		return nil, 0, errSkip
	case err != nil:
		return nil, 0, err
	case info.Links > 1 && o.checkLinks != nil && !o.checkLinks(name, info):
		_ = f.Close()
		return nil, 0, errSkip
	}
	return f, info.Size, nil
}
