package markdown

import (
	"strings"
	"unicode/utf8"
)

// Heading is one heading of a text.
type Heading struct {
	Level int    // 1 to 6
	Title string // as plain text; long ones are cut
	Line  int    // where it is, counting from 1
	End   int    // the last line of its section, which has smaller headings in it
}

// Outline lists the headings of a text in their order. What looks like one in
// code, comments, lists and quotes does not count.
func Outline(text string) []Heading {
	var all []Heading
	var open []int // the sections that the text is in
	last := 0
	leave := func(level int) {
		for len(open) > 0 && all[open[len(open)-1]].Level >= level {
			all[open[len(open)-1]].End = last
			open = open[:len(open)-1]
		}
	}
	s := scan(normal(text))
	for b, ok := s.block(); ok; b, ok = s.block() {
		if b.kind == heading {
			leave(b.level)
			open = append(open, len(all))
			all = append(all, Heading{Level: b.level, Title: shortTitle(b.title), Line: b.from})
		}
		last = b.to
	}
	leave(0)
	return all
}

// shortTitle returns a title as plain text in one line, so short that every chunk
// can have it.
func shortTitle(title string) string {
	const longest = 200
	title = strings.Join(strings.Fields(inline(cutRunes(title, 4*longest))), " ")
	if len(title) <= longest {
		return title
	}
	title = cutRunes(title, longest)
	if i := strings.LastIndexByte(title, ' '); i > longest/2 {
		title = title[:i]
	}
	return title + "…"
}

// cutRunes returns the beginning of a text, at most so many bytes of it.
func cutRunes(text string, most int) string {
	if len(text) <= most {
		return text
	}
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:most]
}

// path is the position of a text in the outline.
type path struct {
	titles [7]string // by level
	title  string    // the innermost
	above  []string  // those above it
	count  int       // of headings so far
}

func (p *path) enter(level int, title string) {
	p.titles[level] = title
	clear(p.titles[level+1:])
	p.title, p.above = title, nil
	p.count++
	for _, t := range p.titles[:level] {
		if t != "" {
			p.above = append(p.above, t)
		}
	}
}
