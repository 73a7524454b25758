package textfile

import (
	"bytes"
	"context"
	"errors"
	"fmt"
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
	Around   int    // bytes of text to return before the first and after the last line
	// Count is the maximum size of a text whose lines are all counted.
	Count int64
}

// Unlimited is a Query.Count without a limit.
const Unlimited = math.MaxInt64

// ErrTooLarge means that a text in UTF-16 is too large to be decoded.
var ErrTooLarge = errors.New("too large to be decoded from UTF-16")

const (
	chunk      = 64 << 10 // how much of a text is read at a time
	maxDecoded = 64 << 20 // bytes of a text in UTF-16
)

// A Window is a range of lines of a text.
type Window struct {
	Lines []Line
	// Total is the number of lines of the text, -1 if they were not counted.
	Total int
	End   bool // no lines follow
	// Before and After are the text around the lines, of at most Query.Around bytes. Both may begin or end within a line.
	Before, After string
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

// Read reads lines in the first size bytes of r. It holds little more in memory than the returned lines, except for
// UTF-16: it decodes UTF-16 as a whole.
func Read(ctx context.Context, r io.ReaderAt, size int64, q Query) (Window, error) {
	name, err := Name(q.Encoding)
	if err != nil {
		return Window{}, err
	}
	if name == UTF16LE || name == UTF16BE {
		if size > maxDecoded {
			return Window{}, ErrTooLarge
		}
		data := make([]byte, size)
		n, err := r.ReadAt(data, 0)
		if err != nil && !errors.Is(err, io.EOF) {
			return Window{}, fmt.Errorf("reading text: %w", err)
		}
		text := decode(bytes.TrimPrefix(data[:n], markOf(name)), name)
		r, size, name = strings.NewReader(text), int64(len(text)), UTF8
	}
	c := &collector{
		ctx: ctx, r: r, size: size, buf: make([]byte, min(size, chunk)), encoding: name, query: q, first: -1,
	}
	c.query.Line = min(q.Line, q.Bytes)
	if mark := markOf(UTF8BOM); name == "" || name == UTF8 || name == UTF8BOM {
		head, err := c.read(0, int64(len(mark)))
		if err != nil {
			return Window{}, err
		}
		if bytes.Equal(head, mark) {
			c.begin = int64(len(mark))
		}
	}
	return c.window()
}

// A collector reads a text piece by piece and keeps the wanted lines.
type collector struct {
	ctx      context.Context
	r        io.ReaderAt
	size     int64
	begin    int64 // of the first line, after the byte order mark
	buf      []byte
	encoding string
	query    Query

	number  int  // of the current line
	from    int  // first line to keep
	full    bool // there is no room for the current or the next line
	raw     []byte
	cut     int64 // number of bytes missing in raw, the current line
	last    byte  // of the current line
	open    bool  // a part of the current line was read
	used    int   // of query.Bytes
	lines   []Line
	damaged []byte

	at, first, after int64 // offsets: of the end of the current piece, of the first line, after the last line
}

func (c *collector) window() (Window, error) {
	start := c.begin
	c.number, c.from = 1, max(c.query.From, 1)
	if c.query.From < 0 {
		var err error
		if start, c.number, err = c.fromEnd(-max(c.query.From, -math.MaxInt32)); err != nil {
			return Window{}, err
		}
		c.from = c.number
	}
	at := start
	for at < c.size && (!c.full || c.size <= c.query.Count) {
		piece, err := c.read(at, at+chunk)
		if err != nil {
			return Window{}, err
		}
		if len(piece) == 0 { // it has become shorter
			c.size = at
			break
		}
		at += int64(len(piece))
		c.at = at
		c.take(piece)
	}
	w := Window{Total: -1}
	if at >= c.size {
		c.finish()
		w.End = !c.full
		if c.number > 0 {
			w.Total = c.number - 1
		}
	}
	w.Lines, w.Damaged = c.lines, c.damaged
	return w, c.around(&w)
}

// around reads the text around the lines.
func (c *collector) around(w *Window) error {
	if c.query.Around == 0 || len(c.lines) == 0 {
		return nil
	}
	before, err := c.read(max(c.begin, c.first-int64(c.query.Around)), c.first)
	if err != nil {
		return err
	}
	w.Before = decode(before, c.encoding)
	after, err := c.read(c.after, c.after+int64(c.query.Around))
	if err != nil {
		return err
	}
	w.After = decode(after, c.encoding)
	return nil
}

// read reads from one offset to another, or to the end.
func (c *collector) read(from, to int64) ([]byte, error) {
	if err := c.ctx.Err(); err != nil {
		return nil, err
	}
	want := min(to, c.size) - from
	if want <= 0 {
		return nil, nil
	}
	n, err := c.r.ReadAt(c.buf[:want], from)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("reading text: %w", err)
	}
	return c.buf[:n], nil
}

// fromEnd returns where the n-th line from the end begins, or the first, and its number. It counts from the end if the
// beginning is too far.
func (c *collector) fromEnd(n int) (start int64, number int, err error) {
	start = c.begin
	for end := c.size; end > c.begin && start == c.begin; {
		from := max(end-chunk, c.begin)
		piece, err := c.read(from, end)
		if err != nil {
			return 0, 0, err
		}
		if end == c.size && bytes.HasSuffix(piece, []byte("\n")) {
			n++ // no line follows the last ending
		}
		for end = from; n > 0; n-- {
			i := bytes.LastIndexByte(piece, '\n')
			if i < 0 {
				break
			}
			piece, start = piece[:i], from+int64(i)+1
		}
		if n > 0 {
			start = c.begin
		}
	}
	from, to := c.begin, start
	if c.size > c.query.Count {
		from, to = start, c.size
	}
	last := byte('\n')
	for at := from; at < to; {
		piece, err := c.read(at, min(at+chunk, to))
		if err != nil || len(piece) == 0 {
			return start, 1, err
		}
		at, last = at+int64(len(piece)), piece[len(piece)-1]
		number += bytes.Count(piece, []byte("\n"))
	}
	if last != '\n' {
		number++
	}
	if c.size > c.query.Count {
		return start, -number, nil
	}
	return start, number + 1, nil
}

// take processes the next piece of the text.
func (c *collector) take(piece []byte) {
	for len(piece) > 0 {
		n := 0
		if c.full || c.number < c.from {
			n = bytes.Count(piece, []byte("\n"))
		}
		if c.full || c.number+n < c.from {
			c.number += n
			c.open = piece[len(piece)-1] != '\n'
			return
		}
		for c.number < c.from {
			piece = piece[bytes.IndexByte(piece, '\n')+1:]
			c.number++
			c.open = false
		}
		if c.first < 0 {
			c.first = c.at - int64(len(piece))
		}
		i := bytes.IndexByte(piece, '\n')
		if i < 0 {
			c.keep(piece)
			return
		}
		c.keep(piece[:i])
		n = len(c.lines)
		c.line("\n")
		if piece = piece[i+1:]; len(c.lines) > n {
			c.after = c.at - int64(len(piece))
		}
	}
}

// keep adds a part to the current line.
func (c *collector) keep(part []byte) {
	if len(part) == 0 {
		return
	}
	n := min(len(part), c.query.Line-len(c.raw))
	if c.cut > 0 {
		n = 0
	}
	c.raw = append(c.raw, part[:n]...)
	c.cut += int64(len(part) - n)
	c.last, c.open = part[len(part)-1], true
}

// line ends the current line.
func (c *collector) line(ending string) {
	if ending != "" && c.last == '\r' {
		ending = "\r\n"
		if c.cut > 0 {
			c.cut--
		} else {
			c.raw = c.raw[:len(c.raw)-1]
		}
	}
	utf := isUTF(c.encoding)
	if c.cut > 0 && utf { // remove a part of a character
		n := len(c.raw)
		for i := n - 1; i >= max(n-utf8.UTFMax, 0); i-- {
			if utf8.RuneStart(c.raw[i]) {
				if !utf8.FullRune(c.raw[i:]) {
					n = i
				}
				break
			}
		}
		c.cut += int64(len(c.raw) - n)
		c.raw = c.raw[:n]
	}
	if c.damaged == nil && utf && !utf8.Valid(c.raw) {
		c.damaged = bytes.Clone(c.raw)
	}
	l := Line{Number: c.number, Text: decode(c.raw, c.encoding), Ending: ending, Cut: c.cut}
	if l.Cut > 0 {
		l.cutTo(len(l.Text))
	}
	c.add(l)
	c.number++
	c.raw, c.cut, c.open, c.last = c.raw[:0], 0, false, 0
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

// finish ends the text. Then full means that lines follow the kept lines.
func (c *collector) finish() {
	if c.open && (c.full || c.number < c.from) {
		c.number++
		return
	}
	if c.open {
		n := len(c.lines)
		if c.line(""); len(c.lines) > n {
			c.after = c.size
		}
	}
	c.full = c.full && (len(c.lines) == 0 || c.lines[len(c.lines)-1].Number != c.number-1)
}
