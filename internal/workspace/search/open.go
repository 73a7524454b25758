package search

import (
	"errors"
	"os"

	"github.com/mcp-tools/mcp-tools/internal/workspace/root"
)

// regular opens a regular file that may be read by way of package root, and
// tells its size. Other files are errNotOurs.
func (o *opener) regular(name string) (*os.File, int64, error) {
	f, info, err := o.root.OpenRegular(name)
	switch {
	case errors.Is(err, root.ErrLink), errors.Is(err, root.ErrSpecial), errors.Is(err, root.ErrName):
		return nil, 0, errNotOurs
	case err != nil:
		return nil, 0, err
	case info.Links > 1 && o.gate != nil && !o.gate(name, info):
		_ = f.Close()
		return nil, 0, errNotOurs
	}
	return f, info.Size, nil
}
