package kernel

import (
	"errors"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// A tree is the root directory that a stage assembles for the commands.
type tree struct {
	fd     int // its top directory
	stock  int // a directory in memory with empty files and directories
	pinned map[string]bool
	writes []string // the writable sources
	guests []string // the sources within hidden directories
	rooms  []int    // the directories that room made, still open
}

const (
	programPath = "/run/mcp-tools/program"
	proxyPath   = "/run/mcp-tools/proxy.sock"
)

// system are the directories of programs and libraries. They contain no private data.
var system = [...]string{
	"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/opt", "/nix",
}

// jail assembles the root directory, makes it the root of this process and detaches the
// old one. It opens the sources first, while their paths are valid.
func jail(p plan) error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("private mounts: %w", err)
	}
	top, err := newMemory(0)
	if err != nil {
		return err
	}
	stock, err := newMemory(0)
	if err != nil {
		return err
	}
	t := &tree{fd: top, stock: stock, pinned: map[string]bool{}}
	mounts, err := collect(p)
	if err != nil {
		return err
	}
	if err := t.place(); err != nil {
		return err
	}
	if err := t.base(p); err != nil {
		return err
	}
	within := func(g guest) bool {
		return !g.write && slices.ContainsFunc(p.Hidden, func(h string) bool { return strings.HasPrefix(g.at, h+"/") })
	}
	if err := t.addAll(mounts, func(g guest) bool { return !within(g) }); err != nil {
		return err
	}
	for _, g := range mounts {
		if within(g) {
			t.guests = append(t.guests, g.at)
		}
	}
	for _, keys := range []string{"/etc/ssl/private", "/etc/pki/tls/private"} {
		if err := t.hide(keys); err != nil { // root's, and commands may be root
			return fmt.Errorf("hiding %s: %w", keys, err)
		}
	}
	if err := t.cover(p); err != nil {
		return err
	}
	// A source within a hidden directory stays visible.
	if err := t.addAll(mounts, within); err != nil {
		return err
	}
	if err := t.close(); err != nil {
		return err
	}
	return t.enter()
}

func (t *tree) addAll(mounts []guest, these func(guest) bool) error {
	for _, g := range mounts {
		if !these(g) {
			continue
		}
		if err := t.add(g); err != nil {
			return fmt.Errorf("%s: %w", g.at, err)
		}
	}
	return nil
}

// place mounts the new root temporarily, since files can be added only to an attached mount.
func (t *tree) place() error {
	const somewhere = "/usr"
	fd, err := unix.Open(somewhere, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("%s: %w", somewhere, err)
	}
	defer unix.Close(fd)
	if err := put(t.fd, fd); err != nil {
		return err
	}
	// The stock must be attached too before its parts can be cloned.
	at, err := t.target("/.stock", true)
	if err != nil {
		return err
	}
	defer unix.Close(at)
	return put(t.stock, at)
}

// enter makes the tree the root. pivot_root stacks the old root on top of it, from
// where it is unmounted.
func (t *tree) enter() error {
	if err := unix.Unmount(fmt.Sprintf("/proc/self/fd/%d/.stock", t.fd), unix.MNT_DETACH); err != nil {
		return fmt.Errorf("stock: %w", err)
	}
	if err := unix.Unlinkat(t.fd, ".stock", unix.AT_REMOVEDIR); err != nil {
		return fmt.Errorf("stock: %w", err)
	}
	err := unix.MountSetattr(t.fd, "", unix.AT_EMPTY_PATH, &unix.MountAttr{Attr_set: readOnly})
	if err != nil {
		return fmt.Errorf("read-only root: %w", err)
	}
	if err := unix.Fchdir(t.fd); err != nil {
		return fmt.Errorf("new root: %w", err)
	}
	if err := unix.PivotRoot(".", "."); err != nil {
		return fmt.Errorf("pivot_root: %w", err)
	}
	if err := unix.Unmount(".", unix.MNT_DETACH); err != nil {
		return fmt.Errorf("old root: %w", err)
	}
	return unix.Chdir("/")
}

// A guest is a mount that is to be attached to the tree.
type guest struct {
	mount int
	at    string
	dir   bool
	write bool
	link  string // if not "", it is a link with this target instead of a mount
}

// collect returns mounts of all sources, outer ones before inner ones.
func collect(p plan) ([]guest, error) {
	var all []guest
	for _, list := range [][]string{system[:], etcPaths(), devicePaths()} {
		for _, name := range list {
			g, err := fromSystem(name)
			if errors.Is(err, unix.ENOENT) {
				continue
			}
			if err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			all = append(all, g)
		}
	}
	for _, s := range p.Binds {
		g, err := fromSource(s, s.Path)
		if err != nil {
			return nil, err
		}
		all = append(all, g)
	}
	for at, s := range map[string]*source{programPath: p.Program, proxyPath: p.Proxy} {
		if s == nil {
			continue
		}
		g, err := fromSource(*s, at)
		if err != nil {
			return nil, err
		}
		all = append(all, g)
	}
	return all, nil
}

// fromSystem returns a mount of a system directory, or the same link.
func fromSystem(name string) (guest, error) {
	fd, err := unix.Open(name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return guest{}, err
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return guest{}, err
	}
	g := guest{at: name, dir: st.Mode&unix.S_IFMT == unix.S_IFDIR}
	attr := unix.MountAttr{Attr_set: readOnly}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFLNK:
		g.link, err = os.Readlink(name)
		return g, err
	case unix.S_IFCHR:
		attr.Attr_set = unix.MOUNT_ATTR_RDONLY | unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NOEXEC
	}
	g.mount, err = clone(fd, attr)
	return g, err
}

func fromSource(s source, at string) (guest, error) {
	g := guest{mount: s.FD, at: at, dir: s.Dir, write: s.Write}
	if s.FD != 0 {
		return g, nil
	}
	fd, err := s.same()
	if err != nil {
		return guest{}, err
	}
	defer unix.Close(fd)
	if g.mount, err = clone(fd, unix.MountAttr{Attr_set: s.attributes()}); err != nil {
		return guest{}, fmt.Errorf("%s: %w", s.Path, err)
	}
	return g, nil
}

func (t *tree) add(g guest) error {
	if g.link != "" {
		return t.link(g.at, g.link)
	}
	defer unix.Close(g.mount)
	at, err := t.target(g.at, g.dir)
	if err != nil {
		return err
	}
	defer unix.Close(at)
	if g.write {
		t.writes = append(t.writes, g.at)
	}
	return put(g.mount, at)
}

func (t *tree) link(at, to string) error {
	dir, err := t.target(path.Dir(at), true)
	if err != nil {
		return err
	}
	defer unix.Close(dir)
	return unix.Symlinkat(to, dir, path.Base(at))
}

// target opens a path in the tree, and creates it if it does not exist. It follows no
// links, so it stays in the tree.
func (t *tree) target(at string, dir bool) (int, error) {
	fd, err := unix.Dup(t.fd)
	if err != nil {
		return 0, err
	}
	names := strings.Split(strings.Trim(at, "/"), "/")
	if names[0] == "" {
		return fd, nil
	}
	for i, name := range names {
		next, err := step(fd, name, dir || i < len(names)-1)
		unix.Close(fd)
		if err != nil {
			return 0, err
		}
		fd = next
	}
	return fd, nil
}

func step(dir int, name string, isDir bool) (int, error) {
	if name == ".." || name == "." || name == "" {
		return 0, unix.EINVAL
	}
	how := unix.O_PATH | unix.O_NOFOLLOW | unix.O_CLOEXEC
	if isDir {
		how |= unix.O_DIRECTORY
	}
	fd, err := unix.Openat(dir, name, how, 0)
	if !errors.Is(err, unix.ENOENT) {
		return fd, err
	}
	if isDir {
		err = unix.Mkdirat(dir, name, 0o755)
	} else {
		err = unix.Mknodat(dir, name, unix.S_IFREG|0o444, 0)
	}
	if err != nil {
		return 0, err
	}
	return unix.Openat(dir, name, how, 0)
}
