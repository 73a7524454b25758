// Package root opens the files below one directory, and nothing else.
//
// A name is relative to the directory, uses slashes, and has no step "..". If any step of it is
// a symbolic link, the result is ErrLink, even if the link was put there a moment ago. So a
// caller that checks a name has checked the file that is opened. Following links is left to the
// caller: it resolves them one by one and checks each result.
//
// Begin with [Open]. On Linux a [Root] is a directory handle, and every access is
// one system call relative to it. On other systems os.Root does the work, with
// checks for links before and after.
package root

import (
	"errors"
	"io/fs"
	"path"
	"strings"
	"time"
)

// Errors of names that cannot be opened.
var (
	// ErrLink means that a step of the name is a symbolic link.
	ErrLink = errors.New("a step of the name is a symbolic link")
	// ErrSpecial means that the file is neither a regular file nor a directory.
	ErrSpecial = errors.New("not a regular file")
	// ErrName means that the name is not valid for this package.
	ErrName = errors.New("not a valid name below a directory")
)

// An Info is the state of a file, without its content.
type Info struct {
	Mode     fs.FileMode
	Size     int64
	Modified time.Time
	Changed  time.Time // of the inode; the zero Time if the system does not report it
	Links    uint64    // number of hard links; 1 if the system does not report it
	Dev, Ino uint64    // 0 if the system does not report them
	UID, GID int       // -1 if the system does not report them
}

// Regular reports whether it is a regular file.
func (i Info) Regular() bool { return i.Mode.IsRegular() }

// Dir reports whether it is a directory.
func (i Info) Dir() bool { return i.Mode.IsDir() }

// Link reports whether it is a symbolic link.
func (i Info) Link() bool { return i.Mode&fs.ModeSymlink != 0 }

// Same reports whether both describe the same file in the same state, so that it
// was not written to in between.
func (i Info) Same(j Info) bool {
	return i.Dev == j.Dev && i.Ino == j.Ino && i.Size == j.Size &&
		i.Modified.Equal(j.Modified) && i.Changed.Equal(j.Changed)
}

// An Entry is one entry of a directory.
type Entry struct {
	Name string
	Mode fs.FileMode // the type bits only
}

// valid reports whether name is valid for this package. "." is the root itself.
func valid(name string) bool {
	return name == "." || name != "" && name[0] != '/' && path.Clean(name) == name &&
		name != ".." && !strings.HasPrefix(name, "../") && !strings.ContainsRune(name, 0)
}

func pathError(op, name string, err error) error { return &fs.PathError{Op: op, Path: name, Err: err} }

// split splits a name into its directory and its last step.
func split(name string) (dir, base string) {
	dir, base = path.Split(name)
	if dir == "" {
		return ".", base
	}
	return dir[:len(dir)-1], base
}
