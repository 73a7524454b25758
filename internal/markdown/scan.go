// Package markdown splits texts in Markdown: into chunks for a search index, into headings, into front matter and
// body, and into plain text; and it escapes text that is not Markdown. It knows the syntax (CommonMark with tables,
// as far as it matters for keeping blocks together). It knows neither the origin and the readers of a text nor the
// use of the pieces. Every text is valid Markdown; only front matter can be invalid. Time and memory are linear in
// the length of the text.
//
// Begin with [Chunks] and [FrontMatter]; Chunks, [Headings] and [Plain] read the text with the
// scanner in scan.go.
package markdown

import (
	"strings"
	"unicode/utf8"

	"github.com/mcp-tools/mcp-tools/internal/text"
)

// normal returns the text as the rest of the package wants it: no byte order mark,
// lines that end with \n, valid UTF-8 without NUL (a database may refuse
// both). It has the same lines as the text.
func normal(text string) string {
	text = strings.TrimPrefix(text, "\ufeff")
	text = strings.ReplaceAll(text, "\r\n", "\n")
	if !utf8.ValidString(text) {
		text = strings.ToValidUTF8(text, "\ufffd")
	}
	return strings.ReplaceAll(text, "\x00", "\ufffd")
}

// A reader is at a line of a text. A copy of it reads ahead.
type reader struct {
	text string
	line string // without its newline
	at   int    // where the line begins
	no   int    // its number, from 1
	over bool   // behind the last line
}

// read begins at the offset at, in the line with the number no.
func read(text string, at, no int) reader {
	r := reader{text: text, at: at, no: no}
	r.load()
	return r
}

func (r *reader) load() {
	if r.at >= len(r.text) {
		r.line, r.over = "", true
		return
	}
	r.line, _, _ = strings.Cut(r.text[r.at:], "\n")
}

func (r *reader) step() {
	r.at += len(r.line) + 1
	r.no++
	r.load()
}

// end returns where the line ends.
func (r *reader) end() int { return r.at + len(r.line) }

// next returns the line after this one; "" behind the last.
func (r *reader) next() string {
	after := *r
	after.step()
	return after.line
}

func blank(line string) bool {
	return len(line) == 0 || (line[0] <= ' ' || line[0] >= utf8.RuneSelf) && strings.TrimSpace(line) == ""
}

// indent counts the columns of white space that a line begins with, and its
// bytes. A tab reaches to the next column that four divides.
func indent(line string) (columns, bytes int) {
	for bytes < len(line) {
		switch line[bytes] {
		case ' ':
			columns++
		case '\t':
			columns += 4 - columns%4
		default:
			return columns, bytes
		}
		bytes++
	}
	return columns, bytes
}

func trimIndent(line string) string {
	_, bytes := indent(line)
	return line[bytes:]
}

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
	level, title, headed := hashHeading(line)
	switch {
	case s.no == 1 && s.matter(&b):
	case !flat:
		s.indented(&b)
	case fenced:
		s.fenced(&b, f)
	case headed:
		b.kind, b.level, b.title = heading, level, title
		s.take(&b)
	case isRule(line):
		b.kind = rule
		s.take(&b)
	case line[0] == '<' && tagLine().MatchString(line):
		s.html(&b, strings.ToLower(line))
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
	b.kind = matter
	for range last {
		s.take(b)
	}
	if last == 0 {
		b.kind = paragraph
	}
	return last > 0
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
func (s *scanner) fenced(b *block, f string) {
	b.kind = code
	s.take(b)
	for !s.over {
		line, flat := shallow(s.line)
		if blank(line) {
			s.step()
			continue
		}
		s.take(b)
		if flat && closesFence(line, f) {
			return
		}
	}
}

// tagLine matches a line without indentation that begins with a tag or a comment.
var tagLine = text.Pattern(`^<(?:!--|/?[A-Za-z][A-Za-z0-9-]*(?:[ \t/>]|$))`)

// html takes lines to the next blank line, or to the end of a comment or an element
// that may contain blank lines. line is the first one in lower case.
func (s *scanner) html(b *block, line string) {
	b.kind = html
	closer := ""
	for open, end := range map[string]string{
		"<!--": "-->", "<pre": "</pre>", "<script": "</script>", "<style": "</style>",
	} {
		if strings.HasPrefix(line, open) {
			closer = end
		}
	}
	for !s.over {
		if blank(s.line) {
			if closer == "" {
				return
			}
			s.step()
			continue
		}
		ends := closer != "" && strings.Contains(strings.ToLower(s.line), closer)
		s.take(b)
		if ends {
			return
		}
	}
}

// quote takes lines with > before them, and lines without one that continue the paragraph.
func (s *scanner) quote(b *block) {
	b.kind = quote
	for !s.over && !blank(s.line) {
		if line, flat := shallow(s.line); (!flat || line[0] != '>') && interrupts(s.line) {
			return
		}
		s.take(b)
	}
}

// prose takes a table, or a paragraph to its end, perhaps the line that makes a heading of it.
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

// item takes an item of a list with its content: lines indented to the beginning of its
// content, and lines that continue its paragraph.
func (s *scanner) item(b *block, line string) {
	b.kind = item
	before, _ := indent(s.line)
	bytes, columns := marker(line)
	content := before + columns
	open, inFence := openFence(inner(line))
	empty := blank(line[bytes:])
	s.take(b)
	for gap := false; !s.over; {
		if blank(s.line) {
			if empty {
				return
			}
			gap = true
			s.step()
			continue
		}
		deep, _ := indent(s.line)
		switch {
		case deep < content && (gap || inFence || interrupts(s.line) || deep < 4 && isItem(trimIndent(s.line))):
			return
		case inFence:
			inFence = !closesFence(trimIndent(s.line), open)
		case deep >= content:
			open, inFence = openFence(inner(s.line))
		}
		gap, empty = false, false
		s.take(b)
	}
}

// shallow returns the line without its indentation, if that is one that a block may
// have: four columns or more are code, or belong to a list.
func shallow(line string) (string, bool) {
	columns, bytes := indent(line)
	return line[bytes:], columns < 4
}

// openFence returns the fence that begins a code block in a line without indentation.
func openFence(line string) (fence string, ok bool) {
	if len(line) < 3 || line[0] != '`' && line[0] != '~' {
		return "", false
	}
	info := strings.TrimLeft(line, line[:1])
	fence = line[:len(line)-len(info)]
	return fence, len(fence) >= 3 && (fence[0] == '~' || strings.IndexByte(info, '`') < 0)
}

// closesFence reports whether a line without indentation ends the block of a fence.
func closesFence(line, fence string) bool {
	return strings.HasPrefix(line, fence) && blank(strings.TrimLeft(line, fence[:1]))
}

func letter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }
func digit(c byte) bool  { return '0' <= c && c <= '9' }
func word(c byte) bool   { return letter(c) || digit(c) }

// hashHeading takes a heading like "## Title ##" apart.
func hashHeading(line string) (level int, title string, ok bool) {
	for level < len(line) && line[level] == '#' {
		level++
	}
	rest := line[level:]
	if level == 0 || level > 6 || rest != "" && rest[0] != ' ' && rest[0] != '\t' {
		return 0, "", false
	}
	rest = strings.TrimSpace(rest)
	open := strings.TrimRight(rest, "#")
	if open == "" || strings.HasSuffix(open, " ") || strings.HasSuffix(open, "\t") {
		rest = strings.TrimSpace(open)
	}
	return level, rest, true
}

// underline returns the level of the heading above a line of = or -; 0 is none.
func underline(line string) int {
	line, ok := shallow(line)
	line = strings.TrimRight(line, " \t")
	switch {
	case !ok || line == "":
		return 0
	case strings.Trim(line, "=") == "":
		return 1
	case strings.Trim(line, "-") == "":
		return 2
	}
	return 0
}

// isRule reports whether a line without indentation is a thematic break.
func isRule(line string) bool {
	if line == "" || line[0] != '-' && line[0] != '*' && line[0] != '_' {
		return false
	}
	return strings.Trim(line, line[:1]+" \t") == "" && strings.Count(line, line[:1]) >= 3
}

// marker returns how a list item begins: how many bytes its marker has, and how
// many columns its content is in. A line that is not an item has none.
func marker(line string) (bytes, columns int) {
	switch {
	case line == "":
		return 0, 0
	case line[0] == '-' || line[0] == '*' || line[0] == '+':
		bytes = 1
	default:
		for bytes < len(line) && bytes < 9 && digit(line[bytes]) {
			bytes++
		}
		if bytes == 0 || bytes == len(line) || line[bytes] != '.' && line[bytes] != ')' {
			return 0, 0
		}
		bytes++
	}
	gap, _ := indent(line[bytes:])
	switch {
	case bytes == len(line) || gap > 4 || gap > 0 && blank(line[bytes:]):
		return bytes, bytes + 1
	case gap == 0:
		return 0, 0
	}
	return bytes, bytes + gap
}

// isItem reports whether a line without indentation begins a list item.
func isItem(line string) bool {
	bytes, _ := marker(line)
	return bytes > 0 && !isRule(line)
}

// interrupts reports whether a line begins a new block, though there is
// a paragraph above it.
func interrupts(line string) bool {
	line, ok := shallow(line)
	if !ok || line == "" || strings.IndexByte("#`~>-*+_1<", line[0]) < 0 {
		return false
	}
	_, _, headed := hashHeading(line)
	_, fenced := openFence(line)
	bytes, _ := marker(line)
	isListStart := bytes > 0 && !blank(line[bytes:]) && (!digit(line[0]) || line[0] == '1' && bytes == 2)
	return headed || fenced || line[0] == '>' || isRule(line) || isListStart || strings.HasPrefix(line, "<!--")
}

// isDelimiter reports whether a line stands between the head and the rows of a
// table: | --- | :-: |
func isDelimiter(line string) bool {
	line, ok := shallow(line)
	return ok && strings.IndexByte(line, '-') >= 0 && strings.IndexByte(line, '|') >= 0 &&
		strings.Trim(line, "|-: \t") == ""
}

// inner returns the line without the marks of list items and block quotes before it.
func inner(line string) string {
	for {
		line = trimIndent(line)
		if strings.HasPrefix(line, ">") {
			line = line[1:]
		} else if bytes, _ := marker(line); bytes > 0 && !isRule(line) {
			line = line[bytes:]
		} else {
			return line
		}
	}
}
