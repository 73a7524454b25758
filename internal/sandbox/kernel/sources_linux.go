package kernel

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/sandbox"
	"golang.org/x/sys/unix"
)

// An opened is a source that the launcher has open.
type opened struct {
	source
	fd       int
	uid, gid int // its owner
}

// openAll opens the sources of a sandbox, outer ones before inner ones. It refuses
// paths that no sandbox may get.
func openAll(binds []sandbox.Bind) ([]opened, error) {
	binds = slices.Clone(binds)
	slices.SortStableFunc(binds, func(a, b sandbox.Bind) int { return strings.Compare(a.Host, b.Host) })
	var all []opened
	for _, b := range binds {
		o, err := openOne(b)
		if err != nil {
			closeOpened(all)
			return nil, err
		}
		all = append(all, o)
	}
	return all, nil
}

func openOne(b sandbox.Bind) (opened, error) {
	if b.Inside != "" && b.Inside != b.Host {
		return opened{}, fmt.Errorf("%s cannot be shown at another place", b.Host)
	}
	if !filepath.IsAbs(b.Host) || filepath.Clean(b.Host) != b.Host {
		return opened{}, fmt.Errorf("%q is not a clean absolute path", b.Host)
	}
	for _, no := range [...]string{"/", "/proc", "/sys", "/dev", "/run", "/etc"} {
		if b.Host == no || no != "/" && no != "/run" && no != "/etc" && strings.HasPrefix(b.Host, no+"/") {
			return opened{}, fmt.Errorf("%s cannot be shown to commands", b.Host)
		}
	}
	fd, s, err := look(b.Host, b.Write)
	if err != nil {
		return opened{}, err
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		unix.Close(fd)
		return opened{}, err
	}
	s.NoLinks = b.NoLinks
	return opened{s, fd, int(st.Uid), int(st.Gid)}, nil
}

func closeOpened(all []opened) {
	for _, o := range all {
		unix.Close(o.fd)
	}
}

// errOwner means that commands could not change files that they are permitted to change.
var errOwner = errors.New("commands do not run as root, and root's files cannot be shown to them as their own here")

// ownerAdvice is the advice for errOwner.
const ownerAdvice = "give the workspace to another user with chown, or run the server as one"

// mounts returns mounts of the sources that show files of another user as files of the
// commands' user. Only root can do this, and not on every file system: otherwise the commands
// get the identity of the owner, unless that is root.
func (l *Launcher) mounts(all []opened, id identity) (identity, []*os.File, error) {
	files, err := l.mountsAs(all, id)
	if err == nil {
		return id, files, nil
	}
	for _, o := range all {
		if !o.Write || o.uid == id.outsideUID {
			continue
		}
		if o.uid == 0 {
			return id, nil, fmt.Errorf("%s: %w (%v)", o.Path, errOwner, err)
		}
		id = identity{outsideUID: o.uid, outsideGID: o.gid, uid: o.uid, gid: o.gid}
		files, err := l.mountsAs(all, id)
		return id, files, err
	}
	return id, nil, err
}

func (l *Launcher) mountsAs(all []opened, id identity) ([]*os.File, error) {
	var files []*os.File
	for i, o := range all {
		f, err := l.mountAs(o, id)
		if err != nil {
			for _, f := range files {
				f.Close()
			}
			return nil, fmt.Errorf("%s: %w", o.Path, err)
		}
		files = append(files, f)
		all[i].FD = mountFD + i
	}
	return files, nil
}

func (l *Launcher) mountAs(o opened, id identity) (*os.File, error) {
	attr := unix.MountAttr{Attr_set: o.attributes()}
	plain := attr
	if o.uid != id.outsideUID || o.gid != id.outsideGID {
		ns, err := l.swap(o.uid, o.gid, id)
		if err != nil {
			return nil, err
		}
		attr.Attr_set |= unix.MOUNT_ATTR_IDMAP
		attr.Userns_fd = uint64(ns.Fd())
	}
	m, err := clone(o.fd, attr)
	if err != nil && !o.Write {
		// Another owner is sufficient for reading.
		m, err = clone(o.fd, plain)
	}
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(m), o.Path), nil
}
