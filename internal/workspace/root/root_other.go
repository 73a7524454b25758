//go:build !linux

package root

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
)

// A Root is a directory that nothing leads out of. Its methods may be called
// from many goroutines.
type Root struct {
	dir  *os.Root
	path string
}

// Open opens a directory. Links in path itself are followed: whoever chose the
// directory may have chosen it by a link.
func Open(path string) (*Root, error) {
	dir, err := os.OpenRoot(path)
	if err != nil {
		return nil, err
	}
	return &Root{dir: dir, path: path}, nil
}

// Look tells of what a path leads to, links followed.
func Look(path string) (Info, error) {
	info, err := os.Stat(path)
	if err != nil {
		return Info{}, err
	}
	return infoOf(info), nil
}

// Path is what the directory was opened as.
func (r *Root) Path() string { return r.path }

// Close lets go of the directory.
func (r *Root) Close() error { return r.dir.Close() }

// Info tells of the directory itself.
func (r *Root) Info() (Info, error) { return r.Lstat(".") }

// steps refuses a name with a link on the way to its last step.
func (r *Root) steps(op, name string) error {
	if !valid(name) {
		return refuse(op, name, ErrName)
	}
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		info, err := r.dir.Lstat(dir)
		if err != nil {
			return err
		}
		if info.Mode()&fs.ModeSymlink != 0 {
			return refuse(op, name, ErrLink)
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
		return nil, refuse("open", name, ErrLink)
	}
	if err == nil && !before.Mode().IsRegular() && !before.IsDir() {
		return nil, refuse("open", name, ErrSpecial)
	}
	file, openErr := r.dir.OpenFile(name, flag, perm.Perm())
	if openErr != nil || err != nil {
		return file, openErr
	}
	after, err := file.Stat()
	if err == nil && !os.SameFile(before, after) {
		err = refuse("open", name, ErrLink) // swapped in between
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

// OpenRegular opens a regular file for reading and tells what it is. Anything
// else, such as a pipe or a device, is ErrSpecial and is not touched.
func (r *Root) OpenRegular(name string) (*os.File, Info, error) {
	file, err := r.OpenFile(name, os.O_RDONLY, 0)
	if err != nil {
		return nil, Info{}, err
	}
	info, err := Stat(file)
	if err == nil && !info.Regular() {
		err = refuse("open", name, ErrSpecial)
	}
	if err != nil {
		return nil, info, errors.Join(err, file.Close())
	}
	return file, info, nil
}

// OpenRoot opens a directory beneath r as a root of its own.
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

// Lstat tells what name is, and does not follow it.
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

// Readlink returns what a link says.
func (r *Root) Readlink(name string) (string, error) {
	if err := r.steps("readlink", name); err != nil {
		return "", err
	}
	return r.dir.Readlink(name)
}

// Mkdir makes one directory.
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

// Rename gives a file another name. What has that name already goes.
func (r *Root) Rename(from, to string) error {
	if err := errors.Join(r.steps("rename", from), r.steps("rename", to)); err != nil {
		return err
	}
	return r.dir.Rename(from, to)
}

// Link gives a file a second name, which must be free. Between two roots it is
// not possible here.
func (r *Root) Link(from string, to *Root, name string) error {
	if err := errors.Join(r.steps("link", from), r.steps("link", name)); err != nil {
		return err
	}
	if to != r {
		return refuse("link", name, errors.ErrUnsupported)
	}
	return r.dir.Link(from, name)
}

// SyncDir makes the names in a directory survive a loss of power, where the
// system can be asked to.
func (r *Root) SyncDir(name string) error {
	dir, err := r.OpenDir(name)
	if err != nil {
		return err
	}
	_ = dir.Sync() // Windows cannot
	return dir.Close()
}

// Stat tells of an open file.
func Stat(file *os.File) (Info, error) {
	info, err := file.Stat()
	if err != nil {
		return Info{}, err
	}
	return infoOf(info), nil
}
