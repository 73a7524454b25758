package search

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"sync"
	"unicode/utf16"
	"unicode/utf8"
)

const (
	headSize   = 8 << 10   // a NUL in the head marks a binary file
	smallFile  = 128 << 10 // files up to this size are read at once
	windowSize = 1 << 20   // of a larger file
)

// errLarge means that a text cannot be held in memory as a whole.
var errLarge = errors.New("too large to search across lines")

// A source is a text to read from start to end.
type source interface {
	// read fills p, unless the text ends before. end reports that it ended.
	read(p []byte) (n int, end bool, err error)
	// size estimates the number of bytes to read.
	size() int64
}

// A worker searches one text after another.
type worker struct {
	m           *Matcher
	scanner     *scanner
	opener      *opener
	buf         []byte
	largeBuffer *sync.Mutex // held while buf is larger than a window; shared by all workers
}

// A textResult is the result for one text.
type textResult struct {
	matches int
	binary  bool // there is a NUL after the matches
}

func newWorker(m *Matcher) *worker {
	return &worker{m: m, scanner: newScanner(m), largeBuffer: new(sync.Mutex)}
}

// text searches a text until enough lines match. If p is not nil, it collects lines.
func (w *worker) text(ctx context.Context, src source, enough int, p *page) (textResult, error) {
	t := &textSearch{w: w, src: src, enough: enough, page: p}
	defer t.close()
	for {
		if err := ctx.Err(); err != nil {
			return textResult{}, err
		}
		window, err := t.nextWindow()
		if err != nil {
			return textResult{}, err
		}
		if err := t.scan(ctx, window); err != nil {
			return textResult{}, err
		}
		if t.ended {
			t.result.binary = t.result.binary && t.result.matches > 0
			return t.result, nil
		}
		t.buffered = copy(w.buf, w.buf[len(window):t.buffered])
	}
}

// A textSearch is the search of one text by a worker.
type textSearch struct {
	w      *worker
	src    source
	enough int
	page   *page
	result textResult

	buffered    int  // bytes in the buffer
	headChecked bool // the head was checked
	ended       bool // this window is the last
	holdsLarge  bool
}

func (t *textSearch) close() {
	if t.holdsLarge {
		t.w.buf = nil
		t.w.largeBuffer.Unlock()
	}
}

// nextWindow reads the next window. It begins and ends at line boundaries, unless a
// line is longer than the buffer may be.
func (t *textSearch) nextWindow() ([]byte, error) {
	w, whole := t.w, t.w.m.q.Multiline
	for {
		if err := t.grow(); err != nil {
			return nil, err
		}
		until := len(w.buf)
		if !t.headChecked && t.src.size() > smallFile {
			until = headSize
		}
		n, end, err := t.src.read(w.buf[t.buffered:until])
		if err != nil {
			return nil, err
		}
		t.buffered += n
		began := t.headChecked
		if !began && !t.checkHead() {
			t.buffered, t.ended = 0, true
			return nil, nil
		}
		switch {
		case !t.headChecked: // start again with the decoder
		case end:
			t.ended = true
			return w.buf[:t.buffered], nil
		case !began || whole: // more fits
		default:
			if cut := bytes.LastIndexByte(w.buf[:t.buffered], '\n') + 1; cut > 0 {
				return w.buf[:cut], nil
			}
			if t.buffered > wholeFile-utf8.UTFMax {
				return w.buf[:t.buffered], nil
			}
		}
	}
}

// grow makes room in the buffer.
func (t *textSearch) grow() error {
	w, size := t.w, len(t.w.buf)
	switch want := int(min(t.src.size(), windowSize)); {
	case t.buffered == 0 && size < want || size == 0:
		size = max(want, smallFile)
	case size-t.buffered >= utf8.UTFMax:
		return nil
	case size >= wholeFile:
		return errLarge
	default:
		if !t.holdsLarge {
			w.largeBuffer.Lock()
			t.holdsLarge = true
		}
		size = min(4*size, wholeFile)
	}
	buf := make([]byte, size)
	copy(buf, w.buf[:t.buffered])
	w.buf = buf
	return nil
}

// checkHead checks the first bytes of a text. It reports whether to search it.
func (t *textSearch) checkHead() bool {
	head := t.w.buf[:min(t.buffered, headSize)]
	t.headChecked = true
	if decoder := utf16DecoderFor(head, t.src); decoder != nil {
		decoder.raw = bytes.Clone(t.w.buf[:t.buffered])
		t.src, t.buffered, t.headChecked = decoder, 0, false
		return true
	}
	if bytes.IndexByte(head, 0) >= 0 {
		return false
	}
	if mark := []byte("\xEF\xBB\xBF"); bytes.HasPrefix(head, mark) {
		t.buffered = copy(t.w.buf, t.w.buf[len(mark):t.buffered])
	}
	return true
}

// scan processes the matching lines of a window.
func (t *textSearch) scan(ctx context.Context, window []byte) error {
	text, checked := window, false
	if !t.ended {
		text, checked = t.cutAtNUL(text), true
	}
	s := t.w.scanner
	s.reset(text)
	for from, n := 0, 1; ; n++ {
		start, end, ok := s.next(from)
		if ok && !checked {
			text, checked = t.cutAtNUL(text), true
		}
		if !ok || start >= len(text) {
			break
		}
		if t.result.matches++; t.page != nil {
			t.page.addMatch(text, start, end)
		}
		if from = end + 1; t.result.matches >= t.enough {
			t.ended = true
			return nil
		}
		if n%256 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
	}
	if t.page != nil {
		t.page.endWindow(text)
	}
	return nil
}

// cutAtNUL removes the line of the first NUL and everything after it.
func (t *textSearch) cutAtNUL(text []byte) []byte {
	nul := bytes.IndexByte(text, 0)
	if nul < 0 {
		return text
	}
	t.result.binary, t.ended = true, true
	return text[:bytes.LastIndexByte(text[:nul], '\n')+1]
}

// A memorySource is a text in memory.
type memorySource struct {
	text []byte
	at   int
}

func (m *memorySource) size() int64 { return int64(len(m.text)) }

func (m *memorySource) read(p []byte) (n int, end bool, err error) {
	n = copy(p, m.text[m.at:])
	m.at += n
	return n, m.at == len(m.text), nil
}

// A fileSource is the content of a file, up to its size when it was opened.
type fileSource struct {
	handle
	length, at int64
}

func (f *fileSource) size() int64 { return f.length }

func (f *fileSource) read(p []byte) (n int, end bool, err error) {
	p = p[:min(int64(len(p)), f.length-f.at)]
	for n < len(p) {
		got, err := f.readAt(p[n:], f.at)
		if err != nil {
			return n, false, err
		}
		if got == 0 { // the file was truncated
			f.length = f.at
			break
		}
		n += got
		f.at += int64(got)
	}
	return n, f.at == f.length, nil
}

// A utf16Decoder converts UTF-16 to UTF-8.
type utf16Decoder struct {
	src   source
	order binary.ByteOrder
	raw   []byte // read and not yet decoded
	ended bool   // all bytes of src are in raw
	begun bool   // the byte order mark was skipped
}

// utf16DecoderFor returns a decoder if a text begins with a byte order mark of UTF-16,
// otherwise nil.
func utf16DecoderFor(head []byte, src source) *utf16Decoder {
	if _, is := src.(*utf16Decoder); is || len(head) < 2 {
		return nil
	}
	switch {
	case head[0] == 0xFE && head[1] == 0xFF:
		return &utf16Decoder{src: src, order: binary.BigEndian}
	case head[0] == 0xFF && head[1] == 0xFE && (len(head) < 4 || head[2] != 0 || head[3] != 0):
		return &utf16Decoder{src: src, order: binary.LittleEndian}
	}
	return nil
}

func (d *utf16Decoder) size() int64 { return d.src.size()/2*3 + utf8.UTFMax }

func (d *utf16Decoder) read(p []byte) (n int, end bool, err error) {
	if !d.begun {
		d.raw, d.begun = d.raw[2:], true
	}
	for n+utf8.UTFMax <= len(p) {
		if len(d.raw) < 4 && !d.ended {
			if err := d.fill(); err != nil {
				return n, false, err
			}
		}
		if len(d.raw) < 2 {
			return n, true, nil
		}
		r := d.unit()
		if utf16.IsSurrogate(r) {
			r = d.pair(r)
		}
		n += utf8.EncodeRune(p[n:], r)
	}
	return n, false, nil
}

func (d *utf16Decoder) unit() rune {
	u := d.order.Uint16(d.raw)
	d.raw = d.raw[2:]
	return rune(u)
}

// pair reads the second half of a surrogate pair, if there is one.
func (d *utf16Decoder) pair(first rune) rune {
	if len(d.raw) < 2 {
		return utf8.RuneError
	}
	r := utf16.DecodeRune(first, rune(d.order.Uint16(d.raw)))
	if r != utf8.RuneError {
		d.raw = d.raw[2:]
	}
	return r
}

func (d *utf16Decoder) fill() error {
	const chunk = 64 << 10
	next := make([]byte, len(d.raw)+chunk)
	kept := copy(next, d.raw)
	n, end, err := d.src.read(next[kept:])
	d.raw, d.ended = next[:kept+n], end
	return err
}
