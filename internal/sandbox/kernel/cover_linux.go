package kernel

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// cover hides and locks the protected names. Commands of other sandboxes may change
// the tree at the same time, so each name is opened without following links, and the
// open file is covered.
func (t *tree) cover(p plan) error {
	hidden, locked := slices.Sorted(slices.Values(p.Hidden)), slices.Sorted(slices.Values(p.Locked))
	for _, name := range locked {
		if err := t.each(name, t.lock); err != nil {
			return fmt.Errorf("locking %s: %w", name, err)
		}
	}
	for _, name := range hidden {
		if err := t.each(name, t.hide); err != nil {
			return fmt.Errorf("hiding %s: %w", name, err)
		}
	}
	return nil
}

// each applies do to a name, after the directories above it can no longer be renamed:
// otherwise a renamed directory would lose its protection at the next start. The
// contents of a directory that cannot be entered are covered with it.
func (t *tree) each(name string, do func(string) error) error {
	for {
		err := t.pin(name)
		if err == nil {
			err = do(name)
		}
		if !errors.Is(err, unix.EACCES) || slices.Contains(t.writes, path.Dir(name)) || name == "/" {
			return err
		}
		name = path.Dir(name)
	}
}

// pin mounts each directory between a writable source and a name on itself. A mount
// point cannot be renamed or removed.
func (t *tree) pin(name string) error {
	for i, c := range name {
		dir := name[:i]
		if c != '/' || t.pinned[dir] || !t.writable(dir) {
			continue
		}
		fd, err := t.find(dir)
		if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ELOOP) || errors.Is(err, unix.ENOTDIR) {
			return nil
		}
		if err != nil {
			return err
		}
		err = t.over(fd, unix.MountAttr{})
		unix.Close(fd)
		if err != nil {
			return fmt.Errorf("%s: %w", dir, err)
		}
		t.pinned[dir] = true
	}
	return nil
}

// writable reports whether a name is below a writable source.
func (t *tree) writable(name string) bool {
	for _, w := range t.writes {
		if strings.HasPrefix(name, w+"/") {
			return true
		}
	}
	return false
}

// over mounts a directory or file on itself.
func (t *tree) over(fd int, attr unix.MountAttr) error {
	m, err := clone(fd, attr)
	if err != nil {
		return err
	}
	defer unix.Close(m)
	return put(m, fd)
}

// find opens a name in the tree without following links: a link at the end is opened
// itself, a link on the path is an error.
func (t *tree) find(name string) (int, error) {
	return unix.Openat2(t.fd, strings.TrimPrefix(name, "/"), &unix.OpenHow{
		Flags:   unix.O_PATH | unix.O_NOFOLLOW | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS,
	})
}

// missing reports whether there is nothing to cover: the name does not exist, or it is
// reached through a link, and its target has another name.
func missing(err error) bool {
	return errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ELOOP)
}

func (t *tree) lock(name string) error {
	return t.with(name, func(fd int, _ bool) error {
		return t.over(fd, unix.MountAttr{Attr_set: readOnly})
	})
}

// hide mounts an empty directory over a directory, and an empty unreadable file over
// anything else.
func (t *tree) hide(name string) error {
	return t.with(name, func(fd int, dir bool) error {
		if dir && slices.ContainsFunc(t.guests, func(at string) bool { return strings.HasPrefix(at, name+"/") }) {
			return t.room(fd)
		}
		empty, err := t.empty(dir)
		if err != nil {
			return err
		}
		defer unix.Close(empty)
		m, err := clone(empty, unix.MountAttr{Attr_set: readOnly | unix.MOUNT_ATTR_NOEXEC})
		if err != nil {
			return err
		}
		defer unix.Close(m)
		return put(m, fd)
	})
}

// room mounts a directory over a directory, for mount points that are added later.
func (t *tree) room(fd int) error {
	m, err := newMemory(0)
	if err != nil {
		return err
	}
	t.rooms = append(t.rooms, m)
	return put(m, fd)
}

// close makes the directories of room read-only.
func (t *tree) close() error {
	for _, m := range t.rooms {
		err := unix.MountSetattr(m, "", unix.AT_EMPTY_PATH,
			&unix.MountAttr{Attr_set: readOnly | unix.MOUNT_ATTR_NOEXEC})
		if err != nil {
			return fmt.Errorf("hiding: %w", err)
		}
		unix.Close(m)
	}
	return nil
}

// empty opens an empty directory or file of the stock.
func (t *tree) empty(dir bool) (int, error) {
	name := "file"
	if dir {
		name = "dir"
	}
	fd, err := unix.Openat(t.stock, name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if !errors.Is(err, unix.ENOENT) {
		return fd, err
	}
	if dir {
		err = unix.Mkdirat(t.stock, name, 0o555)
	} else {
		err = unix.Mknodat(t.stock, name, unix.S_IFREG, 0)
	}
	if err != nil {
		return 0, err
	}
	return t.empty(dir)
}

// with opens a name and calls do. If the name is a link to a file, with calls do for the file
// too.
func (t *tree) with(name string, do func(fd int, dir bool) error) error {
	fd, err := t.find(name)
	if missing(err) {
		return nil
	}
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFLNK {
		return do(fd, st.Mode&unix.S_IFMT == unix.S_IFDIR)
	}
	to, err := unix.Openat2(t.fd, strings.TrimPrefix(name, "/"), &unix.OpenHow{
		Flags:   unix.O_PATH | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_IN_ROOT | unix.RESOLVE_NO_MAGICLINKS,
	})
	if err != nil {
		return nil // commands cannot follow the link either
	}
	defer unix.Close(to)
	if err := unix.Fstat(to, &st); err != nil || st.Mode&unix.S_IFMT != unix.S_IFREG {
		return err
	}
	return do(to, false)
}
