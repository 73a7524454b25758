package markup

import (
	"cmp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/yuin/goldmark/ast"
	extension "github.com/yuin/goldmark/extension/ast"
)

// Split returns a document in parts that fit. The parts are Markdown, too, and as few as
// possible without cutting blocks that fit. A fence is cut between its lines, and each part of
// it is a fence; a table is cut between rows, and each part has the header. Items of lists and
// paragraphs are cut between sentences or words, emphasis is continued in the next part, and
// links and code within lines are cut only if they do not fit. fits is called with a possible
// part. If it refuses even a single character, such parts are returned nevertheless.
func Split(markdown string, fits func(part string) bool) []string {
	return split(clean(markdown), 0, fits)
}

// SplitPlain returns the parts of a text that is not Markdown.
func SplitPlain(text string, fits func(part string) bool) []string {
	return cutText(cutter{text: strings.Trim(clean(text), "\n"), fits: fits})
}

// A unit is a block, or a part of one. An item of a list is a block, a list is not.
type unit struct {
	text   string
	gap    string   // before it
	marker string   // of an item, as it is shown
	node   ast.Node // nil: it is not cut
}

// scan returns the blocks of a source in its lines.
func scan(source string, depth int) (units []unit) {
	raw := []byte(source)
	var starts []int
	add := func(n ast.Node, marker string) {
		u := unit{gap: "\n", marker: marker, node: n}
		if apart(n, raw) {
			u.gap = "\n\n"
		}
		units, starts = append(units, u), append(starts, lineOf(n, raw))
	}
	for n := blocks().parse(raw).FirstChild(); n != nil && depth < maxDepth; n = n.NextSibling() {
		list, ok := n.(*ast.List)
		if !ok {
			add(n, "")
			continue
		}
		for i, item := 0, list.FirstChild(); item != nil; i, item = i+1, item.NextSibling() {
			marker := "-"
			if list.IsOrdered() {
				marker = strconv.Itoa(list.Start+i) + "."
			}
			add(item, marker)
		}
	}
	if len(units) == 0 {
		units, starts = []unit{{node: ast.NewParagraph()}}, []int{0}
	}
	starts[0] = 0
	for i := range units {
		end := len(source)
		if i+1 < len(units) {
			end = max(starts[i+1], starts[i])
		}
		units[i].text = strings.TrimRight(strings.TrimLeft(source[starts[i]:end], "\n"), " \t\n")
		if number := strings.TrimSuffix(units[i].marker, "."); number != "-" && number != "" {
			// The part that begins with an item has the number that it is shown with.
			digits := strings.TrimLeft(units[i].text, " ")
			indent := units[i].text[:len(units[i].text)-len(digits)]
			units[i].text = indent + number + strings.TrimLeft(digits, "0123456789")
		}
	}
	return units
}

func isBlank(text string) bool { return strings.TrimSpace(text) == "" }

func split(source string, depth int, fits func(string) bool) (parts []string) {
	units := scan(source, depth)
	for len(units) > 0 {
		n := largest(len(units), func(n int) bool { return fits(join(units[:n])) })
		switch first := units[0]; {
		case n == 0 && first.node != nil:
			var pieces []unit
			for _, piece := range first.cut(depth, fits) {
				pieces = append(pieces, unit{text: piece, gap: "\n\n"})
			}
			units = append(pieces, units[1:]...)
			continue
		case n == 0:
			n = 1 // it fits nowhere
		case n > 1 && n < len(units) && units[n-1].node != nil && units[n-1].node.Kind() == ast.KindHeading:
			n-- // a heading stays with the block below it
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

// cut returns the parts of a block that does not fit.
func (u unit) cut(depth int, fits func(string) bool) []string {
	rows := strings.Split(u.text, "\n")
	switch n := u.node.(type) {
	case *ast.FencedCodeBlock:
		first := strings.TrimLeft(rows[0], " ")
		mark := first[:len(first)-len(strings.TrimLeft(first, first[:1]))]
		language, _, _ := strings.Cut(strings.TrimSpace(first[len(mark):]), " ")
		rows = rows[1:]
		if last := len(rows) - 1; last >= 0 && len(rows) > n.Lines().Len() {
			rows = rows[:last]
		}
		return cutLines(dedent(rows, len(u.text)-len(strings.TrimLeft(u.text, " "))), mark+language+"\n", "\n"+mark, fits)
	case *ast.CodeBlock:
		return cutLines(rows, "", "", fits)
	case *extension.Table:
		return cutLines(rows[2:], strings.Join(rows[:2], "\n")+"\n", "", fits)
	case *ast.Blockquote:
		quoted := func(part string) string { return "> " + strings.ReplaceAll(part, "\n", "\n> ") }
		for i, row := range rows {
			row = strings.TrimLeft(row, " ")
			rows[i] = strings.TrimPrefix(strings.TrimPrefix(row, ">"), " ")
		}
		parts := split(strings.Join(rows, "\n"), depth+1, func(part string) bool { return fits(quoted(part)) })
		for i := range parts {
			parts[i] = quoted(parts[i])
		}
		return parts
	case *ast.ListItem:
		marker := u.marker + " "
		within := func(part string) string {
			return marker + strings.ReplaceAll(part, "\n", "\n"+strings.Repeat(" ", len(marker)))
		}
		first := strings.TrimLeft(rows[0], " ")
		_, rows[0], _ = strings.Cut(strings.ReplaceAll(first, "\t", " "), " ")
		inner := append(rows[:1:1], dedent(rows[1:], n.Offset)...)
		parts := split(strings.Join(inner, "\n"), depth+1, func(part string) bool { return fits(within(part)) })
		if len(parts) > 0 {
			parts[0] = within(parts[0])
		}
		return parts
	}
	for i, row := range rows {
		rows[i] = strings.TrimSpace(row)
	}
	text := strings.Join(rows, "\n")
	return cutText(cutter{text: text, spans: spansOf(text), fits: fits, markdown: true})
}

// dedent removes at most n columns of white space from the beginning of each line.
func dedent(rows []string, n int) []string {
	out := make([]string, len(rows))
	for i, row := range rows {
		rest := strings.TrimLeft(row, " \t")
		indent := strings.ReplaceAll(row[:len(row)-len(rest)], "\t", "    ")
		out[i] = indent[min(len(indent), n):] + rest
	}
	return out
}

// A span is a part of a line with markup: its position, and the position of its content. An
// atomic span is never cut.
type span struct {
	from, inner, innerEnd, to int
	atomic                    bool
}

// spansOf returns the spans of a paragraph, sorted.
func spansOf(text string) (spans []span) {
	var walk func(parent ast.Node, end int)
	walk = func(parent ast.Node, end int) {
		for n := parent.FirstChild(); n != nil; n = n.NextSibling() {
			to, mark := end, 0
			if next := n.NextSibling(); next != nil {
				to = from(next)
			}
			to = len(strings.TrimRight(text[:to], " \n"))
			switch n := n.(type) {
			case *ast.Text:
				continue
			case *ast.Emphasis:
				mark = n.Level
			case *extension.Strikethrough:
				mark = from(n.FirstChild()) - n.Pos()
			}
			s := span{from(n), from(n) + mark, to - mark, to, mark == 0}
			if s.inner > s.innerEnd {
				continue
			}
			spans = append(spans, s)
			if !s.atomic {
				walk(n, s.innerEnd)
			}
		}
	}
	if paragraph := lines().parse([]byte(text)).FirstChild(); paragraph != nil {
		walk(paragraph, len(text))
	}
	return spans
}

// from returns where a part of a line begins.
func from(n ast.Node) int {
	if e, ok := n.(*ast.Emphasis); ok { // its own position may be the position of a longer run
		return from(e.FirstChild()) - e.Level
	}
	return n.Pos()
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
	first := blocks().parse([]byte(rest[:min(len(rest), 20)])).FirstChild()
	return first == nil || first.Kind() == ast.KindParagraph
}

// joins reports whether two characters are shown as one.
func joins(before, after rune) bool {
	const joiner = '\u200d'
	return before == joiner || after == joiner || unicode.In(after, unicode.Mn, unicode.Me, unicode.Sk) ||
		after >= 0xfe00 && after <= 0xfe0f || before >= 0x1f1e6 && before <= 0x1f1ff
}
