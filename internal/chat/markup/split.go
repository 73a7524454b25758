package markup

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Split returns the parts of a document, each of which fits: Markdown, too, and as few as
// is possible without cutting blocks that fit. A fence is cut between its lines, and each
// part of it is a fence; a table is cut between rows, and each part has the header. Items
// of lists and paragraphs are cut between sentences or words, emphasis is continued in the
// next part, and links and code within lines are cut only if they do not fit.
// fits is called with a possible part. If it refuses even a single character, such parts
// are returned nevertheless.
func Split(markdown string, fits func(part string) bool) []string {
	return split(linesOf(markdown), 0, fits)
}

// SplitPlain returns the parts of a text that is not Markdown.
func SplitPlain(text string, fits func(part string) bool) []string {
	text = strings.Trim(strings.Join(linesOf(text), "\n"), "\n")
	return cutText(cutter{text: text, fits: fits})
}

// A unit is a block, or a part of one.
type unit struct {
	text    string
	gap     string // before it
	heading bool
	block   block
	lines   []string // of the block; nil: it is not cut
}

func split(lines []string, depth int, fits func(string) bool) (parts []string) {
	var units []unit
	for _, b := range scan(lines, depth) {
		u := unit{gap: "\n\n", heading: b.kind == Heading, block: b, lines: lines[b.from:b.to]}
		if b.tight {
			u.gap = "\n"
		}
		if u.text = strings.Join(u.lines, "\n"); b.kind == Item && b.marker != "-" {
			u.text = renumber(u.text, b)
		}
		units = append(units, u)
	}
	for len(units) > 0 {
		n := largest(len(units), func(n int) bool { return fits(join(units[:n])) })
		switch first := units[0]; {
		case n == 0 && first.lines != nil:
			var pieces []unit
			for _, piece := range cut(first.lines, first.block, depth, fits) {
				pieces = append(pieces, unit{text: piece, gap: "\n\n"})
			}
			units = append(pieces, units[1:]...)
			continue
		case n == 0:
			n = 1 // it fits nowhere
		case n > 1 && n < len(units) && units[n-1].heading:
			n-- // a heading stays with what it is above
		}
		if part := strings.Trim(join(units[:n]), "\n"); !isBlank(part) {
			parts = append(parts, part)
		}
		units = units[n:]
	}
	return parts
}

// join returns the text of units.
func join(units []unit) string {
	var b strings.Builder
	for i, u := range units {
		if i > 0 {
			b.WriteString(u.gap)
		}
		b.WriteString(u.text)
	}
	return b.String()
}

// largest returns the largest number up to most that is acceptable, if all smaller ones are.
func largest(most int, ok func(n int) bool) int {
	low, high := 0, 1 // low is acceptable
	for high < most && ok(high) {
		low, high = high, high*2
	}
	if high = min(high, most); high > low && ok(high) {
		return high
	}
	for high-low > 1 {
		if middle := (low + high) / 2; ok(middle) {
			low = middle
		} else {
			high = middle
		}
	}
	return low
}

// renumber gives an item the number that it is shown with, so that a part that begins
// with it does.
func renumber(unit string, b block) string {
	digits := strings.TrimLeft(unit[b.indent:], "0123456789")
	return unit[:b.indent] + strings.TrimSuffix(b.marker, ".") + digits
}

// cut returns the parts of a block that does not fit.
func cut(lines []string, b block, depth int, fits func(string) bool) []string {
	switch b.kind {
	case Block:
		return cutCode(lines, fits)
	case Table:
		head := strings.Join(lines[:2], "\n") + "\n"
		return cutLines(lines[2:], head, "", fits)
	case Quote:
		quoted := func(part string) string { return "> " + strings.ReplaceAll(part, "\n", "\n> ") }
		parts := split(unquote(lines), depth+1, func(part string) bool { return fits(quoted(part)) })
		for i := range parts {
			parts[i] = quoted(parts[i])
		}
		return parts
	case Item:
		marker := b.marker + " "
		within := func(part string) string {
			return marker + strings.ReplaceAll(part, "\n", "\n"+strings.Repeat(" ", len(marker)))
		}
		b.width = min(b.width, len(lines[0]))
		inner := append([]string{lines[0][b.width:]}, dedent(lines[1:], b.width)...)
		parts := split(inner, depth+1, func(part string) bool { return fits(within(part)) })
		if len(parts) > 0 {
			parts[0] = within(parts[0])
		}
		return parts
	}
	text := paragraph(lines)
	_, spans := inline(text)
	slices.SortStableFunc(spans, func(a, b span) int { return cmp.Compare(a.from, b.from) })
	return cutText(cutter{text: text, spans: spans, fits: fits, markdown: true})
}

// cutCode returns the parts of a fence, each with a fence around it.
func cutCode(lines []string, fits func(string) bool) []string {
	mark := fence(lines[0])
	language, code := fenced(lines)
	return cutLines(code, mark+language+"\n", "\n"+mark, fits)
}

// cutLines returns parts with a head and a foot around them. Lines that do not fit are cut.
func cutLines(lines []string, head, foot string, fits func(string) bool) (parts []string) {
	whole := func(body string) bool { return fits(head + body + foot) }
	for len(lines) > 0 {
		n := largest(len(lines), func(n int) bool { return whole(strings.Join(lines[:n], "\n")) })
		pieces := []string{strings.Join(lines[:n], "\n")}
		if n == 0 {
			pieces = cutText(cutter{text: lines[0], fits: whole, verbatim: true})
			n = 1
		}
		for _, piece := range pieces {
			parts = append(parts, head+piece+foot)
		}
		lines = lines[n:]
	}
	return parts
}

// A cutter cuts a text.
type cutter struct {
	text     string
	fits     func(string) bool
	markdown bool
	spans    []span // sorted
	verbatim bool   // white space is kept where it is cut

	at     int
	prefix string // continues the emphasis of the part before
}

func cutText(c cutter) (parts []string) {
	for c.at < len(c.text) {
		end := c.end()
		if part := c.trimmed(end); c.verbatim || !isBlank(part) {
			parts = append(parts, part)
		}
		c.prefix = ""
		for _, s := range c.around(end) {
			if !s.atomic {
				c.prefix += c.text[s.from:s.inner]
			}
		}
		if c.at = end; !c.verbatim {
			c.at = len(c.text) - len(strings.TrimLeft(c.text[end:], " \n"))
		}
	}
	return parts
}

// trimmed returns the part that ends at a position, as it is sent.
func (c *cutter) trimmed(end int) string {
	if c.verbatim {
		return c.piece(end)
	}
	return strings.TrimRight(c.piece(end), " \n")
}

// around returns the spans that a position is within, the outermost first.
func (c *cutter) around(at int) (list []span) {
	for _, s := range c.spans {
		if s.from >= at {
			break
		}
		if at < s.to {
			list = append(list, s)
		}
	}
	return list
}

// piece returns the part that ends at a position.
func (c *cutter) piece(end int) string {
	suffix := ""
	for _, s := range c.around(end) {
		if !s.atomic {
			suffix = c.text[s.innerEnd:s.to] + suffix
		}
	}
	part := c.text[c.at:end]
	if suffix != "" {
		part = strings.TrimRight(part, " \n") // emphasis does not end after a space
	}
	return c.prefix + part + suffix
}

// end returns where the next part ends.
func (c *cutter) end() int {
	limit := c.rune(c.at + largest(len(c.text)-c.at, func(n int) bool { return c.fits(c.piece(c.rune(c.at + n))) }))
	if limit == len(c.text) {
		return limit
	}
	for limit > c.at {
		if end := c.seam(limit); c.fits(c.trimmed(end)) {
			return end
		}
		limit = c.rune(limit - 1)
	}
	_, size := utf8.DecodeRuneInString(c.text[c.at:])
	return c.at + size
}

// rune returns the beginning of the character at a position.
func (c *cutter) rune(at int) int {
	for at > c.at && at < len(c.text) && !utf8.RuneStart(c.text[at]) {
		at--
	}
	return at
}

// seam returns the best place to cut at or before a limit: between lines or sentences,
// else between words, in the second half of the part; else where no span is.
func (c *cutter) seam(limit int) int {
	half := c.at + (limit-c.at)/2
	words, anywhere := 0, 0
	for end := limit; end > half; end = c.rune(end - 1) {
		before, _ := utf8.DecodeLastRuneInString(c.text[:end])
		after, _ := utf8.DecodeRuneInString(c.text[end:])
		switch {
		case after == '\n', strings.ContainsRune("。！？；", before),
			unicode.IsSpace(after) && strings.ContainsRune(".!?…:", before):
			if c.allowed(end) {
				return end
			}
		case words > 0:
		case unicode.IsSpace(after):
			if c.allowed(end) {
				words = end
			}
		case anywhere == 0 && !unicode.IsSpace(before) && !joins(before, after) && c.allowed(end):
			anywhere = end
		}
	}
	if at := cmp.Or(words, anywhere); at > 0 {
		return at
	}
	for _, s := range c.around(limit) { // all of the second half is a span
		if s.from > c.at && (s.atomic || limit <= s.inner) {
			return s.from
		}
	}
	for end := limit; end > c.at; end = c.rune(end - 1) {
		before, _ := utf8.DecodeLastRuneInString(c.text[:end])
		if after, _ := utf8.DecodeRuneInString(c.text[end:]); !joins(before, after) {
			return end
		}
	}
	return limit
}

// allowed reports whether a cut separates no span, and begins no block.
func (c *cutter) allowed(end int) bool {
	for _, s := range c.around(end) {
		if s.atomic || end <= s.inner || end >= s.innerEnd {
			return false
		}
	}
	if !c.markdown {
		return true
	}
	rest, _, _ := strings.Cut(strings.TrimLeft(c.text[end:], " \n"), "\n")
	return isBlank(rest) || starts([]string{rest}, 0) == Paragraph
}

// joins reports whether two characters are shown as one.
func joins(before, after rune) bool {
	const joiner = '\u200d'
	return before == joiner || after == joiner || unicode.In(after, unicode.Mn, unicode.Me, unicode.Sk) ||
		after >= 0xfe00 && after <= 0xfe0f || before >= 0x1f1e6 && before <= 0x1f1ff
}
