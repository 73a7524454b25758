package page

import (
	"bytes"
	"context"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/html"
)

// convert returns the tree as text, at most limit bytes.
func (o *output) convert(ctx context.Context, limit int) (string, error) {
	o.flush()
	o.limit = limit
	all := o.blocks(ctx, o.root)
	if len(all) > limit {
		o.full = true
		for all = all[:limit]; !utf8.Valid(all[max(0, len(all)-utf8.UTFMax):]) && len(all) > 0; {
			all = all[:len(all)-1]
		}
	}
	return strings.TrimRight(string(all), " \n"), ctx.Err()
}

// blocks returns the blocks in an element, up to the limit. A list in an item follows
// the text before it without an empty line.
func (o *output) blocks(ctx context.Context, n *html.Node) []byte {
	var all []byte
	for c := n.FirstChild; c != nil && len(all) <= o.limit && ctx.Err() == nil; c = c.NextSibling {
		text := o.writeBlock(ctx, c)
		if len(text) == 0 {
			continue
		}
		if len(all) > 0 {
			all = append(all, '\n')
			if n.Data != "li" || c.Data != "ul" && c.Data != "ol" {
				all = append(all, '\n')
			}
		}
		all = append(all, text...)
	}
	return all
}

func (o *output) writeBlock(ctx context.Context, n *html.Node) []byte {
	switch n.Data {
	case "h1", "h2", "h3", "h4", "h5", "h6":
		text := o.appendLine([]byte("######"[:n.Data[1]-'0']+" "), n)
		if bytes.HasSuffix(text, []byte("#")) { // it would count as the end of the heading
			text = append(text[:len(text)-1], `\#`...)
		}
		return text
	case "hr":
		return []byte("---")
	case "pre":
		return o.codeBlock(n)
	case "table":
		return o.tableRows(n)
	case "blockquote":
		prefix := attr(n, "prefix")
		return indent(o.blocks(ctx, n), prefix, prefix)
	case "ul", "ol":
		var all []byte
		for c := n.FirstChild; c != nil; c = c.NextSibling {
			prefix := attr(c, "prefix")
			if n.Data == "ul" {
				prefix = "- "
			}
			if item := o.blocks(ctx, c); len(item) > 0 {
				all = append(append(all, '\n'), indent(item, prefix, "    "[:min(len(prefix), 4)])...)
			}
		}
		return bytes.TrimPrefix(all, []byte("\n"))
	}
	return bytes.Trim(o.appendLine(nil, n), "\n")
}

// indent puts prefixes before the first line of a text and before the others.
func indent(text []byte, first, rest string) []byte {
	out := make([]byte, 0, len(text)+len(first))
	out = append(out, first...)
	for i, line := range bytes.Split(text, []byte("\n")) {
		switch {
		case i == 0:
		case len(line) == 0:
			out = append(append(out, '\n'), strings.TrimRight(rest, " ")...)
		default:
			out = append(append(out, '\n'), rest...)
		}
		out = append(out, line...)
	}
	return out
}

func (o *output) codeBlock(n *html.Node) []byte {
	text := rawTextOf(n)
	if o.plain {
		return []byte(text)
	}
	fence := strings.Repeat("`", max(3, longestRun(text, '`')+1))
	return []byte(fence + strings.TrimPrefix(attr(n, "class"), "language-") + "\n" + text + "\n" + fence)
}

// longestRun returns how often a character occurs in a row at most.
func longestRun(text string, char byte) int {
	longest, run := 0, 0
	for i := range len(text) {
		if run++; text[i] != char {
			run = 0
		}
		longest = max(longest, run)
	}
	return longest
}

// tableRows returns a table; its first row is the head.
func (o *output) tableRows(n *html.Node) []byte {
	var all []byte
	columns := 0
	for row := n.FirstChild; row != nil; row = row.NextSibling {
		count := 0
		for cell := row.FirstChild; cell != nil; cell = cell.NextSibling {
			all = append(o.appendLine(append(all, "| "...), cell), ' ')
			count++
		}
		all = append(append(all, strings.Repeat("|  ", max(columns-count, 0))...), "|\n"...)
		if columns == 0 {
			columns = count
			all = append(append(all, strings.Repeat("|---", columns)...), "|\n"...)
		}
	}
	return bytes.TrimSuffix(all, []byte("\n"))
}

// appendLine appends the text and the inline elements in an element to what is already
// in the block.
func (o *output) appendLine(b []byte, n *html.Node) []byte {
	around := func(mark string, n *html.Node) { b = append(o.appendLine(append(b, mark...), n), mark...) }
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		switch {
		case c.Type == html.TextNode:
			b = o.appendText(b, c.Data)
		case c.Data == "strong":
			around("**", c)
		case c.Data == "em":
			around("*", c)
		case c.Data == "s":
			around("~~", c)
		case c.Data == "code":
			b = append(b, inlineCode(rawTextOf(c))...)
		case c.Data == rawElement:
			b = append(escapeBang(b, attr(c, "text")), attr(c, "text")...)
		case c.Data == "a":
			b = append(escapeBang(b, "["), '[')
			b = append(b, bytes.TrimSpace(o.appendLine(nil, c))...)
			b = append(b, "]("+attr(c, "href")+")"...)
		case c.Data == "img":
			b = append(b, "!["+attr(c, "alt")+"]("+attr(c, "src")+")"...)
		case c.Data == "br":
			b = append(bytes.TrimRight(b, " "), '\n')
		}
	}
	return b
}

// escapeBang escapes an exclamation mark that would make an image of the link that follows.
func escapeBang(b []byte, next string) []byte {
	if bytes.HasSuffix(b, []byte("!")) && strings.HasPrefix(next, "[") {
		b = append(b[:len(b)-1], `\!`...)
	}
	return b
}

func inlineCode(text string) string {
	fence := strings.Repeat("`", longestRun(text, '`')+1)
	if strings.HasPrefix(text, "`") || strings.HasSuffix(text, "`") {
		text = " " + text + " "
	}
	return fence + text + fence
}

// appendText appends text to a block and escapes what would be Markdown markup there.
func (o *output) appendText(b []byte, text string) []byte {
	if o.plain || !strings.ContainsAny(text, "\\`*_[]<>&~|#(:!-+=.)") {
		return append(escapeBang(b, text), text...)
	}
	line := b[bytes.LastIndexByte(b, '\n')+1:]
	lineMark := -1
	if len(bytes.TrimSpace(line)) == 0 {
		lineMark = lineMarkIn(text)
	}
	afterBracket := bytes.HasSuffix(line, []byte("]"))
	b = escapeBang(b, text)
	for i := range len(text) {
		isMark := i == lineMark || isInlineMark(text, i) ||
			i == 0 && afterBracket && (text[0] == '(' || text[0] == ':' && line[0] == '[')
		if isMark {
			b = append(b, '\\')
		}
		b = append(b, text[i])
	}
	return b
}

// lineMarkIn returns the position of the character that would make a line beginning
// with text a heading, list, quote, table or rule; -1 if there is none.
func lineMarkIn(text string) int {
	digits := len(text) - len(strings.TrimLeft(text, "0123456789"))
	if digits > 0 && digits < 10 && digits < len(text) && (text[digits] == '.' || text[digits] == ')') &&
		(digits+1 == len(text) || text[digits+1] == ' ') {
		return digits
	}
	beforeBlank := len(text) == 1 || text[1] == ' '
	switch text[0] {
	case '>', '|', '(':
		return 0
	case '*':
		if beforeBlank {
			return 0
		}
	case '#':
		if after := strings.TrimLeft(text, "#"); after == "" || after[0] == ' ' {
			return 0
		}
	case '-', '+', '=', ':':
		if beforeBlank || strings.Trim(text, "-=_*|:+ ") == "" {
			return 0
		}
	}
	return -1
}

// isInlineMark reports whether a character would be markup within a line.
func isInlineMark(text string, i int) bool {
	rest := text[i+1:]
	last := byte(0)
	if i > 0 {
		last = text[i-1]
	}
	switch text[i] {
	case '`':
		return true
	case '\\':
		return rest == "" || strings.IndexByte(escapable, rest[0]) >= 0
	case '*':
		return last != ' ' || rest == "" || rest[0] != ' '
	case '_':
		next, _ := utf8.DecodeRuneInString(rest)
		before, _ := utf8.DecodeLastRuneInString(text[:i])
		return !(isWordRune(before) && isWordRune(next)) && !(last == ' ' && rest != "" && rest[0] == ' ')
	case '<':
		return rest == "" || rest[0] == '/' || rest[0] == '!' || rest[0] == '?' || isLetter(rest[0])
	case '&':
		return rest == "" || isEntity(rest)
	case '~':
		return strings.HasPrefix(rest, "~") || last == '~'
	case '(':
		return last == ']'
	case ':':
		return last == ']' && text[0] == '['
	}
	return false
}

// escapable are the characters that a backslash escapes in Markdown.
const escapable = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"

func isWordRune(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) }

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

// isEntity reports whether an ampersand before rest begins a character reference.
func isEntity(rest string) bool {
	end := strings.IndexByte(rest[:min(len(rest), 40)], ';')
	return end > 0 && strings.Trim(strings.ToLower(rest[:end]), "abcdefghijklmnopqrstuvwxyz0123456789#") == ""
}

// labelEscaper escapes a text between the brackets of a link or an image.
var labelEscaper = strings.NewReplacer(`\`, `\\`, "[", `\[`, "]", `\]`, "`", "\\`", "<", `\<`, "*", `\*`, "_", `\_`)
