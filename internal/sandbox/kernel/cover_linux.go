package kernel

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// cover hides and locks what commands must not see or change. The names come
// from a tree that others write to: what is there now is opened without
// following links, and covered by what is open.
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

// each does something to a name, once the directories that lead to it can no
// longer be renamed: a name that moves away is neither hidden nor locked the
// next time. What lies in a directory that cannot be entered is covered with it.
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

// pin makes mounts of the directories between what was let in for writing and
// a name. What is mounted cannot be renamed or removed.
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

// writable says that a name is below what was let in for writing.
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

// find opens a name of the tree; links are found themselves at its end, and
// refused on the way.
func (t *tree) find(name string) (int, error) {
	return unix.Openat2(t.fd, strings.TrimPrefix(name, "/"), &unix.OpenHow{
		Flags:   unix.O_PATH | unix.O_NOFOLLOW | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS,
	})
}

// missing says that there is nothing to be covered: no such name, or none that
// can be reached without a link, whose target has another name.
func missing(err error) bool {
	return errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ELOOP)
}

func (t *tree) lock(name string) error {
	return t.with(name, func(fd int, _ bool) error {
		return t.over(fd, unix.MountAttr{Attr_set: readOnly})
	})
}

// hide covers a directory with an empty one, and anything else with an empty
// file that nobody may read.
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

// room covers a directory with one to which something is still added.
func (t *tree) room(fd int) error {
	m, err := newMemory(0)
	if err != nil {
		return err
	}
	t.rooms = append(t.rooms, m)
	return put(m, fd)
}

// close has nothing more added to rooms.
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

// with opens a name, and where that is a link to a file, the file too: as long
// as the link is there, it is another name of what is to be covered.
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
		return nil // it leads nowhere that commands could follow it to
	}
	defer unix.Close(to)
	if err := unix.Fstat(to, &st); err != nil || st.Mode&unix.S_IFMT != unix.S_IFREG {
		return err
	}
	return do(to, false)
}
