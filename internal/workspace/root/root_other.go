//go:build !linux

package root

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
)

// A Root is a directory that no name leads out of. It is safe for concurrent use.
type Root struct {
	dir  *os.Root
	path string
}

// Open opens a directory. It follows symbolic links in path itself.
func Open(path string) (*Root, error) {
	dir, err := os.OpenRoot(path)
	if err != nil {
		return nil, err
	}
	return &Root{dir: dir, path: path}, nil
}

// StatPath returns the state of the file at a path. It follows links.
func StatPath(path string) (Info, error) {
	info, err := os.Stat(path)
	if err != nil {
		return Info{}, err
	}
	return infoOf(info), nil
}

// Path returns the path given to Open.
func (r *Root) Path() string { return r.path }

// Close closes the handle of the directory.
func (r *Root) Close() error { return r.dir.Close() }

// Info returns the state of the directory itself.
func (r *Root) Info() (Info, error) { return r.Lstat(".") }

// steps returns an error if a step of a name before the last one is a link.
func (r *Root) steps(op, name string) error {
	if !valid(name) {
		return pathError(op, name, ErrName)
	}
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		info, err := r.dir.Lstat(dir)
		if err != nil {
			return err
		}
		if info.Mode()&fs.ModeSymlink != 0 {
			return pathError(op, name, ErrLink)
		}
	}
	return nil
}

// OpenFile opens a file.
func (r *Root) OpenFile(name string, flag int, perm fs.FileMode) (*os.File, error) {
	if err := r.steps("open", name); err != nil {
		return nil, err
	}
	before, err := r.dir.Lstat(name)
	if err == nil && before.Mode()&fs.ModeSymlink != 0 {
		return nil, pathError("open", name, ErrLink)
	}
	if err == nil && !before.Mode().IsRegular() && !before.IsDir() {
		return nil, pathError("open", name, ErrSpecial)
	}
	file, openErr := r.dir.OpenFile(name, flag, perm.Perm())
	if openErr != nil || err != nil {
		return file, openErr
	}
	after, err := file.Stat()
	if err == nil && !os.SameFile(before, after) {
		err = pathError("open", name, ErrLink) // replaced in between
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

// OpenRegular opens a regular file for reading and returns its state. For
// anything else, such as a pipe or a device, it returns ErrSpecial without opening
// it.
func (r *Root) OpenRegular(name string) (*os.File, Info, error) {
	file, err := r.OpenFile(name, os.O_RDONLY, 0)
	if err != nil {
		return nil, Info{}, err
	}
	info, err := Stat(file)
	if err == nil && !info.Regular() {
		err = pathError("open", name, ErrSpecial)
	}
	if err != nil {
		return nil, info, errors.Join(err, file.Close())
	}
	return file, info, nil
}

// OpenRoot opens a directory below r as a separate root.
func (r *Root) OpenRoot(name string) (*Root, error) {
	if err := r.steps("open", path.Join(name, "x")); err != nil {
		return nil, err
	}
	dir, err := r.dir.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	return &Root{dir: dir, path: filepath.Join(r.path, name)}, nil
}

// OpenDir opens a directory to list it; see [os.File.ReadDir].
func (r *Root) OpenDir(name string) (*os.File, error) { return r.OpenFile(name, os.O_RDONLY, 0) }

// Lstat returns the state of a name. It does not follow a link.
func (r *Root) Lstat(name string) (Info, error) {
	if err := r.steps("stat", name); err != nil {
		return Info{}, err
	}
	info, err := r.dir.Lstat(name)
	if err != nil {
		return Info{}, err
	}
	return infoOf(info), nil
}

// Glance returns the state of a name, for comparing it with an earlier state.
func (r *Root) Glance(name string) (Info, error) { return r.Lstat(name) }

// Readlink returns the target of a link.
func (r *Root) Readlink(name string) (string, error) {
	if err := r.steps("readlink", name); err != nil {
		return "", err
	}
	return r.dir.Readlink(name)
}

// Mkdir creates one directory.
func (r *Root) Mkdir(name string, perm fs.FileMode) error {
	if err := r.steps("mkdir", name); err != nil {
		return err
	}
	return r.dir.Mkdir(name, perm.Perm())
}

// Remove removes a file or a link.
func (r *Root) Remove(name string) error {
	if err := r.steps("remove", name); err != nil {
		return err
	}
	return r.dir.Remove(name)
}

// RemoveDir removes an empty directory.
func (r *Root) RemoveDir(name string) error { return r.Remove(name) }

// Rename renames a file. It replaces a file that has the new name.
func (r *Root) Rename(from, to string) error {
	if err := errors.Join(r.steps("rename", from), r.steps("rename", to)); err != nil {
		return err
	}
	return r.dir.Rename(from, to)
}

// Link adds a hard link to a file. The new name must not exist. Here it works
// only within one root.
func (r *Root) Link(from string, to *Root, name string) error {
	if err := errors.Join(r.steps("link", from), r.steps("link", name)); err != nil {
		return err
	}
	if to != r {
		return pathError("link", name, errors.ErrUnsupported)
	}
	return r.dir.Link(from, name)
}

// SyncDir makes changes of the entries in a directory survive a loss of power, on
// systems that support it.
func (r *Root) SyncDir(name string) error {
	dir, err := r.OpenDir(name)
	if err != nil {
		return err
	}
	_ = dir.Sync() // Windows cannot
	return dir.Close()
}

// Stat returns the state of an open file.
func Stat(file *os.File) (Info, error) {
	info, err := file.Stat()
	if err != nil {
		return Info{}, err
	}
	return infoOf(info), nil
}

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
