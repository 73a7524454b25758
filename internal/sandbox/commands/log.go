package commands

import (
	"io"
	"os"
	"runtime"
	"sync"
)

// memoryLog is the number of bytes that a log keeps in memory before it uses a
// file. It suffices for most commands.
const memoryLog = 64 << 10

// A log keeps the output of one stream: the head, and the tail in a ring buffer.
// Both are in memory while they are small, and then in an unnamed file. If the
// disk is full, the head ends there and the tail is a ring in memory: a full disk
// does not make the command fail.
type log struct {
	spool *spool
	head  int64 // maximum length of the head
	ring  int64 // maximum length of the tail

	mu          sync.Mutex
	size        int64
	memory      []byte // the head, until there is a file
	file        *os.File
	last        []byte // the tail, if the disk is full
	from        int64  // offset of the start of the ring
	reservation *reservation
	spilled     bool // the memory limit was exceeded
	failed      bool
	gone        bool
}

// newLog returns a log that keeps at most the given number of bytes, and of them at
// most tail bytes of the end.
func newLog(s *spool, most, tail int64) *log {
	most = max(most, 2*memoryLog)
	ring := min(most-most/2, max(tail, memoryLog))
	l := &log{spool: s, head: most - ring, ring: ring, from: most - ring, reservation: s.reservation()}
	runtime.AddCleanup(l, (*reservation).release, l.reservation) // for logs that are never discarded explicitly
	return l
}

// write appends data. It cannot fail: data that cannot be kept is dropped and
// becomes part of the gap.
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

// skip drops n bytes after the written ones. The head and tail of the log must be full, as they
// are when the agent skips: a log that is not full ends its head here, and the tail begins
// after the gap.
func (l *log) skip(n int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.gone && !l.failed && !l.spilled {
		l.spilled = true
		if !l.spill() {
			l.fail()
		}
	}
	l.head = min(l.head, l.size)
	l.size += n
	l.from = l.size
}

// some keeps the first part of data that goes to one storage, and returns its
// length. It returns 0 when it has switched to another storage: the caller calls
// again.
func (l *log) some(data []byte) (n int) {
	switch {
	case l.failed:
		n = l.keepLast(data)
	case !l.spilled && l.size+int64(len(data)) <= memoryLog:
		l.memory = append(l.memory, data...)
		n = len(data)
	case !l.spilled:
		l.spilled = true
		if !l.spill() {
			l.fail()
		}
		return 0
	default:
		at, room := l.place(l.size)
		data = data[:min(int64(len(data)), room)]
		if n = l.put(data, at); n < len(data) {
			defer l.fail() // the bytes that were written still count
		}
	}
	l.size += int64(n)
	return n
}

// place returns the position in the file of the byte at offset, and how many of
// the following bytes are contiguous with it.
func (l *log) place(offset int64) (at, room int64) {
	if offset < l.head {
		return offset, l.head - offset
	}
	within := (offset - l.from) % l.ring
	return l.head + within, l.ring - within
}

// put writes data to the file, and returns how many bytes the disk accepted.
func (l *log) put(data []byte, at int64) int {
	if !l.reservation.reach(at + int64(len(data))) {
		return 0
	}
	n, _ := l.file.WriteAt(data, at) // n contains the result
	return n
}

// spill moves the memory into a file.
func (l *log) spill() bool {
	if !l.reservation.reach(int64(len(l.memory))) {
		return false
	}
	file, err := l.spool.create()
	if err != nil {
		return false
	}
	if _, err := file.WriteAt(l.memory, 0); err != nil {
		_ = file.Close() // the memory still holds the data
		return false
	}
	l.file, l.memory = file, nil
	return true
}

// fail stops the use of the disk. The contiguous bytes in the file become the head.
func (l *log) fail() {
	l.failed = true
	if l.size <= l.head+l.ring { // nothing was written over yet
		l.head = l.size
	}
	l.from, l.ring = l.size, memoryLog
}

// keepLast writes data to the ring in memory.
func (l *log) keepLast(data []byte) int {
	if l.last == nil {
		l.last = make([]byte, l.ring)
	}
	return copy(l.last[(l.size-l.from)%l.ring:], data)
}

// gap returns the range of dropped bytes. l.mu is held.
func (l *log) gap() (from, to int64) {
	from = min(l.head, l.size)
	to = max(l.from, l.size-l.ring)
	if to <= from {
		return from, from
	}
	return from, min(to, l.size)
}

// Size returns the number of bytes that were written.
func (l *log) Size() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.size
}

// Gap returns the range of dropped bytes: from the first up to the second offset.
func (l *log) Gap() (from, to int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.gap()
}

// short reports whether bytes were dropped because the disk was full.
func (l *log) short() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	from, to := l.gap()
	return l.failed && from < to
}

// ReadAt reads bytes that were kept. It returns io.ErrNoProgress in the gap, also
// together with the bytes before it.
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

// read reads contiguous bytes at an offset that was kept.
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

// forget releases the storage. The log cannot be read afterwards.
func (l *log) forget() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.gone = true
	if l.file != nil {
		_ = l.file.Close() // the data is no longer needed
	}
	l.file, l.memory, l.last = nil, nil, nil
	l.reservation.release()
}
