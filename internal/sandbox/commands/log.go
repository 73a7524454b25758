package commands

import (
	"io"
	"os"
	"runtime"
	"sync"
)

// memoryLog is how much of a log is kept without a file: the output of most
// commands.
const memoryLog = 64 << 10

// A log keeps what was written to one stream: the head, and in a ring the tail
// of what did not fit. Both lie in memory while they are small, and then in a
// file that has no name. Where the disk gives no more, the head ends there, and
// the tail is as much as memory holds: a full disk is no failure of the command.
type log struct {
	spool *spool
	head  int64 // how long the head may become
	ring  int64 // likewise the tail

	mu     sync.Mutex
	size   int64
	memory []byte // the head, until there is a file
	file   *os.File
	last   []byte // the tail, where the disk gives no more
	from   int64  // the offset where the ring begins
	extent *extent
	spilt  bool // the memory was not enough
	failed bool
	gone   bool
}

// newLog returns a log that keeps up to most bytes.
func newLog(s *spool, most int64) *log {
	most = max(most, 2*memoryLog)
	l := &log{spool: s, head: most / 2, ring: most - most/2, from: most / 2, extent: s.extent()}
	runtime.AddCleanup(l, (*extent).release, l.extent) // for those that nobody forgets
	return l
}

// write adds data. It cannot fail: what cannot be kept is lost, and the gap
// tells of it.
func (l *log) write(data []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.gone {
		l.size += int64(len(data))
		return
	}
	for len(data) > 0 {
		data = data[l.some(data):]
	}
}

// some keeps the beginning of data, as much as goes to one place, and returns
// how much that was. Where it is nothing the disk is full, and it will be
// something the next time.
func (l *log) some(data []byte) (n int) {
	switch {
	case l.failed:
		n = l.keepLast(data)
	case !l.spilt && l.size+int64(len(data)) <= memoryLog:
		l.memory = append(l.memory, data...)
		n = len(data)
	case !l.spilt:
		l.spilt = true
		if !l.spill() {
			l.fail()
		}
		return 0
	default:
		at, room := l.place(l.size)
		data = data[:min(int64(len(data)), room)]
		if n = l.put(data, at); n < len(data) {
			defer l.fail() // what was written still counts
		}
	}
	l.size += int64(n)
	return n
}

// place says where in the file the byte at offset lies, and how many of those
// that follow lie behind it.
func (l *log) place(offset int64) (at, room int64) {
	if offset < l.head {
		return offset, l.head - offset
	}
	within := (offset - l.from) % l.ring
	return l.head + within, l.ring - within
}

// put writes data to the file, or as much of it as the disk takes.
func (l *log) put(data []byte, at int64) int {
	if !l.extent.reach(at + int64(len(data))) {
		return 0
	}
	n, _ := l.file.WriteAt(data, at) // fewer bytes say it all
	return n
}

// spill moves what is in memory into a file.
func (l *log) spill() bool {
	if !l.extent.reach(int64(len(l.memory))) {
		return false
	}
	file, err := l.spool.create()
	if err != nil {
		return false
	}
	if _, err := file.WriteAt(l.memory, 0); err != nil {
		_ = file.Close() // it holds nothing that is needed
		return false
	}
	l.file, l.memory = file, nil
	return true
}

// fail ends the use of the disk: what is there and in one piece is the head
// from now on.
func (l *log) fail() {
	l.failed = true
	if l.size <= l.head+l.ring { // nothing was written over yet
		l.head = l.size
	}
	l.from, l.ring = l.size, memoryLog
}

// keepLast puts data into the ring in memory.
func (l *log) keepLast(data []byte) int {
	if l.last == nil {
		l.last = make([]byte, l.ring)
	}
	return copy(l.last[(l.size-l.from)%l.ring:], data)
}

// gap is what is gone. The lock is held.
func (l *log) gap() (from, to int64) {
	from = min(l.head, l.size)
	to = max(l.from, l.size-l.ring)
	if to <= from {
		return from, from
	}
	return from, min(to, l.size)
}

// Size is how many bytes were written.
func (l *log) Size() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.size
}

// Gap is what is gone: from the first to before the second offset.
func (l *log) Gap() (from, to int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.gap()
}

// short says that the disk gave less than the log wanted.
func (l *log) short() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	from, to := l.gap()
	return l.failed && from < to
}

// ReadAt reads what is kept; within the gap it returns io.ErrNoProgress, and
// what lies before it comes with that error too.
func (l *log) ReadAt(p []byte, offset int64) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.gone {
		return 0, os.ErrClosed
	}
	if offset < 0 {
		return 0, os.ErrInvalid
	}
	n := 0
	for n < len(p) {
		from, to := l.gap()
		end := l.size
		switch {
		case offset >= l.size:
			return n, io.EOF
		case offset >= from && offset < to:
			return n, io.ErrNoProgress
		case offset < from:
			end = from
		}
		got, err := l.read(p[n:min(int64(len(p)), int64(n)+end-offset)], offset)
		n, offset = n+got, offset+int64(got)
		if err != nil {
			return n, err
		}
	}
	return n, nil
}

// read reads what lies in one piece behind an offset that is kept.
func (l *log) read(p []byte, offset int64) (int, error) {
	if l.failed && offset >= l.from {
		return copy(p, l.last[(offset-l.from)%l.ring:]), nil
	}
	if l.file == nil {
		return copy(p, l.memory[offset:]), nil
	}
	at, room := offset, int64(len(p))
	if !l.failed {
		at, room = l.place(offset)
	}
	return l.file.ReadAt(p[:min(int64(len(p)), room)], at)
}

// forget gives back what the log holds. It can be read no more.
func (l *log) forget() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.gone = true
	if l.file != nil {
		_ = l.file.Close() // nobody reads it any more
	}
	l.file, l.memory, l.last = nil, nil, nil
	l.extent.release()
}
