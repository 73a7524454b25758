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
	m            *Matcher
	skip, take   int  // matching lines
	budget, used int  // emitBytes of lines
	full         bool // no more came for want of room
	lines        []Line

	offset   int    // in the window: the start of the first line that was not dealt with
	number   int    // of that line
	pending  int    // addLines after a match that are still to come
	previous []Line // the last lines of the window before, as far as not shown
}

// newPage is a page with room for so many bytes; nil when no lines are wanted.
func (m *Matcher) newPage(skip, take, room int) *page {
	if m.q.Mode != Content || room <= 0 {
		return nil
	}
	return &page{m: m, skip: skip, take: take, budget: room, number: 1}
}

// addMatch takes in the next line that matches. The lines of context stop at
// lines that match and are not on this page.
func (p *page) addMatch(window []byte, start, end int) {
	p.addAfter(window, start)
	shown := p.skip <= 0 && p.take > 0 && !p.full
	if shown {
		p.addBefore(window, start)
	}
	p.number += countLines(window[p.offset:start])
	if shown {
		p.add(p.m.showLine(window, start, end, p.number, true))
		p.take--
		p.pending = p.m.q.Context
	} else {
		p.skip--
		p.pending = 0
	}
	p.previous = p.previous[:0]
	p.offset = min(end+1, len(window))
	p.number++
}

// addBefore adds the lines before a match.
func (p *page) addBefore(window []byte, start int) {
	first, missing := start, p.m.q.Context
	for missing > 0 && first > p.offset {
		first = p.offset + bytes.LastIndexByte(window[p.offset:first-1], '\n') + 1
		missing--
	}
	if first == p.offset {
		for _, line := range p.previous[max(0, len(p.previous)-missing):] {
			p.add(line)
		}
	}
	p.number += countLines(window[p.offset:first])
	p.offset = first
	for p.offset < start {
		p.add(p.takeLine(window))
	}
}

// addAfter adds the lines after a match, up to a place in the window.
func (p *page) addAfter(window []byte, until int) {
	for p.pending > 0 && p.offset < until && !p.full {
		p.add(p.takeLine(window))
		p.pending--
	}
}

// endWindow is called at the end of a window.
func (p *page) endWindow(window []byte) {
	p.addAfter(window, len(window))
	dealt := p.offset == len(window) || p.m.q.Context > 0
	first := len(window)
	for range p.m.q.Context {
		if first <= p.offset {
			break
		}
		first = p.offset + bytes.LastIndexByte(window[p.offset:first-1], '\n') + 1
	}
	if first > p.offset {
		p.previous = p.previous[:0]
	}
	p.number += countLines(window[p.offset:first])
	p.offset = first
	for p.offset < len(window) {
		p.previous = append(p.previous, p.takeLine(window))
	}
	if extra := len(p.previous) - p.m.q.Context; extra > 0 {
		p.previous = slices.Delete(p.previous, 0, extra)
	}
	if n := len(window); dealt && n > 0 && window[n-1] != '\n' {
		p.number-- // the line goes on in the next window
	}
	p.offset = 0
}

// formatLine takes the next line of the window.
func (p *page) takeLine(window []byte) Line {
	end := len(window)
	if n := bytes.IndexByte(window[p.offset:], '\n'); n >= 0 {
		end = p.offset + n
	}
	line := p.m.showLine(window, p.offset, end, p.number, false)
	p.offset = min(end+1, len(window))
	p.number++
	return line
}

func (p *page) add(line Line) {
	size := len(line.Text) + lineOverhead
	if p.full = p.full || p.used+size > p.budget; p.full {
		return
	}
	p.used += size
	p.lines = append(p.lines, line)
}

// lineOverhead is what a line takes beside its text.
const lineOverhead = 64

// formatLine is a line to show: cut to a window when it is long.
func (m *Matcher) formatLine(text []byte, number int, match bool) Line {
	if n := len(text); n > 0 && text[n-1] == '\r' {
		text = text[:n-1]
	}
	line := Line{Number: number, Match: match}
	if len(text) <= m.q.MaxLine {
		line.Text = validUTF8(text)
		return line
	}
	begin := 0
	if match {
		if start, end, ok := m.exact.locate(text); ok {
			begin = m.windowStart(text, start, end)
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
	line.Text = validUTF8(text[begin:end])
	line.Cut = len(text) - (end - begin)
	if begin > 0 {
		line.Column = begin + 1
	}
	return line
}

// windowStart is where the window of a long line begins so that it holds the match,
// or the beginning of it, and something before.
func (m *Matcher) windowStart(text []byte, start, end int) int {
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

func validUTF8(text []byte) string { return strings.ToValidUTF8(string(text), "\uFFFD") }

func countLines(text []byte) int { return bytes.Count(text, []byte{'\n'}) }
