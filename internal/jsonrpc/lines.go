package jsonrpc

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"runtime"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
)

// A LineReader reads messages, one on each line, in bounded memory.
type LineReader struct {
	r   *bufio.Reader
	max int
}

// NewLineReader returns a reader of lines of at most max bytes.
func NewLineReader(r io.Reader, max int) *LineReader {
	return &LineReader{bufio.NewReaderSize(r, 64<<10), max}
}

// Next returns the next line that is not empty, without its end. A line that is too long is
// read to its end and reported as a *LongLine; the next line can be read. The caller owns the
// line.
func (l *LineReader) Next() ([]byte, error) {
	var line []byte
	var long *LongLine
	for {
		piece, err := l.r.ReadSlice('\n')
		switch {
		case long == nil && len(line)+len(piece) <= l.max+1:
			line = append(line, piece...)
		case long == nil:
			line = append(line, piece...)
			long, line = &LongLine{head: bytes.Clone(line[:min(keptHead, len(line))]), tail: lastOf(line)}, nil
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

// A LineWriter writes messages, one on each line. The writing goroutine also writes the
// messages that others send in the meantime: under load one system call writes many messages,
// and without load none waits.
type LineWriter struct {
	w io.Writer

	mu      sync.Mutex
	room    *sync.Cond // signals that a batch was written
	pending []byte
	spare   []byte // the buffer of the last write, for reuse
	writing bool
	queued  int // messages so far
	written int // of them
	err     error
}

// maxPending bounds the memory for a client that reads slowly, in bytes.
const maxPending = 1 << 20

// maxSpare bounds the memory that is kept for the next messages, in bytes.
const maxSpare = 64 << 10

// NewLineWriter returns a LineWriter to w.
func NewLineWriter(w io.Writer) *LineWriter {
	l := &LineWriter{w: w}
	l.room = sync.NewCond(&l.mu)
	return l
}

// Send queues msg. It returns when msg is written, or when another goroutine is
// writing and will write it next. It waits if too much is queued. After an error
// it writes nothing more and returns the error.
func (l *LineWriter) Send(msg []byte) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.writing && len(l.pending) > maxPending && l.err == nil {
		l.room.Wait()
	}
	if l.err != nil {
		return l.err
	}
	l.pending = append(append(l.pending, msg...), '\n')
	l.queued++
	if l.writing {
		return nil
	}
	l.writing = true
	l.mu.Unlock()
	runtime.Gosched() // another response that is nearly ready saves a system call
	l.mu.Lock()
	for len(l.pending) > 0 && l.err == nil {
		batch, last := l.pending, l.queued
		l.pending, l.spare = l.spare, nil
		l.mu.Unlock()
		_, err := l.w.Write(batch)
		l.mu.Lock()
		if cap(batch) <= maxSpare {
			l.spare = batch[:0]
		}
		if l.err = err; err == nil {
			l.written = last
		}
		l.room.Broadcast()
	}
	l.writing = false
	return l.err
}

// Flush returns when the messages that were sent before are written, by whichever goroutine, or with the error of
// the writer.
func (l *LineWriter) Flush() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	sent := l.queued
	for l.written < sent && l.err == nil {
		l.room.Wait()
	}
	if l.written < sent {
		return l.err
	}
	return nil
}

// A LongLine is the error for a line that is too long. It holds its two ends.
type LongLine struct{ head, tail []byte }

func (*LongLine) Error() string { return "the line is too long" }

// How much of a long line is kept, in bytes: enough to find its id.
const (
	keptHead = 4 << 10
	keptTail = 512
)

// lastOf returns a copy of the end of a line.
func lastOf(line []byte) []byte { return bytes.Clone(line[max(0, len(line)-keptTail):]) }

// ID returns the id of the request on the line, so that its client gets a
// response. It looks before the first value that was cut, and at the end of the
// line, where some clients write the id. It returns nil if it finds none.
func (l *LongLine) ID() jsontext.Value {
	d := jsontext.NewDecoder(bytes.NewReader(l.head))
	if t, err := d.ReadToken(); err != nil || t.Kind() != '{' {
		return nil
	}
	for {
		name, err := d.ReadToken()
		if err != nil || name.Kind() != '"' {
			break
		}
		is := name.String() == "id"
		value, err := d.ReadValue()
		if err != nil {
			break
		}
		if is {
			return scalar(value.Clone())
		}
	}
	return l.idAtEnd()
}

// idAtEnd returns the value of a last member called id. A member of params would
// be followed by two braces.
func (l *LongLine) idAtEnd() jsontext.Value {
	tail, ok := bytes.CutSuffix(trim(l.tail), []byte("}"))
	i := bytes.LastIndex(tail, []byte(`"id"`))
	if !ok || i < 0 {
		return nil
	}
	before := bytes.TrimRight(tail[:i], " \t")
	value, ok := bytes.CutPrefix(bytes.TrimLeft(tail[i+len(`"id"`):], " \t"), []byte(":"))
	if !ok || !bytes.HasSuffix(before, []byte(",")) {
		return nil
	}
	return scalar(bytes.TrimSpace(value))
}

// scalar returns v if it is a complete string or number, else nil.
func scalar(v jsontext.Value) jsontext.Value {
	if !v.IsValid() || v.Kind() != '"' && v.Kind() != '0' {
		return nil
	}
	return v
}
