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

// A watcher reports changes in directories. The kernel queues an event before the system
// call that makes the change returns, so after draining the queue the watcher has
// reported every earlier change.
type watcher struct {
	fd         int
	file       *os.File // the same descriptor, to wait for events
	buf        []byte
	maxWatches int // leaves watches for other programs

	mu      sync.Mutex
	reasons map[int32][]watchReason // one directory may have two reasons
	ids     map[watchReason]int32
}

// A watchReason is the reason for watching a directory.
type watchReason struct {
	dir  string
	part watchedPart
}

type watchedPart byte

const (
	itself  watchedPart = iota
	gitDir              // its .git, where info may be created
	gitInfo             // its .git/info, where exclude may change
)

const (
	moves = unix.IN_CREATE | unix.IN_DELETE | unix.IN_MOVED_FROM | unix.IN_MOVED_TO
	flags = unix.IN_ONLYDIR | unix.IN_EXCL_UNLINK
	// A file that is written through a mapping causes an event when it is closed.
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
		fd: fd, file: os.NewFile(uintptr(fd), "inotify"), buf: make([]byte, 64<<10), maxWatches: most / 2,
		reasons: map[int32][]watchReason{}, ids: map[watchReason]int32{},
	}, nil
}

func (w *watcher) close() error { return w.file.Close() }

// add watches a directory, and the files in it that change ignore rules. It is not an error
// if the directory does not exist or cannot be read: then an event of its parent reports
// a change.
func (w *watcher) add(r *root.Root, dir string) error {
	if w == nil {
		return nil
	}
	fd, err := r.OpenFD(dir, unix.O_PATH|unix.O_DIRECTORY)
	if err != nil {
		return ignoreUnreadable(err)
	}
	defer unix.Close(fd)
	if err := w.watch(fd, watchReason{dir, itself}, moves|writes); err != nil {
		return err
	}
	git, err := openIn(fd, ".git")
	if err != nil {
		return nil
	}
	defer unix.Close(git)
	if err := w.watch(git, watchReason{dir, gitDir}, moves); err != nil {
		return err
	}
	info, err := openIn(git, "info")
	if err != nil {
		return nil
	}
	defer unix.Close(info)
	return w.watch(info, watchReason{dir, gitInfo}, moves|writes)
}

// addNames watches a directory for changes of entries and permissions. Its errors are the
// errors of add.
func (w *watcher) addNames(r *root.Root, dir string) error {
	fd, err := r.OpenFD(dir, unix.O_PATH|unix.O_DIRECTORY)
	if err != nil {
		return ignoreUnreadable(err)
	}
	defer unix.Close(fd)
	return w.watch(fd, watchReason{dir, itself}, moves|unix.IN_ATTRIB)
}

func openIn(dir int, base string) (int, error) {
	return unix.Openat(dir, base, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
}

// ignoreUnreadable returns nil if a directory cannot be read, or does not exist.
func ignoreUnreadable(err error) error {
	for _, known := range []error{
		unix.ENOENT, unix.ENOTDIR, unix.ELOOP, unix.EACCES, unix.EPERM, unix.ENAMETOOLONG, unix.ESTALE,
		root.ErrLink, fs.ErrNotExist,
	} {
		if errors.Is(err, known) {
			return nil
		}
	}
	return fmt.Errorf("watching a directory: %w", err)
}

func (w *watcher) watch(fd int, p watchReason, mask uint32) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.reasons) >= w.maxWatches {
		return errNoEvents
	}
	// One directory may be watched for two reasons. Without IN_MASK_ADD the last mask would win.
	wd, err := unix.InotifyAddWatch(w.fd, "/proc/self/fd/"+strconv.Itoa(fd), mask|flags|unix.IN_MASK_ADD)
	if errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.ENOENT) {
		return errors.Join(errNoEvents, err) // no watches are left, or /proc is not mounted
	}
	if err != nil {
		return ignoreUnreadable(err)
	}
	n := int32(wd)
	if old, ok := w.ids[p]; ok && old != n {
		w.unwatch(p, old)
	}
	if w.ids[p] = n; !slices.Contains(w.reasons[n], p) {
		w.reasons[n] = append(w.reasons[n], p)
	}
	return nil
}

// remove stops watching a directory.
func (w *watcher) remove(dir string) {
	if w == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, part := range []watchedPart{itself, gitDir, gitInfo} {
		p := watchReason{dir, part}
		if wd, ok := w.ids[p]; ok {
			w.unwatch(p, wd)
			delete(w.ids, p)
		}
	}
}

func (w *watcher) unwatch(p watchReason, wd int32) {
	left := slices.DeleteFunc(w.reasons[wd], func(q watchReason) bool { return q == p })
	if w.reasons[wd] = left; len(left) == 0 {
		delete(w.reasons, wd)
		_, _ = unix.InotifyRmWatch(w.fd, uint32(wd)) // fails if the directory was removed
	}
}

// drain applies the events that are queued at the time of the call.
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
			apply(change{kind: eventsLost})
			continue
		}
		w.mu.Lock()
		places := slices.Clone(w.reasons[e.Wd])
		if e.Mask&unix.IN_IGNORED != 0 { // the directory was removed
			for _, p := range places {
				delete(w.ids, p)
			}
			delete(w.reasons, e.Wd)
		}
		w.mu.Unlock()
		if e.Mask&unix.IN_IGNORED != 0 {
			continue
		}
		for _, p := range places {
			if c, ok := p.interpret(e.Mask, string(name)); ok {
				apply(c)
			}
		}
	}
}

// interpret returns the change that an event means.
func (p watchReason) interpret(mask uint32, name string) (change, bool) {
	switch p.part {
	case gitDir:
		return change{dir: p.dir, kind: rulesChanged, base: name}, name == "info"
	case gitInfo:
		return change{dir: p.dir, kind: rulesChanged, base: name}, name == "exclude"
	}
	c := change{dir: p.dir, base: name, sub: mask&unix.IN_ISDIR != 0}
	switch {
	case mask&(unix.IN_CREATE|unix.IN_MOVED_TO) != 0:
		c.kind = nameCreated
	case mask&(unix.IN_DELETE|unix.IN_MOVED_FROM) != 0:
		c.kind = nameRemoved
	}
	return c, true
}

// wait waits for events. It returns false if the watcher was closed.
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
