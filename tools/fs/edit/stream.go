package edit

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// MaxWhole is the maximum size of a text for [Apply]. Larger ones are for [Stream].
const MaxWhole = 16 << 20

// Stream makes one edit in a text that is too large for memory, and returns a reader of the new text. It finds only
// exact matches. The Outcome has no Content and no Spans, and its Diff shows the first replacement. Errors are written
// for the model, except those of r.
func Stream(ctx context.Context, r io.ReaderAt, size int64, e Edit) (io.Reader, Outcome, error) {
	switch {
	case e.At != "":
		return nil, Outcome{}, tool.Errorf(tool.Invalid, "at works in files of up to %d MB", MaxWhole>>20).
			Try("send old_string instead")
	case e.Old == "":
		return nil, Outcome{}, emptyOld()
	case e.Old == e.New:
		return nil, Outcome{}, identical()
	}
	s := scan{r: r, size: size, old: []byte(e.Old), all: e.All}
	if err := s.run(ctx); err != nil {
		return nil, Outcome{}, err
	}
	switch n := len(s.hits); {
	case n == 0:
		return nil, Outcome{}, tool.Errorf(tool.Invalid, "old_string is not in the file").
			Try("in files of more than %d MB only exact text is found: read the lines and copy them", MaxWhole>>20)
	case n == maxPlaces:
		return nil, Outcome{}, tooMany()
	case n > 1 && !e.All:
		lines := make([]int, min(maxLinesInError, n))
		for i := range lines {
			lines[i] = s.hits[i].line
		}
		return nil, Outcome{}, severalLines(lines, n, "")
	}
	shown, err := s.around(e)
	if err != nil {
		return nil, Outcome{}, err
	}
	first := shown.spans[0]
	content := s.replaced(shown.after[first.From:first.To])
	return content, Outcome{Encoding: "utf-8", Replaced: len(s.hits), shown: shown}, nil
}

// A scan searches a long text for old.
type scan struct {
	r    io.ReaderAt
	size int64
	old  []byte
	all  bool // matches do not overlap
	hits []hit
}

type hit struct {
	at   int64
	line int // from 1
}

func (s *scan) run(ctx context.Context) error {
	buffer := make([]byte, max(1<<20, 2*len(s.old)))
	var start, next int64 // position of the buffer, and where the next match may begin
	kept, line := 0, 1    // bytes kept from the last buffer; number of the line at start
	for start+int64(kept) < s.size {
		if err := ctx.Err(); err != nil {
			return err
		}
		n := int(min(int64(len(buffer)-kept), s.size-start-int64(kept)))
		if err := readFull(s.r, buffer[kept:kept+n], start+int64(kept)); err != nil {
			return err
		}
		window := buffer[:kept+n]
		counted := 0
		for len(s.hits) < maxPlaces {
			from := int(max(next-start, 0))
			i := bytes.Index(window[min(from, len(window)):], s.old)
			if i < 0 {
				break
			}
			line += bytes.Count(window[counted:from+i], []byte{'\n'})
			counted = from + i
			s.hits = append(s.hits, hit{start + int64(counted), line})
			next = start + int64(counted) + 1
			if s.all {
				next += int64(len(s.old)) - 1
			}
		}
		kept = min(len(s.old)-1, len(window))
		passed := len(window) - kept
		line += bytes.Count(window[min(counted, passed):passed], []byte{'\n'})
		copy(buffer, window[passed:])
		start += int64(passed)
	}
	return nil
}

// readFull fills b. It fails if the text has become shorter.
func readFull(r io.ReaderAt, b []byte, at int64) error {
	n, err := r.ReadAt(b, at)
	if n == len(b) {
		return nil
	}
	if err == nil || errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return fmt.Errorf("reading for an edit: %w", err)
}

// around returns the first match with some text around it, before and after the edit.
func (s *scan) around(e Edit) (passage, error) {
	const margin = 4 << 10
	first := s.hits[0]
	from := max(0, first.at-margin)
	to := min(s.size, first.at+int64(len(s.old))+margin)
	b := make([]byte, to-from)
	if err := readFull(s.r, b, from); err != nil {
		return passage{}, err
	}
	at := int(first.at - from)
	b, at = wholeLines(b, at, len(s.old), from > 0, to < s.size)
	d := draft{text: string(b)}
	m := match{start: at, end: at + len(s.old)}
	new := d.exactly(e, m)
	after := d.text[:m.start] + new + d.text[m.end:]
	span := Span{m.start, m.end, m.start, m.start + len(new)}
	line := first.line - 1 - strings.Count(d.text[:at], "\n")
	return passage{before: d.text, after: after, line: line, spans: []Span{span}}, nil
}

// wholeLines removes incomplete lines at the beginning and the end of b, but none of the n bytes at position at.
func wholeLines(b []byte, at, n int, cutBefore, cutAfter bool) ([]byte, int) {
	if i := bytes.IndexByte(b[:at], '\n'); cutBefore && i >= 0 {
		b, at = b[i+1:], at-i-1
	}
	if !cutAfter {
		return b, at
	}
	if i := bytes.LastIndexByte(b[at+n:], '\n'); i >= 0 {
		return b[:at+n+i+1], at
	}
	return append(b, '\n'), at
}

// replaced returns the whole text with new in place of all matches.
func (s *scan) replaced(new string) io.Reader {
	parts := make([]io.Reader, 0, 2*len(s.hits)+1)
	var done int64
	for _, h := range s.hits {
		parts = append(parts, io.NewSectionReader(s.r, done, h.at-done), strings.NewReader(new))
		done = h.at + int64(len(s.old))
	}
	return io.MultiReader(append(parts, io.NewSectionReader(s.r, done, s.size-done))...)
}
