package search

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"unicode/utf8"

	"golang.org/x/text/encoding/unicode"

	"github.com/mcp-tools/mcp-tools/scrub"
)

const (
	headSize   = 8 << 10   // a NUL in the head marks a binary file
	smallFile  = 128 << 10 // files up to this size are read at once
	windowSize = 1 << 20   // of a larger file
)

// errLarge means that a text cannot be held in memory as a whole.
var errLarge = &UnreadError{Why: fmt.Sprintf("is larger than the %d MB for multiline: search it without multiline", wholeFile>>20)}

// A source is a text to read from start to end.
type source struct {
	io.Reader
	size    int64 // about the number of bytes to read
	decoded bool
}

func memorySource(text []byte) source { return source{bytes.NewReader(text), int64(len(text)), false} }

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
	matches  int
	binary   bool // there is a NUL after the matches
	document bool // the text of a document was searched
}

func newWorker(m *Matcher) *worker {
	return &worker{m: m, scanner: newScanner(m), largeBuffer: new(sync.Mutex)}
}

// text searches a text until enough lines match. If p is not nil, it collects lines.
func (w *worker) text(ctx context.Context, src source, enough int, p *page) (textResult, error) {
	t := &textSearch{w: w, src: src, enough: enough, page: p}
	w.scanner.veil.by = w.m.q.Secrets
	if p != nil {
		p.veil = &w.scanner.veil
	}
	var last []byte // of the window before
	defer t.close()
	for {
		if err := ctx.Err(); err != nil {
			return textResult{}, err
		}
		window, err := t.nextWindow()
		if err != nil {
			return textResult{}, err
		}
		w.scanner.veil.next(last, window)
		if err := t.scan(ctx, window); err != nil {
			return textResult{}, err
		}
		if len(window) > 0 && window[len(window)-1] == '\n' {
			t.inLine, t.lineMatched = 0, false
		} else {
			t.inLine += len(window)
		}
		if t.ended {
			t.result.binary = t.result.binary && t.result.matches > 0
			return t.result, nil
		}
		last = append(last[:0], window[max(0, len(window)-scrub.LongestKey):]...)
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
	inLine      int  // bytes of the first line of the window in former windows
	lineMatched bool // they match
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
		if !t.headChecked && t.src.size > smallFile {
			until = headSize
		}
		n, err := io.ReadFull(t.src, w.buf[t.buffered:until])
		end := errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
		if err != nil && !end {
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
	switch want := int(min(t.src.size, windowSize)); {
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
	if isUTF16(head) && !t.src.decoded {
		all := io.MultiReader(bytes.NewReader(bytes.Clone(t.w.buf[:t.buffered])), t.src.Reader)
		decoder := unicode.UTF16(unicode.LittleEndian, unicode.ExpectBOM).NewDecoder() // it goes by the mark
		t.src = source{decoder.Reader(all), t.src.size/2*3 + utf8.UTFMax, true}
		t.buffered, t.headChecked = 0, false
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
	if t.page != nil {
		t.page.inLine = t.inLine
	}
	for from, n := 0, 1; ; n++ {
		start, end, ok := s.next(from)
		if ok && !checked {
			text, checked = t.cutAtNUL(text), true
		}
		if !ok || start >= len(text) {
			break
		}
		from = end + 1
		if start == 0 && t.lineMatched || !s.visible(start, end) {
			continue
		}
		t.lineMatched = t.lineMatched || end == len(window)
		if t.result.matches++; t.page != nil {
			t.page.addMatch(text, start, end)
		}
		if t.result.matches >= t.enough {
			t.ended = true
			return nil
		}
		if n%256 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
	}
	if t.page != nil {
		t.page.endWindow(text, !t.ended)
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

// isUTF16 reports whether a text begins with a byte order mark of UTF-16.
func isUTF16(head []byte) bool {
	return bytes.HasPrefix(head, []byte("\xFE\xFF")) ||
		bytes.HasPrefix(head, []byte("\xFF\xFE")) && !bytes.HasPrefix(head, []byte("\xFF\xFE\x00\x00")) // UTF-32
}
