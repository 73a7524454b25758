package markdown

import (
	"strings"
)

// kind is the kind of a block.
type kind uint8

const (
	paragraph kind = iota
	heading
	code   // fenced or indented
	item   // of a list, with all that is in it
	quote  // with all that is in it
	table  // with its head
	html   // and comments
	rule   // a thematic break
	matter // front matter
)

// block is some lines that belong together. It neither begins nor ends with a
// blank line.
type block struct {
	kind       kind
	level      int    // of a heading, 1 to 6
	title      string // of a heading, with its Markdown
	lang       string // of code
	from, to   int    // lines
	start, end int    // bytes
}

func (b block) size() int { return b.end - b.start }

// scanner finds the blocks of a normal text, one after the other.
type scanner struct{ reader }

func scan(text string) *scanner { return &scanner{read(text, 0, 1)} }

// take makes the line the last of the block.
func (s *scanner) take(b *block) {
	b.to, b.end = s.no, s.end()
	s.step()
}

// block returns the next block, and false at the end.
func (s *scanner) block() (block, bool) {
	for !s.over && blank(s.line) {
		s.step()
	}
	if s.over {
		return block{}, false
	}
	b := block{from: s.no, start: s.at}
	line, flat := shallow(s.line)
	f, fenced := openFence(line)
	markup := openHTML(line)
	switch {
	case s.no == 1 && s.matter(&b):
	case !flat:
		s.indented(&b)
	case fenced:
		s.fenced(&b, f)
	case line[0] == '#' && s.hashHeading(&b, line):
	case isRule(line):
		b.kind = rule
		s.take(&b)
	case markup != nil:
		s.html(&b, markup)
	case line[0] == '>':
		s.quote(&b)
	case isItem(line):
		s.item(&b, line)
	default:
		s.prose(&b)
	}
	return b, true
}

// matter takes front matter, if the text begins with some.
func (s *scanner) matter(b *block) bool {
	last := closeOfMatter(s.text)
	if last == 0 {
		return false
	}
	b.kind = matter
	for range last {
		s.take(b)
	}
	return true
}

func (s *scanner) hashHeading(b *block, line string) bool {
	level, title, ok := hashHeading(line)
	if ok {
		b.kind, b.level, b.title = heading, level, title
		s.take(b)
	}
	return ok
}

func (s *scanner) indented(b *block) {
	b.kind = code
	for !s.over {
		if columns, _ := indent(s.line); blank(s.line) {
			s.step()
		} else if columns >= 4 {
			s.take(b)
		} else {
			return
		}
	}
}

// fenced takes a code block to its closing fence; without one, all the rest.
func (s *scanner) fenced(b *block, f fence) {
	b.kind, b.lang = code, f.lang
	s.take(b)
	for !s.over {
		line, flat := shallow(s.line)
		if blank(line) {
			s.step()
			continue
		}
		s.take(b)
		if flat && f.closes(line) {
			return
		}
	}
}

func (s *scanner) html(b *block, m *markup) {
	b.kind = html
	for !s.over {
		if blank(s.line) {
			if m.closes == nil {
				return
			}
			s.step()
			continue
		}
		ends := m.ends(s.line)
		s.take(b)
		if ends {
			return
		}
	}
}

// quote takes lines with > before them, and those that go on with the
// paragraph of such a line without one.
func (s *scanner) quote(b *block) {
	b.kind = quote
	lazy := false
	for !s.over && !blank(s.line) {
		line, flat := shallow(s.line)
		if flat && line[0] == '>' {
			text := inner(line)
			_, fenced := openFence(text)
			_, _, headed := hashHeading(text)
			lazy = text != "" && !fenced && !headed
		} else if !lazy || interrupts(s.line) {
			return
		}
		s.take(b)
	}
}

// prose takes a table, or a paragraph to where it ends, which may be the line
// that makes a heading of it.
func (s *scanner) prose(b *block) {
	if s.atTable() {
		b.kind = table
		s.take(b)
		s.take(b)
		for !s.over && !blank(s.line) && !interrupts(s.line) {
			s.take(b)
		}
		return
	}
	// A paragraph longer than that is one with a rule beneath it.
	const longestHeading = 400
	s.take(b)
	for !s.over && !blank(s.line) {
		if level := underline(s.line); level > 0 && b.size() <= longestHeading {
			b.kind, b.level, b.title = heading, level, strings.TrimSpace(s.text[b.start:b.end])
			s.take(b)
			return
		}
		if interrupts(s.line) || s.atTable() {
			return
		}
		s.take(b)
	}
}

func (s *scanner) atTable() bool {
	return strings.IndexByte(s.line, '|') >= 0 && isDelimiter(s.next())
}
