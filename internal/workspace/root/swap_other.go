//go:build !linux

package root

import (
	"errors"
	"io/fs"
)

// Exchange exchanges the names of two files in one step. Here the error is always
// errors.ErrUnsupported.
func (r *Root) Exchange(a, b string) error { return pathError("rename", a, errors.ErrUnsupported) }

// RenameNew renames a file. The new name must not exist.
func (r *Root) RenameNew(from, to string) error {
	if _, err := r.Lstat(to); err == nil {
		return pathError("rename", to, fs.ErrExist)
	}
	return r.Rename(from, to)
}

// Move renames a file to a name below another root. It replaces a file that has
// the new name. Here it works only within one root.
func (r *Root) Move(from string, to *Root, name string) error {
	if to != r {
		return pathError("rename", name, errors.ErrUnsupported)
	}
	return r.Rename(from, name)
}
