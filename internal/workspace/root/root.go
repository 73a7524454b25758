// Package root reaches the files beneath one directory, and nothing else.
//
// A name is relative to the directory, has slashes, no "..", and no step of it
// may be a link: where one is, the answer is ErrLink, also when it was put
// there a moment ago. So whoever decides by name what may be reached has
// decided about the file that is reached. Following links is the business of
// the caller, who resolves them one by one and decides again.
//
// Begin with [Open]. On Linux a [Root] is a directory handle and every access
// one system call relative to it; elsewhere os.Root does the work, with a look
// before and after.
package root

import (
	"errors"
	"io/fs"
	"path"
	"strings"
	"time"
)

// Why a name was not reached.
var (
	// ErrLink says that a step of the name is a link.
	ErrLink = errors.New("a link is on the way")
	// ErrSpecial says that there is something that is neither file nor directory.
	ErrSpecial = errors.New("not a regular file")
	// ErrName says that a name is not one that this package takes.
	ErrName = errors.New("not a name beneath a directory")
)

// An Info is what is known of a file without reading it.
type Info struct {
	Mode     fs.FileMode
	Size     int64
	Modified time.Time
	Changed  time.Time // of the inode, where the system tells; the zero Time elsewhere
	Links    uint64    // names that the file has; 1 where the system does not tell
	Dev, Ino uint64    // 0 where the system does not tell
	UID, GID int       // -1 where the system does not tell
}

// Regular reports whether it is a file with content.
func (i Info) Regular() bool { return i.Mode.IsRegular() }

// Dir reports whether it is a directory.
func (i Info) Dir() bool { return i.Mode.IsDir() }

// Link reports whether it is a symbolic link.
func (i Info) Link() bool { return i.Mode&fs.ModeSymlink != 0 }

// Same reports whether both tell of one file in one state: nobody has written
// to it in between.
func (i Info) Same(j Info) bool {
	return i.Dev == j.Dev && i.Ino == j.Ino && i.Size == j.Size && i.Modified.Equal(j.Modified) && i.Changed.Equal(j.Changed)
}

// An Entry is one name of a directory.
type Entry struct {
	Name string
	Mode fs.FileMode // the type bits only
}

// valid reports whether name is one that this package takes. "." is the root.
func valid(name string) bool {
	return name == "." || name != "" && name[0] != '/' && path.Clean(name) == name &&
		name != ".." && !strings.HasPrefix(name, "../") && !strings.ContainsRune(name, 0)
}

func pathError(op, name string, err error) error { return &fs.PathError{Op: op, Path: name, Err: err} }

// split takes the last step off a name.
func split(name string) (dir, base string) {
	dir, base = path.Split(name)
	if dir == "" {
		return ".", base
	}
	return dir[:len(dir)-1], base
}
