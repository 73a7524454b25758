package textfile

import (
	"bytes"
	"context"
	"io"
	"math"
	"strings"
	"unicode/utf8"

	"github.com/mcp-tools/mcp-tools/scrub"
)

// A Query selects lines of a text.
type Query struct {
	Encoding string // one of [Encodings]; "" is UTF-8
	From     int    // first line, from 1; -1 is the last line, -2 the one before it
	Lines    int    // maximum number of lines
	Bytes    int    // maximum number of bytes in UTF-8, with line endings
	Line     int    // maximum number of bytes of one line; the rest is cut off
	Extra    int    // additional bytes to count for each line
	// Count is the size up to which a text is read to its end or beginning to count its lines.
	Count int64
}

// Unlimited is a Query.Count without a limit.
const Unlimited = math.MaxInt64

// A Window is a range of lines of a text.
type Window struct {
	Lines []Line
	// Total is the number of lines of the text, -1 if they were not counted.
	Total int
	End   bool // no lines follow
	// Damaged has bytes that are invalid in a text that should be UTF-8.
	Damaged []byte
}

// A Line is one line of a text.
type Line struct {
	Number int    // from 1; negative, counted from the end, if the lines before were not counted
	Text   string // in UTF-8, without its ending
	Ending string // "\n", "\r\n" or, at the end of the text, ""
	Cut    int64  // about how many bytes are missing at the end of Text
}

// Read reads lines in the first size bytes of r. It holds little more in memory than the lines that it returns.
func Read(ctx context.Context, r io.ReaderAt, size int64, q Query) (Window, error) {
	s, err := newScan(ctx, r, size, q.Encoding)
	if err != nil {
		return Window{}, err
	}
	c := &collector{scan: s, query: q, number: 1, from: max(q.From, 1)}
	c.query.Line = min(q.Line, q.Bytes) &^ 1 // even, for UTF-16
	start := s.begin
	if q.From < 0 {
		if start, err = s.back(-max(q.From, -math.MaxInt32)); err != nil {
			return Window{}, err
		}
		if c.number, err = c.numberAt(start); err != nil {
			return Window{}, err
		}
		c.from = c.number
	}
	w := Window{Total: -1}
	if err := s.each(start, size, c.take); err != nil {
		return Window{}, err
	}
	if s.at >= size {
		c.finish()
		w.End = !c.full
		if c.number > 0 {
			w.Total = c.number - 1
		}
	}
	w.Lines, w.Damaged = c.lines, c.damaged
	return w, nil
}

// A collector receives a text piece by piece and keeps the wanted lines.
type collector struct {
	scan   *scan
	query  Query
	number int  // of the current line
	from   int  // first line to keep
	full   bool // there is no room for the current or the next line

	raw     []byte // of the current line
	cut     int64  // number of bytes missing in raw
	last    [2]byte
	open    bool // a part of the current line was read
	used    int  // of query.Bytes
	lines   []Line
	damaged []byte
}

// numberAt returns the number of the line that begins at start, counted from the end if the beginning is too far.
func (c *collector) numberAt(start int64) (int, error) {
	if c.scan.size > c.query.Count {
		n, err := c.scan.count(start, c.scan.size)
		return -n, err
	}
	n, err := c.scan.count(c.scan.begin, start)
	return n + 1, err
}

// take processes the next piece of the text and reports whether it needs more.
func (c *collector) take(piece []byte) bool {
	s := c.scan
	for len(piece) > 0 {
		if c.full {
			c.number += s.newlines(piece)
			c.open = !s.endsLine(piece)
			return s.size <= c.query.Count
		}
		if c.number < c.from {
			n := s.newlines(piece)
			if c.number+n < c.from {
				c.number += n
				c.open = !s.endsLine(piece)
				return true
			}
			for c.number < c.from {
				piece = piece[s.newline(piece)+s.unit:]
				c.number++
			}
			c.open = false
			continue
		}
		i := s.newline(piece)
		if i < 0 {
			c.keep(piece)
			return true
		}
		c.keep(piece[:i])
		c.line("\n")
		piece = piece[i+s.unit:]
	}
	return !c.full || s.size <= c.query.Count
}

// keep adds a part to the current line.
func (c *collector) keep(part []byte) {
	c.open = true
	if len(part) == 0 {
		return
	}
	n := min(len(part), c.query.Line-len(c.raw))
	if c.cut > 0 {
		n = 0
	}
	c.raw = append(c.raw, part[:n]...)
	c.cut += int64(len(part) - n)
	if unit := c.scan.unit; len(part) >= unit {
		copy(c.last[:], part[len(part)-unit:])
	}
}

// line ends the current line.
func (c *collector) line(ending string) {
	s := c.scan
	length := int64(len(c.raw)) + c.cut
	if ending != "" && length >= int64(s.unit) && bytes.Equal(c.last[:s.unit], s.cr) {
		ending = "\r\n"
		if c.cut > 0 {
			c.cut = max(c.cut-int64(s.unit), 0)
		} else {
			c.raw = c.raw[:len(c.raw)-s.unit]
		}
	}
	if c.cut > 0 {
		whole := whole(c.raw, s.encoding)
		c.cut += int64(len(c.raw) - whole)
		c.raw = c.raw[:whole]
	}
	if c.damaged == nil && (s.encoding == UTF8 || s.encoding == UTF8BOM) && !utf8.Valid(c.raw) {
		c.damaged = bytes.Clone(c.raw)
	}
	l := Line{Number: c.number, Text: decode(c.raw, s.encoding), Ending: ending, Cut: c.cut}
	if l.Cut > 0 {
		l.cutTo(len(l.Text))
	}
	c.add(l)
	c.number++
	c.raw, c.cut, c.open = c.raw[:0], 0, false
}

// add keeps a line if there is room for it. It shortens the first line to fit.
func (c *collector) add(l Line) {
	cost := len(l.Text) + len(l.Ending) + c.query.Extra
	if c.used+cost > c.query.Bytes {
		c.full = true
		if len(c.lines) > 0 {
			return
		}
		room := max(c.query.Bytes-len(l.Ending)-c.query.Extra, 0)
		if room < len(l.Text) {
			for room > 0 && !utf8.RuneStart(l.Text[room]) {
				room--
			}
			l.cutTo(room)
			l.Text = strings.Clone(l.Text)
		}
	}
	c.used += cost
	c.lines = append(c.lines, l)
	c.full = c.full || len(c.lines) >= c.query.Lines
}

// cutTo shortens a line to n bytes or fewer, at the beginning of a word unless that would remove most of it.
func (l *Line) cutTo(n int) {
	if start := scrub.WordStart(l.Text[:n], n); start > n/2 {
		n = start
	}
	l.Cut += int64(len(l.Text) - n)
	l.Text = l.Text[:n]
}

// finish ends the text.
func (c *collector) finish() {
	switch {
	case !c.open:
		c.full = c.full && c.unshown()
	case c.full || c.number < c.from:
		c.number++
	default:
		c.line("")
		c.full = c.full && c.unshown()
	}
}

// unshown reports whether lines follow those that were kept.
func (c *collector) unshown() bool {
	return len(c.lines) == 0 || c.lines[len(c.lines)-1].Number != c.number-1
}

// whole returns the length of the complete characters at the beginning of data.
func whole(data []byte, encoding string) int {
	n := len(data)
	switch encoding {
	case Latin1, Windows1252:
	case UTF16LE, UTF16BE:
		n &^= 1
		high := 1
		if encoding == UTF16BE {
			high = 2
		}
		if n >= 2 && data[n-high]&0xFC == 0xD8 {
			n -= 2
		}
	case GBK, GB18030:
		for i := 0; i < n; {
			next := i + max(lengthGB(data[i:]), 1)
			if next > n {
				return i
			}
			i = next
		}
	default:
		for i := n - 1; i >= max(n-utf8.UTFMax, 0); i-- {
			if utf8.RuneStart(data[i]) {
				if !utf8.FullRune(data[i:]) {
					n = i
				}
				break
			}
		}
	}
	return n
}
