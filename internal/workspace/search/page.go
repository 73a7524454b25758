package search

import (
	"bytes"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/mcp-tools/mcp-tools/scrub"
)

// A page collects the lines to show of one text: matching lines on the page, and their
// context. It receives the text as consecutive windows.
type page struct {
	m            *Matcher
	veil         *veil // of the window
	skip, take   int   // matching lines still to skip and to add
	budget, used int   // bytes of lines
	full         bool  // the budget is used up
	lines        []Line

	inLine   int    // bytes of the first line of the window in former windows
	offset   int    // start of the first line in the window that was not processed
	number   int    // of that line
	pending  int    // lines of context after a match still to add
	previous []Line // the last lines of the previous window that were not added
}

// newPage returns a page with a budget in bytes, or nil if no lines are wanted.
func (m *Matcher) newPage(skip, take, room int) *page {
	if m.q.Mode != Content || room <= 0 {
		return nil
	}
	return &page{m: m, skip: skip, take: take, budget: room, number: 1}
}

// addMatch adds the next matching line. Context lines end at a matching line that is
// not on this page.
func (p *page) addMatch(window []byte, start, end int) {
	p.addAfter(window, start)
	shown := p.skip <= 0 && p.take > 0 && !p.full
	if shown {
		p.addBefore(window, start)
	}
	p.number += countLines(window[p.offset:start])
	if shown {
		p.add(p.showLine(window, start, end, p.number, true))
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

// addBefore adds the context before a match.
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

// addAfter adds the context after a match, up to an offset in the window.
func (p *page) addAfter(window []byte, until int) {
	for p.pending > 0 && p.offset < until && !p.full {
		p.add(p.takeLine(window))
		p.pending--
	}
}

// endWindow is called at the end of a window. If more follow, it keeps lines that may
// be context of a match in the next window.
func (p *page) endWindow(window []byte, more bool) {
	p.addAfter(window, len(window))
	if !more {
		return
	}
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
		p.number-- // the line continues in the next window
	}
	p.offset = 0
}

// takeLine returns the next line of the window.
func (p *page) takeLine(window []byte) Line {
	end := len(window)
	if n := bytes.IndexByte(window[p.offset:], '\n'); n >= 0 {
		end = p.offset + n
	}
	line := p.showLine(window, p.offset, end, p.number, false)
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

// lineOverhead is the memory of a line without its text, in bytes.
const lineOverhead = 64

// formatLine returns a line to show. A long line is cut to a window.
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

// windowStart returns where the window of a long line begins, so that it contains the
// match, or the start of it, and some text before it.
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

// showLine returns a line of a window without its secrets. The secrets are found with the text
// around the line.
func (p *page) showLine(window []byte, start, end, number int, match bool) Line {
	text := window[start:end]
	if secrets, at := p.veil.at(window, start, end); secrets.Touch(at+start, at+end) {
		text = []byte(secrets.Show(at+start, at+end))
	}
	line := p.m.formatLine(text, number, match)
	if start == 0 && p.inLine > 0 {
		line.Column, line.Cut = max(line.Column, 1)+p.inLine, line.Cut+p.inLine
	}
	return line
}
