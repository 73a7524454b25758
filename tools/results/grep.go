package results

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"unicode/utf8"
)

// ErrPattern is the error about an invalid pattern; it is wrapped with the reason.
var ErrPattern = errors.New("invalid pattern")

const (
	maxPattern = 1000      // characters
	maxAround  = 20        // lines of context on each side
	maxMatches = 1000      // returned by one call
	maxShown   = 1000      // bytes of a line that are returned
	longLine   = 64 << 10  // longer lines are not held in memory
	maxFound   = 256 << 10 // bytes returned by one call
)

// Found is the result of Grep.
type Found struct {
	Lines   []Line // matches and the lines around them, in order, each once
	Matches int    // among them
	Next    int64  // how far Grep searched; Size if it searched everything
	Size    int64  // of the whole result
}

// A Line is a line of a result, without its newline.
type Line struct {
	Number int   // from 1
	Offset int64 // of Text
	Text   string
	Match  bool
	Cut    bool // Text is a part of the line, of a match the part that matches
}

// Grep returns the first limit lines that match the RE2 pattern, each with around lines before and after it. Numbers
// out of range mean the nearest valid one. The time is linear in the size of the result; ctx ends the search also
// inside a long line.
func (s *Store) Grep(ctx context.Context, owner, id, pattern string, around, limit int) (Found, error) {
	if n := utf8.RuneCountInString(pattern); n > maxPattern {
		return Found{}, fmt.Errorf("%w: it has %d characters, the maximum is %d", ErrPattern, n, maxPattern)
	}
	re, err := regexp.Compile(pattern)
	if err != nil {
		return Found{}, fmt.Errorf("%w: %w", ErrPattern, err)
	}
	item, err := s.Get(owner, id)
	if err != nil {
		return Found{}, err
	}
	g := &grep{
		re: re, item: item, around: min(max(around, 0), maxAround), limit: min(max(limit, 1), maxMatches),
		found: Found{Size: item.Size()},
	}
	err = closeItem(item, g.run(ctx))
	return g.found, err
}

// A grep is a running search.
type grep struct {
	re            *regexp.Regexp
	item          *Item
	around, limit int

	before []Line // the last lines that did not match, as many as around
	after  int    // lines that still belong to the last match
	bytes  int    // in found
	found  Found
}

func (g *grep) run(ctx context.Context) error {
	r := bufio.NewReaderSize(g.item, longLine)
	for number := 1; g.found.Next < g.found.Size; number++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		l, err := g.line(ctx, r)
		if err != nil {
			return err
		}
		enough := g.found.Matches == g.limit && (l.match != nil || g.after == 0)
		if enough || g.bytes > maxFound {
			return nil
		}
		l.number, g.found.Next = number, l.next
		if err := g.add(l); err != nil {
			return err
		}
	}
	return nil
}

// add adds l to the result, or remembers it in case one of the next lines matches.
func (g *grep) add(l rawLine) error {
	if l.match == nil && g.after == 0 && g.around == 0 {
		return nil
	}
	line, err := g.excerpt(l)
	if err != nil {
		return err
	}
	switch {
	case line.Match:
		g.append(g.before...)
		g.append(line)
		g.before = g.before[:0]
		g.found.Matches++
		g.after = g.around
	case g.after > 0:
		g.append(line)
		g.after--
	default:
		if len(g.before) == g.around {
			g.before = append(g.before[:0], g.before[1:]...)
		}
		g.before = append(g.before, line)
	}
	return nil
}

func (g *grep) append(lines ...Line) {
	for _, l := range lines {
		g.found.Lines = append(g.found.Lines, l)
		g.bytes += len(l.Text)
	}
}

// A rawLine is a line of the file.
type rawLine struct {
	number     int
	start, end int64  // without the newline
	next       int64  // after the newline
	text       []byte // nil if it is too long to hold in memory
	match      []int  // positions from start; nil for no match
}

// line reads the line at g.found.Next and matches it.
func (g *grep) line(ctx context.Context, r *bufio.Reader) (rawLine, error) {
	l := rawLine{start: g.found.Next}
	text, err := r.ReadSlice('\n')
	l.next = l.start + int64(len(text))
	long := false
	for errors.Is(err, bufio.ErrBufferFull) { // skip to the end of the line
		long = true
		text, err = r.ReadSlice('\n')
		l.next += int64(len(text))
	}
	if err != nil && err != io.EOF {
		return l, err
	}
	body := bytes.TrimSuffix(text, []byte("\n"))
	l.end = l.next - int64(len(text)-len(body))
	if long {
		return g.matchLong(ctx, l)
	}
	l.text = body
	if len(l.text) > maxShown {
		l.match = g.re.FindIndex(l.text)
	} else if g.re.Match(l.text) {
		l.match = []int{0, 0} // the whole line is returned, so the position does not matter
	}
	return l, nil
}

// matchLong matches a line that is not held in memory.
func (g *grep) matchLong(ctx context.Context, l rawLine) (rawLine, error) {
	runes := &runeReader{ctx: ctx, r: bufio.NewReader(io.NewSectionReader(g.item, l.start, l.end-l.start))}
	l.match = g.re.FindReaderIndex(runes)
	return l, ctx.Err()
}

// excerpt returns the whole of l, or the part around its match if it is long.
func (g *grep) excerpt(l rawLine) (Line, error) {
	line := Line{Number: l.number, Offset: l.start, Match: l.match != nil}
	if l.end-l.start <= maxShown {
		line.Text = string(l.text)
		return line, nil
	}
	offset := l.start
	if line.Match {
		last := l.end - maxShown + utf8.UTFMax // the page may begin up to a rune earlier
		offset = max(offset, min(l.start+int64(l.match[0])-maxShown/4, last))
	}
	p, err := page(g.item, offset, maxShown)
	if err != nil {
		return Line{}, err
	}
	line.Offset, line.Text, line.Cut = p.Offset, p.Text[:min(int64(len(p.Text)), l.end-p.Offset)], true
	return line, nil
}

// A runeReader reads runes until its context ends, so that matching a very long line ends too.
type runeReader struct {
	ctx   context.Context
	r     *bufio.Reader
	count int
}

func (r *runeReader) ReadRune() (rune, int, error) {
	if r.count++; r.count%4096 == 0 && r.ctx.Err() != nil {
		return 0, 0, r.ctx.Err()
	}
	return r.r.ReadRune()
}
