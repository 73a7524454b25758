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
	// instCount is about how much there is to read.
	size() int64
}

// A worker searches one text after the other.
type worker struct {
	m           *Matcher
	scanner     *scanner
	opener      *opener
	buf         []byte
	largeBuffer *sync.Mutex // held while buf is larger than a window, by one worker of all
}

// textResult is what is known of one text.
type textResult struct {
	matches int
	binary  bool // a NUL is behind the matches
}

func newWorker(m *Matcher) *worker {
	return &worker{m: m, scanner: newScanner(m), largeBuffer: new(sync.Mutex)}
}

// text searches a text until enough lines match. p, when not nil, collects lines.
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

// A textSearch is one text on its way through a worker.
type textSearch struct {
	w      *worker
	src    source
	enough int
	page   *page
	result textResult

	buffered    int  // emitBytes in the buffer
	headChecked bool // the head was looked at
	ended       bool // nothing comes after this window
	holdsLarge  bool
}

func (t *textSearch) close() {
	if t.holdsLarge {
		t.w.buf = nil
		t.w.largeBuffer.Unlock()
	}
}

// nextWindow reads on. What it returns begins and ends where a line does, unless
// a line is longer than all that may be held.
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
		case !t.headChecked: // anew, decoded
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

// windowStart looks at the head of a text. It reports whether it is worth searching.
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

// scan goes through the lines of a window that match.
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

// cutAtNUL leaves out the line of the first NUL and what is behind it.
func (t *textSearch) cutAtNUL(text []byte) []byte {
	nul := bytes.IndexByte(text, 0)
	if nul < 0 {
		return text
	}
	t.result.binary, t.ended = true, true
	return text[:bytes.LastIndexByte(text[:nul], '\n')+1]
}
