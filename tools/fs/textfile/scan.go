package textfile

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
)

// chunk is how much of a text is in memory at a time. It is even, so that no unit of UTF-16 is split.
const chunk = 64 << 10

// A scan reads a text and finds where its lines end.
type scan struct {
	ctx      context.Context
	r        io.ReaderAt
	size     int64
	begin    int64 // of the first line, after the byte order mark
	at       int64 // how far each has read
	encoding string
	unit     int // bytes of one unit of the encoding
	lf, cr   []byte
	buf      []byte
}

func newScan(ctx context.Context, r io.ReaderAt, size int64, encoding string) (*scan, error) {
	name, err := Name(encoding)
	if err != nil {
		return nil, err
	}
	s := &scan{ctx: ctx, r: r, size: size, encoding: name, unit: 1, lf: []byte("\n"), cr: []byte("\r")}
	switch name {
	case UTF16LE:
		s.unit, s.lf, s.cr = 2, []byte("\n\x00"), []byte("\r\x00")
	case UTF16BE:
		s.unit, s.lf, s.cr = 2, []byte("\x00\n"), []byte("\x00\r")
	case "":
		s.encoding = UTF8
	}
	s.buf = make([]byte, min(size, chunk))
	mark := markOf(s.encoding)
	if s.encoding == UTF8 {
		mark = markOf(UTF8BOM)
	}
	if mark != nil {
		head, err := s.read(0, int64(len(mark)))
		if err != nil {
			return nil, err
		}
		if bytes.Equal(head, mark) {
			s.begin = int64(len(mark))
		}
	}
	return s, nil
}

// read reads from one offset to another, or to the end.
func (s *scan) read(from, to int64) ([]byte, error) {
	if err := s.ctx.Err(); err != nil {
		return nil, err
	}
	want := min(to, s.size) - from
	if want <= 0 {
		return nil, nil
	}
	n, err := s.r.ReadAt(s.buf[:want], from)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("reading text: %w", err)
	}
	return s.buf[:n], nil
}

// each calls f with the text from one offset to another, piece by piece, until f returns false. If the text has become
// shorter it ends early.
func (s *scan) each(from, to int64, f func([]byte) bool) error {
	for s.at = from; s.at < to; {
		piece, err := s.read(s.at, min(s.at+chunk, to))
		if err != nil {
			return err
		}
		if len(piece) == 0 {
			s.at = s.size
			return nil
		}
		if s.unit == 2 && len(piece) > 1 {
			piece = piece[:len(piece)&^1]
		}
		s.at += int64(len(piece))
		if !f(piece) {
			return nil
		}
	}
	return nil
}

// count counts the lines between two offsets.
func (s *scan) count(from, to int64) (int, error) {
	n, open := 0, false
	err := s.each(from, to, func(piece []byte) bool {
		n += s.newlines(piece)
		open = !s.endsLine(piece)
		return true
	})
	if open {
		n++
	}
	return n, err
}

// back returns the offset of the n-th line from the end, or of the first line.
func (s *scan) back(n int) (int64, error) {
	first := true
	for end := s.size; end > s.begin; {
		// Even, so that it is the beginning of a unit.
		from := max((end-1)/chunk*chunk, s.begin)
		piece, err := s.read(from, end)
		if err != nil {
			return 0, err
		}
		if first && s.endsLine(piece) {
			n++ // no line follows the last ending
		}
		first = false
		if found := s.newlines(piece); found < n {
			n -= found
			end = from
			continue
		}
		for ; n > 1; n-- {
			piece = piece[:s.lastNewline(piece)]
		}
		return from + int64(s.lastNewline(piece)+s.unit), nil
	}
	return s.begin, nil
}

// newlines counts the newlines in piece.
func (s *scan) newlines(piece []byte) int {
	if s.unit == 1 {
		return bytes.Count(piece, s.lf)
	}
	n := 0
	for i := s.newline(piece); i >= 0; i = s.newline(piece) {
		n++
		piece = piece[i+2:]
	}
	return n
}

// newline returns where the first newline in piece begins, or -1.
func (s *scan) newline(piece []byte) int {
	if s.unit == 1 {
		return bytes.IndexByte(piece, '\n')
	}
	for from := 0; ; {
		i := bytes.Index(piece[from:], s.lf)
		switch at := from + i; {
		case i < 0:
			return -1
		case at&1 == 0:
			return at
		}
		from += i + 1 // it was the end of one unit and the beginning of the next
	}
}

// lastNewline returns where the last newline in piece begins, or -1.
func (s *scan) lastNewline(piece []byte) int {
	if s.unit == 1 {
		return bytes.LastIndexByte(piece, '\n')
	}
	for to := len(piece); ; {
		i := bytes.LastIndex(piece[:to], s.lf)
		if i < 0 || i&1 == 0 {
			return i
		}
		to = i + 1
	}
}

func (s *scan) endsLine(piece []byte) bool {
	return len(piece)&(s.unit-1) == 0 && bytes.HasSuffix(piece, s.lf)
}
