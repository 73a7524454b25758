// Package terminal knows the bytes that programs and terminals exchange: [Cleaner] turns the
// output of a program into the text that a person would have seen, and [Keys] turns the names
// of keys into the bytes that a program reads. It knows no commands and has no screen: the
// output of a program that draws on a screen comes out in the order of drawing.
package terminal

import (
	"bytes"
	"fmt"
	"io"
	"strconv"
	"unicode/utf8"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

const (
	// maxLine is the held part of a line. In a longer line, text that was passed on cannot be
	// overwritten later.
	maxLine = 64 << 10
	// maxSequence is the max length of an escape sequence. Without it a sequence could hide all
	// following output.
	maxSequence = 4096
	passAt      = 32 << 10
	maxForward  = 80
)

// A Cleaner passes on text: without colours and cursor movements, overwritten lines
// only in their last state, in valid UTF-8, and with characters that hide or move
// others written as <U+202E>. NUL ends a line, as it does in lists. It holds the
// current line back until Close.
type Cleaner struct {
	to    io.Writer
	line  []byte
	out   []byte
	held  []byte // the beginning of a character
	seq   []byte // of the escape sequence so far
	state state
	back  bool // the cursor is at the start of line
	err   error
}

type state uint8

const (
	ground  state = iota
	escape        // after ESC
	control       // after ESC [
	text          // after ESC ] and its like, until BEL or ESC \
	textEnd       // after ESC within one
	single        // one more byte belongs to it
)

// NewCleaner returns a Cleaner that passes on to w.
func NewCleaner(w io.Writer) *Cleaner { return &Cleaner{to: w} }

// Write takes all of p. After an error it always fails.
func (c *Cleaner) Write(p []byte) (int, error) {
	n := len(p)
	if len(c.held) > 0 {
		p = append(c.held, p...)
		c.held = nil
	}
	for len(p) > 0 && c.err == nil {
		used := c.step(p)
		if used == 0 {
			c.held = append([]byte(nil), p...)
			break
		}
		p = p[used:]
	}
	c.pass(1)
	return n, c.err
}

// Close passes on the held text. It does not close the writer below.
func (c *Cleaner) Close() error {
	for range c.held {
		c.put([]byte("\uFFFD"))
	}
	c.held, c.out, c.line = nil, append(c.out, c.line...), nil
	c.pass(1)
	return c.err
}

func (c *Cleaner) pass(least int) {
	if len(c.out) < least || c.err != nil {
		return
	}
	_, c.err = c.to.Write(c.out)
	c.out = c.out[:0]
}

// step takes the first few bytes of p, or none when the rest of a character is
// yet to come.
func (c *Cleaner) step(p []byte) int {
	switch c.state {
	case escape:
		return c.begin(p)
	case control:
		return c.control(p)
	case text, textEnd:
		return c.text(p)
	case single:
		c.state = ground
		return 1
	}
	plain, lines := 0, 0
	for ; plain < len(p) && (p[plain] >= ' ' && p[plain] < 0x7F || p[plain] == '\t' || p[plain] == '\n'); plain++ {
		if p[plain] == '\n' {
			lines = plain + 1
		}
	}
	if lines > 0 && !c.back { // whole lines at once
		c.out = append(append(c.out, c.line...), p[:lines]...)
		c.line = c.line[:0]
		c.pass(passAt)
		return lines
	}
	if end := bytes.IndexByte(p[:plain], '\n'); end >= 0 {
		plain = end
	}
	if plain > 0 {
		c.put(p[:plain])
		return plain
	}
	if p[0] >= utf8.RuneSelf {
		return c.rune(p)
	}
	c.command(p[0])
	return 1
}

func (c *Cleaner) put(s []byte) {
	if c.back {
		c.line, c.back = c.line[:0], false
	}
	c.line = append(c.line, s...)
	if len(c.line) > maxLine {
		c.out, c.line = append(c.out, c.line...), c.line[:0]
		c.pass(passAt)
	}
}

func (c *Cleaner) newline() {
	c.out = append(append(c.out, c.line...), '\n')
	c.line, c.back = c.line[:0], false
	c.pass(passAt)
}

func (c *Cleaner) rune(p []byte) int {
	if !utf8.FullRune(p) {
		return 0
	}
	r, size := utf8.DecodeRune(p)
	switch {
	case r == utf8.RuneError && size == 1:
		c.put([]byte("\uFFFD"))
	case !tool.Hidden(r):
		c.put(p[:size])
	case r == '\u2028' || r == '\u2029' || r == '\u0085':
		c.newline()
	case r == '\u00A0' || r == '\u202F' || r >= '\u2000' && r <= '\u200A' || r == '\u3000':
		c.put([]byte{' '})
	case r == '\u200D' || r >= '\uFE00' && r <= '\uFE0F' || r < 0xA0: // they shape pictures, or are controls
	default:
		c.put(fmt.Appendf(nil, "<U+%04X>", r))
	}
	return size
}

func (c *Cleaner) command(b byte) {
	switch b {
	case '\n', 0:
		c.newline()
	case '\r':
		c.back = true
	case '\b':
		if _, size := utf8.DecodeLastRune(c.line); !c.back {
			c.line = c.line[:len(c.line)-size]
		}
	case 0x1B:
		c.state, c.seq = escape, c.seq[:0]
	}
}

func (c *Cleaner) begin(p []byte) int {
	switch b := p[0]; b {
	case '[':
		c.state = control
	case ']', 'P', '_', '^', 'X':
		c.state = text
	case '(', ')', '*', '+', '-', '.', '/', '#', '%', ' ':
		c.state = single
	default:
		c.state = ground
		if b < ' ' || b >= 0x7F {
			return c.step(p)
		}
	}
	return 1
}

// control takes a byte of a sequence such as ESC [ 2 K.
func (c *Cleaner) control(p []byte) int {
	b := p[0]
	switch {
	case b >= ' ' && b < '@' && len(c.seq) < maxSequence:
		c.seq = append(c.seq, b)
		return 1
	case b < ' ' || b > '~' || len(c.seq) == maxSequence: // none after all
		c.state = ground
		return c.step(p)
	}
	c.state = ground
	n, err := strconv.Atoi(string(c.seq))
	if err != nil {
		n = 0
	}
	switch {
	case b == 'K' && n == 2:
		c.line = c.line[:0]
	case b == 'G' && n <= 1:
		c.back = true
	case b == 'H' && len(c.line) > 0: // something is drawn elsewhere
		c.newline()
	case b == 'C':
		for range min(max(n, 1), maxForward) {
			c.put([]byte{' '})
		}
	}
	return 1
}

// text takes a byte of a sequence such as a title. It is not shown.
func (c *Cleaner) text(p []byte) int {
	b := p[0]
	c.seq = append(c.seq, b)
	switch {
	case b == '\n', len(c.seq) > maxSequence: // it was not meant to be one
		c.state = ground
		return c.step(p)
	case b == 7, c.state == textEnd:
		c.state = ground
	case b == 0x1B:
		c.state = textEnd
	}
	return 1
}
