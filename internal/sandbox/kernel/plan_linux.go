package kernel

import (
	"encoding/json"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// Descriptors that a stage is started with, beside its streams. Those of mounts
// that were made for it follow.
const (
	planFD   = 3
	answerFD = 4
	mountFD  = 5
)

// maxPlan bounds what a stage reads.
const maxPlan = 8 << 20

// A plan is what a stage is to do. It comes through a pipe, since others may
// read arguments, and they may not be this long.
type plan struct {
	Try       bool // only see whether it can be done, and start no agent
	Jail      bool // there are namespaces: assemble a root
	Cut       bool // the network is not in a namespace, so calls must be refused
	Landlock  int  // version; 0 for none
	UID, GID  int  // whose the processes are, as they see it
	Binds     []source
	Program   *source // nil when it has no name any more
	Proxy     *source
	Hidden    []string
	Locked    []string
	Home      string
	Temp      int64
	FileSize  int64
	Processes int
	Agent     []string // arguments
}

// A source is something of this machine that is let in. It was opened and
// looked at; whoever opens it again makes sure that it is still the same.
type source struct {
	Path  string
	Write bool
	Dir   bool
	Dev   uint64
	Inode uint64
	// NoLinks has no symbolic link in it followed.
	NoLinks bool
	FD      int // a mount that was made of it; 0 where the stage makes its own
}

// A fault is why a stage could not do its work.
type fault struct {
	Step  string
	Error string
	Errno unix.Errno
}

func (f *fault) String() string { return f.Step + ": " + f.Error }

func readPlan() (plan, error) {
	f := os.NewFile(planFD, "plan")
	if f == nil {
		return plan{}, fmt.Errorf("no plan")
	}
	defer f.Close()
	var p plan
	err := json.NewDecoder(io.LimitReader(f, maxPlan)).Decode(&p)
	return p, err
}

// look opens what is at a path that leads through no link.
func look(path string, write bool) (int, source, error) {
	fd, err := unix.Openat2(unix.AT_FDCWD, path, &unix.OpenHow{
		Flags:   unix.O_PATH | unix.O_NOFOLLOW | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS,
	})
	if err != nil {
		return 0, source{}, fmt.Errorf("%s: %w", path, err)
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		unix.Close(fd)
		return 0, source{}, fmt.Errorf("%s: %w", path, err)
	}
	kind := st.Mode & unix.S_IFMT
	if kind == unix.S_IFLNK {
		unix.Close(fd)
		return 0, source{}, fmt.Errorf("%s: %w", path, unix.ELOOP)
	}
	return fd, source{
		Path: path, Write: write, Dir: kind == unix.S_IFDIR, Dev: st.Dev, Inode: st.Ino,
	}, nil
}

// same opens a source again, and makes sure that it is the one.
func (s source) same() (int, error) {
	fd, now, err := look(s.Path, s.Write)
	if err != nil {
		return 0, err
	}
	now.NoLinks = s.NoLinks
	if now != s {
		unix.Close(fd)
		return 0, fmt.Errorf("%s: another has taken its place", s.Path)
	}
	return fd, nil
}
