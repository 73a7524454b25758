package markdown

import (
	entities "html"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/mcp-tools/mcp-tools/internal/text"
)

// Headings lists the headings of a text as plain text, in their order; long ones are cut. Lines
// that look like headings in code, comments, lists and quotes do not count.
func Headings(text string) []string {
	var all []string
	s := scan(normal(text))
	for b, ok := s.block(); ok; b, ok = s.block() {
		if b.kind == heading {
			all = append(all, shortTitle(b.title))
		}
	}
	return all
}

// shortTitle returns a title as plain text in one line, so short that every chunk
// can have it.
func shortTitle(title string) string {
	const longest = 200
	title = strings.Join(strings.Fields(inline(text.Cut(title, 4*longest))), " ")
	if len(title) <= longest {
		return title
	}
	title = text.Cut(title, longest)
	if i := strings.LastIndexByte(title, ' '); i > longest/2 {
		title = title[:i]
	}
	return title + "…"
}

// Plain returns the text without Markdown, for snippets: no front matter, marks, addresses,
// tags and comments; code stays, without its fences. Blocks, items and rows are lines. It is
// meant to be read, and makes nothing safe: text that looks like HTML afterwards was written as
// text.
func Plain(text string) string {
	text = normal(text)
	var b strings.Builder
	s := scan(text)
	for block, ok := s.block(); ok; block, ok = s.block() {
		if plain := strings.Trim(block.plain(text), "\n"); !blank(plain) {
			b.WriteString(plain)
			b.WriteByte('\n')
		}
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func (b block) plain(text string) string {
	text = text[b.start:b.end]
	isScript := b.kind == html && (strings.HasPrefix(text, "<script") || strings.HasPrefix(text, "<style"))
	switch {
	case b.kind == rule || b.kind == matter || isScript:
		return ""
	case b.kind == heading:
		return inline(b.title)
	case b.kind == code:
		return plainCode(text)
	case b.kind == table:
		return plainTable(text)
	}
	return plainProse(text)
}

// plainCode returns a code block without its fences, or without its indentation.
func plainCode(text string) string {
	first, rest, _ := strings.Cut(text, "\n")
	f, fenced := openFence(trimIndent(first))
	if !fenced {
		text = strings.ReplaceAll("\n"+text, "\n\t", "\n    ")
		return strings.ReplaceAll(text, "\n    ", "\n")
	}
	if end := strings.LastIndexByte(rest, '\n') + 1; closesFence(trimIndent(rest[end:]), f) {
		rest = rest[:end]
	}
	return rest
}

func plainTable(text string) string {
	const escaped = "\x00" // a normal text has none
	var b strings.Builder
	for line := range strings.Lines(strings.ReplaceAll(text, `\|`, escaped)) {
		if isDelimiter(strings.TrimRight(line, "\n")) {
			continue
		}
		for i, cell := range strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|") {
			if i > 0 {
				b.WriteString("  ")
			}
			b.WriteString(inline(strings.ReplaceAll(strings.TrimSpace(cell), escaped, `\|`)))
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// plainProse returns a paragraph, an item or a quote without the marks before its lines.
func plainProse(text string) string {
	var b, paragraph strings.Builder
	flush := func() {
		b.WriteString(inline(paragraph.String()))
		paragraph.Reset()
	}
	fence, inFence := "", false
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		bare := strings.TrimLeft(line, " \t>")
		switch {
		case inFence && closesFence(bare, fence):
			inFence = false
		case inFence:
			if quoted, ok := strings.CutPrefix(trimIndent(line), ">"); ok {
				line = strings.TrimPrefix(quoted, " ")
			}
			b.WriteString(line + "\n")
		case isReference(bare):
		default:
			if fence, inFence = openFence(inner(line)); inFence || blank(bare) {
				flush()
				continue
			}
			bytes, _ := marker(bare)
			if bytes > 0 {
				flush()
			}
			for bytes > 0 && !digit(bare[0]) { // numbers stay
				bare = strings.TrimLeft(bare[bytes:], " \t>")
				bytes, _ = marker(bare)
			}
			if _, title, ok := hashHeading(bare); ok {
				bare = title
			}
			paragraph.WriteString(bare + "\n")
		}
	}
	flush()
	return b.String()
}

// isReference reports whether a line says where links go: [name]: address.
func isReference(line string) bool {
	name, address, ok := strings.Cut(line, "]:")
	return ok && strings.HasPrefix(name, "[") && !strings.HasPrefix(name, "[^") && len(name) < 200 &&
		len(strings.Fields(text.Cut(address, 400))) <= 4 && !blank(address)
}

// syntax matches the Markdown within a paragraph: escapes, code, addresses, tags, links
// and images, and runs of emphasis marks, at the beginning of a text that begins with one
// of syntaxMarks. No part of it looks far ahead, so that the time stays linear.
var syntax = text.Pattern("(?s)^(?:" + strings.Join([]string{
	`\\([!-/:-@\[-\x60{-~])`,                          // 1: the escaped text
	"``((?:`?[^`])+)``|`([^`]+)`",                     // 2, 3: code
	`<([A-Za-z][a-z]*://[^<>\s]*|[^<>\s]+@[^<>\s]+)>`, // 4: an address
	`(</?[A-Za-z!][^<>]*>)`,                           // 5: a tag
	`!?\[((?:[^\[\]]|\[[^\[\]]*\](?:\([^()\s]*\))?)*)\]` + // 6: a link with its address
		`(?:\((?:[^()\s\\]|\\.|\([^()\s]*\))*(?:\s+"[^"]*")?\s*\)|\[[^\[\]]*\])`,
	`\[\[([^\[\]]+)\]\]`, // 7: [[page]]
	`(\*+|_+|~+)`,        // 8: marks of emphasis
}, "|") + ")")

const syntaxMarks = "\\`<![*_~"

// inline returns the text of a paragraph without its Markdown: emphasis, code
// spans, links, images, tags, comments, escapes and entities.
func inline(text string) string {
	if !strings.ContainsAny(text, "\\`<[*_~&") {
		return text
	}
	return entities.UnescapeString(withoutSyntax(withoutComments(text), 3))
}

func withoutComments(text string) string {
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(text, "<!--")
		b.WriteString(before)
		_, after, closed := strings.Cut(rest, "-->")
		if !found || !closed {
			b.WriteString(text[len(before):])
			return b.String()
		}
		text = after
	}
}

// withoutSyntax resolves the syntax in a text, and that in links up to a depth.
func withoutSyntax(text string, depth int) string {
	var b strings.Builder
	for at, from := 0, 0; ; { // text[:at] is written, text[at:from] has no syntax
		i := strings.IndexAny(text[from:], syntaxMarks)
		if i < 0 {
			b.WriteString(text[at:])
			return b.String()
		}
		from += i
		m := syntax().FindStringSubmatchIndex(text[from:])
		if m == nil {
			from++
			continue
		}
		b.WriteString(text[at:from])
		group := 1
		for m[2*group] < 0 {
			group++
		}
		before := text[:from]
		at = from + m[1]
		switch inside := text[from+m[2*group] : from+m[2*group+1]]; group {
		case 2, 3:
			if len(inside) > 2 && inside[0] == ' ' && inside[len(inside)-1] == ' ' && !blank(inside) {
				inside = inside[1 : len(inside)-1]
			}
			b.WriteString(inside)
		case 5:
		case 6:
			if depth > 0 {
				inside = withoutSyntax(inside, depth-1)
			}
			b.WriteString(inside)
		case 8:
			if isText(before, inside, text[at:]) {
				b.WriteString(inside)
			}
		default:
			b.WriteString(inside)
		}
		from = at
	}
}

// isText reports whether a run of * _ ~ is no emphasis: between letters, as in
// snake_case, and between spaces.
func isText(before, run, after string) bool {
	last, _ := utf8.DecodeLastRuneInString(before)
	next, _ := utf8.DecodeRuneInString(after)
	return run[0] == '~' && len(run) != 2 || inWord(last) && inWord(next) ||
		(before == "" || unicode.IsSpace(last)) && (after == "" || unicode.IsSpace(next))
}

// inWord reports whether a rune makes a mark beside it part of a word, as in
// snake_case; in scripts without spaces none does.
func inWord(r rune) bool {
	const firstWithoutSpaces = 0x2e80
	return r < firstWithoutSpaces && (unicode.IsLetter(r) || unicode.IsDigit(r))
}
