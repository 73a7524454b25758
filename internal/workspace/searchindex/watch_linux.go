package searchindex

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/mcp-tools/mcp-tools/internal/workspace/root"
)

// A watcher tells what changed in directories. The kernel queues an event
// before the call that made the change returns, so whoever drains the queue
// knows of every change until then.
type watcher struct {
	fd   int
	file *os.File // the same, to wait for events with
	buf  []byte
	most int // watches; others need some, too

	mu     sync.Mutex
	places map[int32][]place // one directory can be seen at two places
	at     map[place]int32
}

// A place is why a directory is watched.
type place struct {
	dir  string
	part part
}

type part byte

const (
	itself  part = iota
	gitDir       // its .git, for info to appear
	gitInfo      // its .git/info, for exclude to change
)

const (
	moves = unix.IN_CREATE | unix.IN_DELETE | unix.IN_MOVED_FROM | unix.IN_MOVED_TO
	flags = unix.IN_ONLYDIR | unix.IN_EXCL_UNLINK
	// A file that was written through a mapping shows it when it is closed.
	writes = unix.IN_MODIFY | unix.IN_CLOSE_WRITE | unix.IN_ATTRIB
)

func newWatcher() (*watcher, error) {
	text, err := os.ReadFile("/proc/sys/fs/inotify/max_user_watches")
	if err != nil {
		return nil, errors.Join(errNoEvents, err)
	}
	most, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return nil, errors.Join(errNoEvents, err)
	}
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		return nil, errors.Join(errNoEvents, err)
	}
	return &watcher{
		fd: fd, file: os.NewFile(uintptr(fd), "inotify"), buf: make([]byte, 64<<10), most: most / 2,
		places: map[int32][]place{}, at: map[place]int32{},
	}, nil
}

func (w *watcher) close() error { return w.file.Close() }

// add watches a directory, and what in it makes rules. That it is not there, or
// not ours to read, is no error: then there is nothing to see, until an event
// of the directory above tells.
func (w *watcher) add(r *root.Root, dir string) error {
	if w == nil {
		return nil
	}
	fd, err := openDir(r, dir)
	if err != nil {
		return refused(err)
	}
	defer unix.Close(fd)
	if err := w.watch(fd, place{dir, itself}, moves|writes); err != nil {
		return err
	}
	git, err := openIn(fd, ".git")
	if err != nil {
		return nil
	}
	defer unix.Close(git)
	if err := w.watch(git, place{dir, gitDir}, moves); err != nil {
		return err
	}
	info, err := openIn(git, "info")
	if err != nil {
		return nil
	}
	defer unix.Close(info)
	return w.watch(info, place{dir, gitInfo}, moves|writes)
}

// openDir returns a handle of a directory, reached without following links.
func openDir(r *root.Root, dir string) (int, error) {
	how := unix.OpenHow{
		Flags:   unix.O_PATH | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_MAGICLINKS | unix.RESOLVE_NO_SYMLINKS,
	}
	if fd, err := unix.Openat2(r.FD(), dir, &how); err == nil {
		return fd, nil
	}
	file, err := r.OpenFile(dir, unix.O_PATH|unix.O_DIRECTORY, 0)
	if err != nil {
		return -1, err
	}
	defer file.Close()
	return unix.FcntlInt(file.Fd(), unix.F_DUPFD_CLOEXEC, 0)
}

func openIn(dir int, base string) (int, error) {
	return unix.Openat(dir, base, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
}

// refused tells a directory that is not ours to watch from a failure.
func refused(err error) error {
	for _, known := range []error{unix.ENOENT, unix.ENOTDIR, unix.ELOOP, unix.EACCES, unix.EPERM, unix.ENAMETOOLONG, unix.ESTALE, root.ErrLink, fs.ErrNotExist} {
		if errors.Is(err, known) {
			return nil
		}
	}
	return fmt.Errorf("watching a directory: %w", err)
}

func (w *watcher) watch(fd int, p place, mask uint32) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.places) >= w.most {
		return errNoEvents
	}
	// One directory can have two parts, and the last mask counts.
	wd, err := unix.InotifyAddWatch(w.fd, "/proc/self/fd/"+strconv.Itoa(fd), mask|flags|unix.IN_MASK_ADD)
	if errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.ENOENT) {
		return errors.Join(errNoEvents, err) // no watch is left, or there is no /proc
	}
	if err != nil {
		return refused(err)
	}
	n := int32(wd)
	if old, ok := w.at[p]; ok && old != n {
		w.leave(p, old)
	}
	if w.at[p] = n; !slices.Contains(w.places[n], p) {
		w.places[n] = append(w.places[n], p)
	}
	return nil
}

// remove ends watching a directory.
func (w *watcher) remove(dir string) {
	if w == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, part := range []part{itself, gitDir, gitInfo} {
		p := place{dir, part}
		if wd, ok := w.at[p]; ok {
			w.leave(p, wd)
			delete(w.at, p)
		}
	}
}

func (w *watcher) leave(p place, wd int32) {
	left := slices.DeleteFunc(w.places[wd], func(q place) bool { return q == p })
	if w.places[wd] = left; len(left) == 0 {
		delete(w.places, wd)
		_, _ = unix.InotifyRmWatch(w.fd, uint32(wd)) // it may be gone with its directory
	}
}

// drain reads the events that wait and returns when it has seen those that
// waited at the time of the call.
func (w *watcher) drain(apply func(change)) error {
	waiting, err := unix.IoctlGetInt(w.fd, unix.TIOCINQ)
	if err != nil {
		return err
	}
	for waiting > 0 {
		n, err := unix.Read(w.fd, w.buf)
		switch {
		case err == unix.EINTR:
			continue
		case err == unix.EAGAIN:
			return nil
		case err != nil:
			return err
		}
		waiting -= n
		w.events(w.buf[:n], apply)
	}
	return nil
}

func (w *watcher) events(buf []byte, apply func(change)) {
	for len(buf) >= unix.SizeofInotifyEvent {
		e := (*unix.InotifyEvent)(unsafe.Pointer(&buf[0]))
		end := min(unix.SizeofInotifyEvent+int(e.Len), len(buf))
		name, _, _ := bytes.Cut(buf[unix.SizeofInotifyEvent:end], []byte{0})
		buf = buf[end:]
		if e.Mask&(unix.IN_Q_OVERFLOW|unix.IN_UNMOUNT) != 0 {
			apply(change{kind: lost})
			continue
		}
		w.mu.Lock()
		places := slices.Clone(w.places[e.Wd])
		if e.Mask&unix.IN_IGNORED != 0 { // the directory is no more
			for _, p := range places {
				delete(w.at, p)
			}
			delete(w.places, e.Wd)
		}
		w.mu.Unlock()
		if e.Mask&unix.IN_IGNORED != 0 {
			continue
		}
		for _, p := range places {
			if c, ok := p.read(e.Mask, string(name)); ok {
				apply(c)
			}
		}
	}
}

// read says what an event at a place means.
func (p place) read(mask uint32, name string) (change, bool) {
	switch p.part {
	case gitDir:
		return change{dir: p.dir, kind: rules, base: name}, name == "info"
	case gitInfo:
		return change{dir: p.dir, kind: rules, base: name}, name == "exclude"
	}
	c := change{dir: p.dir, base: name, sub: mask&unix.IN_ISDIR != 0}
	switch {
	case mask&(unix.IN_CREATE|unix.IN_MOVED_TO) != 0:
		c.kind = come
	case mask&(unix.IN_DELETE|unix.IN_MOVED_FROM) != 0:
		c.kind = gone
	}
	return c, true
}

// wait returns true when events wait, and false when w was closed.
func (w *watcher) wait() bool {
	conn, err := w.file.SyscallConn()
	if err != nil {
		return false
	}
	return conn.Read(func(uintptr) bool {
		n, err := unix.IoctlGetInt(w.fd, unix.TIOCINQ)
		return n > 0 || err != nil
	}) == nil
}
