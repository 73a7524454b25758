package tables

import (
	"bufio"
	"bytes"
	"io"
	"strings"
)

// Bounds of one row. A quoted value that is longer than a row may be has probably lost its
// second quote.
const (
	maxLine     = 1 << 20 // bytes; the rest is dropped
	maxQuoted   = 256 << 10
	maxLines    = 500 // of a quoted value
	maxUnquoted = 5   // rows with an open quote; then all quotes are plain characters
)

// records reads rows one at a time and in bounded memory. It accepts common errors of programs:
// quotes within values, and quotes without end.
type records struct {
	r       *bufio.Reader
	comma   byte
	waiting []string // lines that were read ahead
	broken  int      // rows with an open quote
	isCut   bool     // a line was too long
}

// next returns the values of the next row. At the end it returns io.EOF.
func (r *records) next() ([]string, error) {
	line, err := r.line()
	if err != nil {
		return nil, err
	}
	row, isOpen := split(line, r.comma, r.broken < maxUnquoted)
	text := line
	var ahead []string
	for isOpen && len(text) < maxQuoted && len(ahead) < maxLines {
		more, err := r.line()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, err
		}
		ahead = append(ahead, more)
		if text += "\n" + more; strings.IndexByte(more, '"') >= 0 {
			row, isOpen = split(text, r.comma, true)
		}
	}
	if isOpen {
		r.broken++
		r.waiting = append(ahead, r.waiting...)
		row, _ = split(line, r.comma, false)
	}
	return row, nil
}

// line returns the next line without its end.
func (r *records) line() (string, error) {
	if len(r.waiting) > 0 {
		line := r.waiting[0]
		r.waiting = r.waiting[1:]
		return line, nil
	}
	var all []byte
	for {
		part, err := r.r.ReadSlice('\n')
		if len(all)+len(part) > maxLine {
			part, r.isCut = part[:max(maxLine-len(all), 0)], true
		}
		all = append(all, part...)
		switch {
		case err == bufio.ErrBufferFull:
			continue
		case err == io.EOF && len(all) > 0, err == nil:
			return string(bytes.TrimRight(all, "\r\n")), nil
		}
		return "", err
	}
}

// split returns the values of a row, and whether it ends within quotes.
func split(text string, comma byte, quotes bool) (row []string, isOpen bool) {
	for len(row) < maxColumns {
		if quotes && strings.HasPrefix(text, `"`) {
			value, rest, closed := quoted(text[1:], comma)
			row = append(row, value)
			if !closed {
				return row, true
			}
			if rest == "" {
				return row, false
			}
			text = rest[1:]
			continue
		}
		value, rest, more := strings.Cut(text, string(comma))
		row = append(row, value)
		if !more {
			return row, false
		}
		text = rest
	}
	return row, false
}

// quoted returns a value up to its closing quote, and the text after it. A quote that neither a
// separator nor the end follows is part of the value.
func quoted(text string, comma byte) (value, rest string, closed bool) {
	var b strings.Builder
	for {
		i := strings.IndexByte(text, '"')
		if i < 0 {
			b.WriteString(text)
			return b.String(), "", false
		}
		b.WriteString(text[:i])
		switch text = text[i+1:]; {
		case text == "" || text[0] == comma:
			return b.String(), text, true
		case text[0] == '"':
			text = text[1:]
			fallthrough
		default:
			b.WriteByte('"')
		}
	}
}
