package search

import (
	"bytes"
	"context"
	"errors"
	"sync"
	"unicode/utf8"
)

const (
	headSize   = 8 << 10   // where a NUL says that a file is no text
	smallFile  = 128 << 10 // read whole before its head is looked at
	windowSize = 1 << 20   // of a larger file
)

// errLarge says that a text does not fit where it must be held whole.
var errLarge = errors.New("too large to search across lines")

// A source is a text to be read from front to back.
type source interface {
	// read fills p unless the text ends before; end says that it does.
	read(p []byte) (n int, end bool, err error)
	// size is about how much there is to read.
	size() int64
}

// A worker searches one text after the other.
type worker struct {
	m       *Matcher
	scanner *scanner
	opener  *opener
	buf     []byte
	large   *sync.Mutex // held while buf is larger than a window, by one worker of all
}

// result is what is known of one text.
type result struct {
	matches int
	binary  bool // a NUL is behind the matches
}

func newWorker(m *Matcher) *worker {
	return &worker{m: m, scanner: newScanner(m), large: new(sync.Mutex)}
}

// text searches a text until enough lines match. p, when not nil, collects lines.
func (w *worker) text(ctx context.Context, src source, enough int, p *page) (result, error) {
	t := &reading{w: w, src: src, enough: enough, page: p}
	defer t.close()
	for {
		if err := ctx.Err(); err != nil {
			return result{}, err
		}
		window, err := t.window()
		if err != nil {
			return result{}, err
		}
		if err := t.scan(ctx, window); err != nil {
			return result{}, err
		}
		if t.ended {
			t.got.binary = t.got.binary && t.got.matches > 0
			return t.got, nil
		}
		t.have = copy(w.buf, w.buf[len(window):t.have])
	}
}

// A reading is one text on its way through a worker.
type reading struct {
	w      *worker
	src    source
	enough int
	page   *page
	got    result

	have   int  // bytes in the buffer
	began  bool // the head was looked at
	ended  bool // nothing comes after this window
	locked bool
}

func (t *reading) close() {
	if t.locked {
		t.w.buf = nil
		t.w.large.Unlock()
	}
}

// window reads on. What it returns begins and ends where a line does, unless
// a line is longer than all that may be held.
func (t *reading) window() ([]byte, error) {
	w, whole := t.w, t.w.m.q.Multiline
	for {
		if err := t.grow(); err != nil {
			return nil, err
		}
		until := len(w.buf)
		if !t.began && t.src.size() > smallFile {
			until = headSize
		}
		n, end, err := t.src.read(w.buf[t.have:until])
		if err != nil {
			return nil, err
		}
		t.have += n
		began := t.began
		if !began && !t.begin() {
			t.have, t.ended = 0, true
			return nil, nil
		}
		switch {
		case !t.began: // anew, decoded
		case end:
			t.ended = true
			return w.buf[:t.have], nil
		case !began || whole: // more fits
		default:
			if cut := bytes.LastIndexByte(w.buf[:t.have], '\n') + 1; cut > 0 {
				return w.buf[:cut], nil
			}
			if t.have > wholeFile-utf8.UTFMax {
				return w.buf[:t.have], nil
			}
		}
	}
}

// grow makes room in the buffer.
func (t *reading) grow() error {
	w, size := t.w, len(t.w.buf)
	switch want := int(min(t.src.size(), windowSize)); {
	case t.have == 0 && size < want || size == 0:
		size = max(want, smallFile)
	case size-t.have >= utf8.UTFMax:
		return nil
	case size >= wholeFile:
		return errLarge
	default:
		if !t.locked {
			w.large.Lock()
			t.locked = true
		}
		size = min(4*size, wholeFile)
	}
	buf := make([]byte, size)
	copy(buf, w.buf[:t.have])
	w.buf = buf
	return nil
}

// begin looks at the head of a text. It reports whether it is worth searching.
func (t *reading) begin() bool {
	head := t.w.buf[:min(t.have, headSize)]
	t.began = true
	if decoder := decoderOf(head, t.src); decoder != nil {
		decoder.raw = bytes.Clone(t.w.buf[:t.have])
		t.src, t.have, t.began = decoder, 0, false
		return true
	}
	if bytes.IndexByte(head, 0) >= 0 {
		return false
	}
	if mark := []byte("\xEF\xBB\xBF"); bytes.HasPrefix(head, mark) {
		t.have = copy(t.w.buf, t.w.buf[len(mark):t.have])
	}
	return true
}

// scan goes through the lines of a window that match.
func (t *reading) scan(ctx context.Context, window []byte) error {
	text, checked := window, false
	if !t.ended {
		text, checked = t.cut(text), true
	}
	s := t.w.scanner
	s.reset(text)
	for from, n := 0, 1; ; n++ {
		start, end, ok := s.next(from)
		if ok && !checked {
			text, checked = t.cut(text), true
		}
		if !ok || start >= len(text) {
			break
		}
		if t.got.matches++; t.page != nil {
			t.page.match(text, start, end)
		}
		if from = end + 1; t.got.matches >= t.enough {
			t.ended = true
			return nil
		}
		if n%256 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
	}
	if t.page != nil {
		t.page.pass(text)
	}
	return nil
}

// cut leaves out the line of the first NUL and what is behind it.
func (t *reading) cut(text []byte) []byte {
	nul := bytes.IndexByte(text, 0)
	if nul < 0 {
		return text
	}
	t.got.binary, t.ended = true, true
	return text[:bytes.LastIndexByte(text[:nul], '\n')+1]
}
