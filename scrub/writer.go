package scrub

import (
	"errors"
	"io"
	"strings"
	"unsafe"
)

const (
	holdMost = 80 << 10    // what a Writer keeps back at most: more than the longest private key
	keepMost = 2 * context // what it keeps of what it has written, for finders to look back
)

// A Writer scrubs a stream. What is written in pieces comes out as Text would
// have made it of the whole. It keeps back what may yet turn out to be part of
// a secret: nothing behind a blank or the end of a line as a rule, never more
// than 80 KiB. A secret that is longer goes on being hidden for as long as it
// looks the same. A Writer is used by one goroutine at a time.
type Writer struct {
	to    io.Writer
	by    *Scrubber
	buf   []byte // what was written and is kept to look back at, then what is held
	start int    // where the latter begins
	done  int    // where in buf the last secret ends
	wait  int    // look again when buf is this long
	tail  class  // a secret too long to hold goes on with these
	total int    // secrets hidden
	err   error
}

// NewWriter is a Writer that passes on to w. Close writes the rest.
func (s *Scrubber) NewWriter(w io.Writer) *Writer { return &Writer{to: w, by: s} }

// Hidden is how many secrets were hidden so far.
func (w *Writer) Hidden() int { return w.total }

// Write takes all of b, or fails for good.
func (w *Writer) Write(b []byte) (int, error) {
	if w.err != nil {
		return 0, w.err
	}
	n := len(b)
	for len(b) > 0 && w.err == nil {
		piece := b[:min(len(b), holdMost)]
		b = b[len(piece):]
		w.buf = append(w.buf, w.rest(piece)...)
		if len(w.buf) >= w.wait {
			w.pass(true)
		}
	}
	if w.err != nil {
		return 0, w.err
	}
	return n, nil
}

// Close writes what was held. It does not close the writer below.
func (w *Writer) Close() error {
	if w.err != nil {
		if errors.Is(w.err, io.ErrClosedPipe) {
			return nil
		}
		return w.err
	}
	w.pass(false)
	if w.err != nil {
		return w.err
	}
	w.err = io.ErrClosedPipe
	return nil
}

// rest is what of b does not go on with a secret that was too long to hold.
func (w *Writer) rest(b []byte) []byte {
	for i, c := range b {
		if w.tail == 0 || !w.tail.has(c) {
			w.tail = 0
			return b[i:]
		}
	}
	return nil
}

// pass writes what is decided.
func (w *Writer) pass(more bool) {
	p := w.by.program()
	s := unsafe.String(unsafe.SliceData(w.buf), len(w.buf)) // a copy would be most of the garbage; nothing keeps s
	spans, open := p.search(s, w.start, w.done, more)
	if more && open < len(s)-holdMost {
		if spans, open = p.search(s, w.start, w.done, false); len(spans) > 0 && spans[len(spans)-1].to == len(s) {
			w.tail = spans[len(spans)-1].tail
		}
	}
	out := p.render(s[:open], w.start, spans)
	if _, err := io.WriteString(w.to, out); err != nil && out != "" {
		w.err = err
		return
	}
	w.total += len(spans)
	keep := max(0, open-keepMost)
	w.buf = append(w.buf[:0], s[keep:]...)
	w.start = open - keep
	if len(spans) > 0 {
		w.done = spans[len(spans)-1].to
	}
	w.done = max(0, w.done-keep)
	w.wait = len(w.buf) + (len(s)-open)/4
}

// search is the spans of s from start on, and where they end to be certain.
// The last span before ends at done.
func (p *program) search(s string, start, done int, more bool) ([]span, int) {
	t := p.texts.Get().(*text)
	*t = text{s: s, more: more, floor: start, done: done}
	spans, open := p.scan(t, nil)
	*t = text{}
	p.texts.Put(t)
	if len(p.extra) == 0 {
		return spans, open
	}
	if more {
		open = wholeLines(s, start, open, spans)
	}
	for len(spans) > 0 && spans[len(spans)-1].from >= open {
		spans = spans[:len(spans)-1]
	}
	return merge(spans, p.rules(s[:open], start)), open
}

// wholeLines moves open back to the start of a line that no span crosses: the
// operator's rules see whole lines.
func wholeLines(s string, start, open int, spans []span) int {
	open = strings.LastIndexByte(s[:open], '\n') + 1
	for i := len(spans) - 1; i >= 0; i-- {
		if spans[i].from < open && spans[i].to > open {
			open = strings.LastIndexByte(s[:spans[i].from], '\n') + 1
		}
	}
	return max(start, open)
}
