package scrub

import (
	"errors"
	"io"
	"strings"
	"unsafe"
)

const (
	maxHeld = 80 << 10     // the most that a Writer holds back: more than the longest private key
	maxKept = 2 * lookBack // written text that it keeps for finders to look back
)

// A Writer scrubs a stream. Its output is the output of Text for the whole input. It holds back
// text that may become part of a secret: usually nothing after white space, never more than 80
// KiB. A longer secret stays masked as long as its characters are of the same class. A Writer
// is used by one goroutine at a time.
type Writer struct {
	to    io.Writer
	by    *Scrubber
	buf   []byte // written text kept as context, then held text
	start int    // where the held text begins
	done  int    // the end of the last secret in buf
	wait  int    // search again when buf has this length
	tail  class  // the class of a secret that is too long to hold
	err   error
}

// NewWriter returns a Writer that writes to w. Close writes the rest.
func (s *Scrubber) NewWriter(w io.Writer) *Writer { return &Writer{to: w, by: s} }

// Write takes all of b, or fails permanently.
func (w *Writer) Write(b []byte) (int, error) {
	if w.err != nil {
		return 0, w.err
	}
	n := len(b)
	for len(b) > 0 && w.err == nil {
		piece := b[:min(len(b), maxHeld)]
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

// Close writes the held text. It does not close the underlying writer.
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

// rest returns b without the continuation of a secret that was too long to hold.
func (w *Writer) rest(b []byte) []byte {
	for i, c := range b {
		if w.tail == 0 || !w.tail.has(c) {
			w.tail = 0
			return b[i:]
		}
	}
	return nil
}

// pass writes the text that is decided.
func (w *Writer) pass(more bool) {
	p := w.by.program()
	s := unsafe.String(unsafe.SliceData(w.buf), len(w.buf)) // without a copy: nothing keeps s
	spans, open := p.search(s, w.start, w.done, more)
	if more && open < len(s)-maxHeld {
		if spans, open = p.search(s, w.start, w.done, false); len(spans) > 0 && spans[len(spans)-1].to == len(s) {
			w.tail = spans[len(spans)-1].tail
		}
	}
	w.by.learn(s, spans)
	out := p.render(s[:open], w.start, spans)
	if _, err := io.WriteString(w.to, out); err != nil && out != "" {
		w.err = err
		return
	}
	keep := max(0, open-maxKept)
	w.buf = append(w.buf[:0], s[keep:]...)
	w.start = open - keep
	if len(spans) > 0 {
		w.done = spans[len(spans)-1].to
	}
	w.done = max(0, w.done-keep)
	w.wait = len(w.buf) + (len(s)-open)/4
}

// search returns the spans of s from start on, and the end of the certain ones. The last span
// before start ends at done.
func (p *program) search(s string, start, done int, more bool) ([]span, int) {
	t := p.textPool.Get().(*text)
	*t = text{s: s, more: more, floor: start, done: done}
	spans, open := p.scan(t, nil)
	*t = text{}
	p.textPool.Put(t)
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

// wholeLines moves open back to the start of a line that no span crosses, because
// the operator's rules see whole lines.
func wholeLines(s string, start, open int, spans []span) int {
	open = strings.LastIndexByte(s[:open], '\n') + 1
	for i := len(spans) - 1; i >= 0; i-- {
		if spans[i].from < open && spans[i].to > open {
			open = strings.LastIndexByte(s[:spans[i].from], '\n') + 1
		}
	}
	return max(start, open)
}
