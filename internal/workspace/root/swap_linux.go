package root

import (
	"errors"
	"io/fs"

	"golang.org/x/sys/unix"
)

// Exchange gives each of two files the name of the other, in one step. It is
// errors.ErrUnsupported where the file system cannot do it.
func (r *Root) Exchange(a, b string) error { return r.renameFlags(a, r, b, unix.RENAME_EXCHANGE) }

// RenameNew gives a file another name, which must be free.
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

// Move gives a file a name beneath another root. What has that name already
// goes.
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
