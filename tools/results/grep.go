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
	longLine   = 64 << 10  // a search within a longer line can be cancelled
	maxFound   = 256 << 10 // bytes returned by one call
)

// Found is the result of Grep.
type Found struct {
	Lines   []Line // matches and the lines around them, in order, each once
	Matches int    // among them
	Next    int64  // how far Grep searched; Size if it searched everything
	Size    int64  // of the whole result
}

// A Line is a line of a result without its newline, or the part of a long line that matches.
type Line struct {
	Number int // from 1
	Text   string
	Match  bool
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
	item, err := s.Get(ctx, owner, id)
	if err != nil {
		return Found{}, err
	}
	g := &grep{
		re: re, around: min(max(around, 0), maxAround), limit: min(max(limit, 1), maxMatches),
		found: Found{Size: item.Size()},
	}
	err = closeItem(item, g.run(ctx, bufio.NewReaderSize(item, longLine)))
	return g.found, err
}

// A grep is a running search.
type grep struct {
	re            *regexp.Regexp
	around, limit int

	before []Line // the last lines that did not match, as many as around
	after  int    // lines that still belong to the last match
	bytes  int    // in found
	found  Found
}

func (g *grep) run(ctx context.Context, r *bufio.Reader) error {
	for number := 1; g.found.Next < g.found.Size; number++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		text, err := readLine(r)
		if err != nil {
			return err
		}
		line := bytes.TrimSuffix(text, []byte("\n"))
		match, err := g.match(ctx, line)
		if err != nil {
			return err
		}
		if g.found.Matches == g.limit && (match != nil || g.after == 0) || g.bytes > maxFound {
			return nil
		}
		g.found.Next += int64(len(text))
		if match != nil || g.after > 0 || g.around > 0 {
			g.add(Line{number, excerpt(line, match), match != nil})
		}
	}
	return nil
}

// readLine returns the next line with its newline. It is valid until the next call.
func readLine(r *bufio.Reader) ([]byte, error) {
	text, err := r.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		text = bytes.Clone(text)
		var rest []byte
		rest, err = r.ReadBytes('\n')
		text = append(text, rest...)
	}
	if err == io.EOF {
		err = nil
	}
	return text, err
}

// match returns where a line matches, or nil.
func (g *grep) match(ctx context.Context, line []byte) ([]int, error) {
	switch {
	case len(line) > longLine:
		match := g.re.FindReaderIndex(&runeReader{ctx: ctx, r: bytes.NewReader(line)})
		return match, ctx.Err()
	case len(line) > maxShown:
		return g.re.FindIndex(line), nil
	case g.re.Match(line):
		return []int{0, 0}, nil // the whole line is returned, so the position does not matter
	}
	return nil, nil
}

// add adds a line to the result, or remembers it in case one of the next lines matches.
func (g *grep) add(line Line) {
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
}

func (g *grep) append(lines ...Line) {
	for _, l := range lines {
		g.found.Lines = append(g.found.Lines, l)
		g.bytes += len(l.Text)
	}
}

// excerpt returns a whole line, or the part around its match if it is long.
func excerpt(line []byte, match []int) string {
	if len(line) <= maxShown {
		return string(line)
	}
	from := 0
	if match != nil {
		from = runeStart(line, max(min(match[0]-maxShown/4, len(line)-maxShown+utf8.UTFMax), 0))
	}
	return string(line[from:runeStart(line, min(from+maxShown, len(line)))])
}

// A runeReader reads runes until its context ends, so that matching a very long line ends too.
type runeReader struct {
	ctx   context.Context
	r     *bytes.Reader
	count int
}

func (r *runeReader) ReadRune() (rune, int, error) {
	if r.count++; r.count%4096 == 0 && r.ctx.Err() != nil {
		return 0, 0, r.ctx.Err()
	}
	return r.r.ReadRune()
}
