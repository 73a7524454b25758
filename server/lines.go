package server

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"runtime"
	"sync"
)

// A lineReader reads messages that stand one on a line, in bounded memory.
type lineReader struct {
	r   *bufio.Reader
	max int
}

// next returns the next line that is not empty, without its end. A line that
// is too long is read to its end and reported as a *longLine; what follows can
// be read. The line is the caller's to keep.
func (l *lineReader) next() ([]byte, error) {
	var line []byte
	var long *longLine
	for {
		piece, err := l.r.ReadSlice('\n')
		switch {
		case long == nil && len(line)+len(piece) <= l.max+1:
			line = append(line, piece...)
		case long == nil:
			line = append(line, piece...)
			long, line = &longLine{head: bytes.Clone(line[:min(keptHead, len(line))]), tail: lastOf(line)}, nil
		default:
			long.tail = lastOf(append(long.tail, lastOf(piece)...))
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case long != nil && (err == nil || errors.Is(err, io.EOF)):
			return nil, long
		case err != nil && (len(trim(line)) == 0 || !errors.Is(err, io.EOF)):
			return nil, err
		}
		if line = trim(line); len(line) > 0 {
			return line, nil // at the end of input, a last line without its end counts
		}
		line = line[:0]
	}
}

func trim(line []byte) []byte { return bytes.TrimRight(line, "\r\n\t ") }

// A lineWriter writes messages one on a line. Whoever writes while nobody else
// does also writes what the others bring in the meantime: under load many
// messages go out in one system call, and without load none waits.
type lineWriter struct {
	w io.Writer

	mu      sync.Mutex
	room    *sync.Cond
	pending []byte
	writing bool
	err     error
}

// maxPending bounds what a client that reads slowly makes us hold.
const maxPending = 1 << 20

func newLineWriter(w io.Writer) *lineWriter {
	l := &lineWriter{w: w}
	l.room = sync.NewCond(&l.mu)
	return l
}

// send queues msg. It returns when msg is written, or when somebody else is
// writing and will write it next; it waits when too much is queued already.
func (l *lineWriter) send(msg []byte) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.writing && len(l.pending) > maxPending && l.err == nil {
		l.room.Wait()
	}
	if l.err != nil {
		return l.err
	}
	l.pending = append(append(l.pending, msg...), '\n')
	if l.writing {
		return nil
	}
	l.writing = true
	l.mu.Unlock()
	runtime.Gosched() // whoever is about to answer as well saves a system call
	l.mu.Lock()
	for len(l.pending) > 0 && l.err == nil {
		batch := l.pending
		l.pending = nil
		l.mu.Unlock()
		_, err := l.w.Write(batch)
		l.mu.Lock()
		l.err = err
		l.room.Broadcast()
	}
	l.writing = false
	return l.err
}
