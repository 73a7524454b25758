package blob

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/private"
)

// Files is a place in a directory, with a file for each blob. A file is complete as soon as it has its name.
type Files struct{ dir string }

// NewFiles returns the place in a directory. The first write makes the directory.
func NewFiles(dir string) *Files { return &Files{dir} }

func (f *Files) String() string { return f.dir }

// Max returns the maximum size of a content.
func (f *Files) Max() int64 { return 16 << 30 }

func (f *Files) path(name string) string { return filepath.Join(f.dir, filepath.FromSlash(name)) }

// Put stores a content. A power cut after Put may lose it, but never leaves a part of it.
func (f *Files) Put(_ context.Context, name string, c Content) error {
	path := f.path(name)
	if info, err := os.Lstat(path); err == nil && info.Mode().IsRegular() && info.Size() == c.Size {
		return nil
	}
	if err := f.makeDir(filepath.Dir(path)); err != nil {
		return err
	}
	if c.file != nil {
		if done, err := f.take(c.file, path); done || err != nil {
			return err
		}
	}
	temp, err := os.CreateTemp(filepath.Dir(path), tempPrefix+"*") // mode 0600
	if err != nil {
		return err
	}
	_, err = io.Copy(temp, c.Reader())
	if err == nil {
		err = temp.Sync()
	}
	if err = errors.Join(err, temp.Close()); err == nil {
		err = os.Rename(temp.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(temp.Name()))
	}
	return nil
}

// tempPrefix begins names that are not blobs.
const tempPrefix = ".new-"

// makeDir makes the directory of a blob. The directory of all blobs may not be a link.
func (f *Files) makeDir(dir string) error {
	err := os.Mkdir(dir, 0o700)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if errors.Is(err, fs.ErrNotExist) {
		if _, err := private.MakeSub(filepath.Dir(f.dir), filepath.Base(f.dir)); err != nil {
			return err
		}
		err = os.MkdirAll(dir, 0o700)
	}
	return err
}

// take gives a temporary file its final name, unless it is on another file system.
func (f *Files) take(file *spoolFile, path string) (done bool, err error) {
	if err := file.Sync(); err != nil {
		return false, err
	}
	if os.Rename(file.Name(), path) != nil {
		return false, nil
	}
	file.taken = true
	return true, file.Close()
}

// Open returns a part of a content.
func (f *Files) Open(_ context.Context, name string, offset, n int64) (io.ReadCloser, error) {
	file, err := os.Open(f.path(name))
	if err != nil {
		return nil, err
	}
	return struct {
		io.Reader
		io.Closer
	}{io.NewSectionReader(file, offset, n), file}, nil
}

// Delete removes contents.
func (f *Files) Delete(ctx context.Context, names ...string) error {
	var errs []error
	for _, name := range names {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := os.Remove(f.path(name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// Each calls yield with the names of a directory at a time, and removes empty directories and the remains of crashes.
func (f *Files) Each(ctx context.Context, before string, yield func(names []string) error) error {
	days, err := names(f.dir)
	if err != nil {
		return err
	}
	for _, day := range days {
		if day >= before || !isDay(day) {
			continue
		}
		owners, err := names(f.path(day))
		if err != nil {
			return err
		}
		for _, owner := range owners {
			if err := ctx.Err(); err != nil {
				return err
			}
			dir := day + "/" + owner
			files, err := names(f.path(dir))
			if err != nil {
				return err
			}
			var list []string
			for _, file := range files {
				if strings.HasPrefix(file, tempPrefix) {
					_ = os.Remove(f.path(dir + "/" + file)) // or the next sweep does
					continue
				}
				list = append(list, dir+"/"+file)
			}
			if err := yield(list); err != nil {
				return err
			}
			_ = os.Remove(f.path(dir)) // if it is empty
		}
		_ = os.Remove(f.path(day))
	}
	return nil
}

func isDay(name string) bool { return len(name) == 5 && strings.Trim(name, "0123456789") == "" }

// names returns the names in a directory, none if it does not exist.
func names(dir string) ([]string, error) {
	file, err := os.Open(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	list, err := file.Readdirnames(-1)
	return list, errors.Join(err, file.Close())
}
