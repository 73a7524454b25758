package audit

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// forward reads whole lines from the front. A line that is longer than ours
// ever are comes cut, and so is none of ours.
type forward struct {
	r      *bufio.Reader
	buf    []byte
	offset int64 // after the last whole line
	rest   int64 // bytes after that, at the end
}

func newForward(r io.Reader) *forward {
	return &forward{r: bufio.NewReaderSize(r, 64<<10)}
}

// next returns the next line without its newline, valid until the next call,
// or io.EOF after the last whole one.
func (l *forward) next() ([]byte, error) {
	l.buf = l.buf[:0]
	var size int64
	for {
		part, err := l.r.ReadSlice('\n')
		size += int64(len(part))
		if room := maxLine + 1 - len(l.buf); len(part) > room {
			part = part[:room]
		}
		l.buf = append(l.buf, part...)
		switch {
		case err == nil:
			l.offset += size
			return bytes.TrimSuffix(l.buf, []byte("\n")), nil
		case err == io.EOF:
			l.rest = size
			return nil, io.EOF
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, err
		}
	}
}

// backward reads whole lines from the back. Lines that are too long to be ours
// come empty.
type backward struct {
	r     io.ReaderAt
	floor int64 // where to stop
	at    int64 // buf begins here in the file
	end   int64 // after the last whole line
	buf   []byte
}

const block = 16 << 10

// newBackward begins after the last newline in [floor, size).
func newBackward(r io.ReaderAt, floor, size int64) (*backward, error) {
	l := &backward{r: r, floor: floor, at: size}
	for l.at > floor {
		if err := l.load(); err != nil {
			return nil, err
		}
		if i := bytes.LastIndexByte(l.buf, '\n'); i >= 0 {
			l.buf = l.buf[:i+1]
			break
		}
		l.buf = l.buf[:0] // half a line
	}
	l.end = l.at + int64(len(l.buf))
	return l, nil
}

// load puts the block before the buffer in front of it.
func (l *backward) load() error {
	n := min(block, l.at-l.floor)
	grown := make([]byte, int(n)+len(l.buf), int(n)+len(l.buf))
	copy(grown[n:], l.buf)
	if _, err := l.r.ReadAt(grown[:n], l.at-n); err != nil && err != io.EOF {
		return err
	}
	l.at -= n
	l.buf = grown
	return nil
}

// next returns the line before, without its newline, or io.EOF. It is valid
// until the next call.
func (l *backward) next() ([]byte, error) {
	long := false
	for {
		body := bytes.TrimSuffix(l.buf, []byte("\n"))
		i := bytes.LastIndexByte(body, '\n')
		switch {
		case i >= 0 || l.at == l.floor && len(l.buf) > 0:
			line := body[i+1:]
			l.buf = l.buf[:i+1]
			if long {
				line = nil
			}
			return line, nil
		case l.at == l.floor:
			return nil, io.EOF
		case len(l.buf) > maxLine:
			long, l.buf = true, l.buf[len(l.buf)-1:] // the newline is all we need of it
		}
		if err := l.load(); err != nil {
			return nil, err
		}
	}
}
