//go:build !linux

package root

import (
	"errors"
	"io/fs"
)

// Exchange gives each of two files the name of the other, in one step. It is
// errors.ErrUnsupported where the system cannot do it.
func (r *Root) Exchange(a, b string) error { return refuse("rename", a, errors.ErrUnsupported) }

// RenameNew gives a file another name, which must be free.
func (r *Root) RenameNew(from, to string) error {
	if _, err := r.Lstat(to); err == nil {
		return refuse("rename", to, fs.ErrExist)
	}
	return r.Rename(from, to)
}

// Move gives a file a name beneath another root. What has that name already
// goes. Between two roots it is not possible here.
func (r *Root) Move(from string, to *Root, name string) error {
	if to != r {
		return refuse("rename", name, errors.ErrUnsupported)
	}
	return r.Rename(from, name)
}
