package kernel

import (
	"encoding/json"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"

	"github.com/mcp-tools/mcp-tools/internal/sandbox"
)

// File descriptors that a stage inherits, besides its streams. The descriptors of
// prepared mounts follow.
const (
	planFD   = 3
	answerFD = 4
	mountFD  = 5
)

// maxPlan is the maximum length of a plan.
const maxPlan = 8 << 20

// A plan has the steps of a stage. It is sent through a pipe, since arguments are visible to other processes and
// limited in length.
type plan struct {
	Try       bool // only test the setup, start no agent
	Jail      bool // there are namespaces: assemble a root directory
	Cut       bool // there is no network namespace, so network calls are refused
	Nested    bool // programs may create namespaces
	Landlock  int  // version; 0 for none
	UID, GID  int  // the IDs of the processes, as they see them
	Binds     []source
	Program   *source // nil if its file has no name
	Proxy     *source
	Forward   []sandbox.Forward
	Hidden    []string
	Locked    []string
	Home      string
	Temp      int64
	FileSize  int64
	Processes int
	Agent     []string // arguments
	Child     []string // arguments of this program in place of an agent
}

// A source is a file or directory of this machine that the sandbox shows. The launcher
// has opened and checked it; the stage verifies that it is still the same.
type source struct {
	Path  string
	Write bool
	Dir   bool
	Dev   uint64
	Inode uint64
	// NoLinks forbids symbolic links in the path.
	NoLinks bool
	FD      int // a prepared mount; 0 if the stage makes it
}

// A fault is the reason why a stage failed.
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

// look opens a path that contains no links.
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

// same opens a source again, and verifies that it is the same file.
func (s source) same() (int, error) {
	fd, now, err := look(s.Path, s.Write)
	if err != nil {
		return 0, err
	}
	now.NoLinks = s.NoLinks
	if now != s {
		unix.Close(fd)
		return 0, fmt.Errorf("%s was replaced by another file", s.Path)
	}
	return fd, nil
}
