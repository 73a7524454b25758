package search

import (
	"bytes"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/mcp-tools/mcp-tools/scrub"
)

// A page collects lines to show of one text: some of those that match, and
// what is around them. The text comes in windows, one after the other.
type page struct {
	m          *Matcher
	skip, take int  // matching lines
	room, used int  // bytes of lines
	full       bool // no more came for want of room
	lines      []Line

	at     int    // in the window: the start of the first line that was not dealt with
	number int    // of that line
	owed   int    // lines after a match that are still to come
	recent []Line // the last lines of the window before, as far as not shown
}

// pageOf is a page with room for so many bytes; nil when no lines are wanted.
func (m *Matcher) pageOf(skip, take, room int) *page {
	if m.q.Mode != Content || room <= 0 {
		return nil
	}
	return &page{m: m, skip: skip, take: take, room: room, number: 1}
}

// match takes in the next line that matches. The lines of context stop at
// lines that match and are not on this page.
func (p *page) match(window []byte, start, end int) {
	p.settle(window, start)
	shown := p.skip <= 0 && p.take > 0 && !p.full
	if shown {
		p.lead(window, start)
	}
	p.number += count(window[p.at:start])
	if shown {
		p.add(p.m.lineAt(window, start, end, p.number, true))
		p.take--
		p.owed = p.m.q.Context
	} else {
		p.skip--
		p.owed = 0
	}
	p.recent = p.recent[:0]
	p.at = min(end+1, len(window))
	p.number++
}

// lead adds the lines before a match.
func (p *page) lead(window []byte, start int) {
	first, missing := start, p.m.q.Context
	for missing > 0 && first > p.at {
		first = p.at + bytes.LastIndexByte(window[p.at:first-1], '\n') + 1
		missing--
	}
	if first == p.at {
		for _, line := range p.recent[max(0, len(p.recent)-missing):] {
			p.add(line)
		}
	}
	p.number += count(window[p.at:first])
	p.at = first
	for p.at < start {
		p.add(p.line(window))
	}
}

// settle adds the lines after a match, up to a place in the window.
func (p *page) settle(window []byte, until int) {
	for p.owed > 0 && p.at < until && !p.full {
		p.add(p.line(window))
		p.owed--
	}
}

// pass is called at the end of a window.
func (p *page) pass(window []byte) {
	p.settle(window, len(window))
	dealt := p.at == len(window) || p.m.q.Context > 0
	first := len(window)
	for range p.m.q.Context {
		if first <= p.at {
			break
		}
		first = p.at + bytes.LastIndexByte(window[p.at:first-1], '\n') + 1
	}
	if first > p.at {
		p.recent = p.recent[:0]
	}
	p.number += count(window[p.at:first])
	p.at = first
	for p.at < len(window) {
		p.recent = append(p.recent, p.line(window))
	}
	if extra := len(p.recent) - p.m.q.Context; extra > 0 {
		p.recent = slices.Delete(p.recent, 0, extra)
	}
	if n := len(window); dealt && n > 0 && window[n-1] != '\n' {
		p.number-- // the line goes on in the next window
	}
	p.at = 0
}

// line takes the next line of the window.
func (p *page) line(window []byte) Line {
	end := len(window)
	if n := bytes.IndexByte(window[p.at:], '\n'); n >= 0 {
		end = p.at + n
	}
	line := p.m.lineAt(window, p.at, end, p.number, false)
	p.at = min(end+1, len(window))
	p.number++
	return line
}

func (p *page) add(line Line) {
	size := len(line.Text) + lineSize
	if p.full = p.full || p.used+size > p.room; p.full {
		return
	}
	p.used += size
	p.lines = append(p.lines, line)
}

// lineSize is what a line takes beside its text.
const lineSize = 64

// line is a line to show: cut to a window when it is long.
func (m *Matcher) line(text []byte, number int, match bool) Line {
	if n := len(text); n > 0 && text[n-1] == '\r' {
		text = text[:n-1]
	}
	line := Line{Number: number, Match: match}
	if len(text) <= m.q.MaxLine {
		line.Text = valid(text)
		return line
	}
	begin := 0
	if match {
		if start, end, ok := m.exact.locate(text); ok {
			begin = m.begin(text, start, end)
		}
	}
	if inKey(text, begin) {
		line.Text, line.Cut = scrub.Mask, len(text)
		return line
	}
	end := min(begin+m.q.MaxLine, len(text))
	for end > begin && end < len(text) && !utf8.RuneStart(text[end]) && begin+m.q.MaxLine-end < utf8.UTFMax {
		end--
	}
	begin, end = scrub.WordStart(text, begin), scrub.WordEnd(text, end)
	line.Text = valid(text[begin:end])
	line.Cut = len(text) - (end - begin)
	if begin > 0 {
		line.Column = begin + 1
	}
	return line
}

// begin is where the window of a long line begins so that it holds the match,
// or the beginning of it, and something before.
func (m *Matcher) begin(text []byte, start, end int) int {
	lead := m.q.MaxLine / 3
	if end-start < m.q.MaxLine {
		lead = min(lead, (m.q.MaxLine-(end-start))/2)
	} else {
		lead = 0
	}
	if start+lead <= m.q.MaxLine && end <= m.q.MaxLine {
		return 0
	}
	begin := max(0, min(start-lead, len(text)-m.q.MaxLine))
	for n := 0; n < utf8.UTFMax && begin < start && !utf8.RuneStart(text[begin]); n++ {
		begin++
	}
	return begin
}

func valid(text []byte) string { return strings.ToValidUTF8(string(text), "\uFFFD") }

func count(text []byte) int { return bytes.Count(text, []byte{'\n'}) }
