package root

import (
	"errors"
	"io/fs"

	"golang.org/x/sys/unix"
)

// Exchange exchanges the names of two files in one step. The error is
// errors.ErrUnsupported if the file system cannot do it.
func (r *Root) Exchange(a, b string) error { return r.renameFlags(a, r, b, unix.RENAME_EXCHANGE) }

// RenameNew renames a file. The new name must not exist.
func (r *Root) RenameNew(from, to string) error {
	err := r.renameFlags(from, r, to, unix.RENAME_NOREPLACE)
	if !errors.Is(err, errors.ErrUnsupported) {
		return err
	}
	if _, err := r.Lstat(to); err == nil {
		return pathError("rename", to, fs.ErrExist)
	}
	return r.Rename(from, to)
}

// Move renames a file to a name below another root. It replaces a file that has
// the new name.
func (r *Root) Move(from string, to *Root, name string) error {
	return r.renameFlags(from, to, name, 0)
}

func (r *Root) renameFlags(from string, other *Root, to string, flags uint) error {
	return r.inParent("rename", from, func(fd int, base string) error {
		return other.inParent("rename", to, func(toFD int, toBase string) error {
			err := unix.Renameat2(fd, base, toFD, toBase, flags)
			if flags != 0 && (err == unix.EINVAL || err == unix.ENOSYS || err == unix.ENOTSUP) {
				return errors.ErrUnsupported
			}
			return err
		})
	})
}
