package page

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/JohannesKaufmann/html-to-markdown/v2/converter"
	"github.com/JohannesKaufmann/html-to-markdown/v2/marker"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/commonmark"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/strikethrough"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/table"
	"golang.org/x/net/html"
)

// newConverter returns the converter for output trees, created on first use.
var newConverter = sync.OnceValue(func() *converter.Converter {
	return converter.NewConverter(converter.WithPlugins(
		outputPlugin{},
		commonmark.NewCommonmarkPlugin(commonmark.WithHorizontalRule("---"), commonmark.WithListEndComment(false)),
		strikethrough.NewStrikethroughPlugin(),
		table.NewTablePlugin(table.WithCellPaddingBehavior(table.CellPaddingBehaviorMinimal)),
	))
})

// outputPlugin takes the place of the library's base plugin, which cleans up
// arbitrary HTML: an output tree needs no cleaning, and its text is escaped here.
type outputPlugin struct{}

// Name returns the name of the plugin that the commonmark plugin requires.
func (outputPlugin) Name() string { return "base" }

// Init registers the renderer and the escaping of text.
func (outputPlugin) Init(c *converter.Converter) error {
	c.Register.Renderer(renderElement, converter.PriorityEarly)
	c.Register.TextTransformer(func(ctx converter.Context, text string) string {
		return outputIn(ctx).escape(text)
	}, converter.PriorityStandard)
	c.Register.UnEscaper(isLineStart, converter.PriorityStandard)
	c.Register.PostRenderer(trimLines, converter.PriorityLate-1) // before the line breaks of code are restored
	return nil
}

type outputKey struct{}

func outputIn(ctx context.Context) *output {
	o, _ := ctx.Value(outputKey{}).(*output)
	return o
}

// convert returns the tree as text, at most limit bytes.
func (o *output) convert(ctx context.Context, limit int) (text string, err error) {
	o.flush()
	o.limit = limit
	defer func() {
		if cause := recover(); cause != nil { // a fault in the library fails only this page
			err = fmt.Errorf("convert a page: %v", cause)
		}
	}()
	ctx = context.WithValue(ctx, outputKey{}, o)
	// The converter changes the document that it is given before it renders it. So it
	// gets an empty one, and renderElement renders the tree in its place.
	converted, err := newConverter().ConvertNode(&html.Node{Type: html.DocumentNode}, converter.WithContext(ctx))
	if err != nil {
		return "", fmt.Errorf("convert a page: %w", err)
	}
	all := string(converted)
	if len(all) > limit {
		o.full = true
		for all = all[:limit]; !utf8.ValidString(all[max(0, len(all)-utf8.UTFMax):]) && len(all) > 0; {
			all = all[:len(all)-1]
		}
	}
	return strings.TrimRight(all, " \n"), ctx.Err()
}

// renderElement renders the elements that the library does not know, or renders
// differently: it encodes addresses again, pads the numbers of lists, separates
// nested lists, and unescapes quotes without regard to the quote marks.
func renderElement(ctx converter.Context, w converter.Writer, n *html.Node) converter.RenderStatus {
	if ctx.Err() != nil {
		return converter.RenderSuccess
	}
	switch n.Data {
	case "": // the document
		w.Write(renderBlocks(ctx, outputIn(ctx).root))
	case "td", "th":
		renderLine(ctx, w, n)
	case "p":
		w.WriteString("\n\n")
		renderLine(ctx, w, n)
		w.WriteString("\n\n")
	case rawElement:
		w.WriteString(attr(n, "text"))
	case "a":
		var text bytes.Buffer
		renderLine(ctx, &text, n)
		w.WriteString("[" + strings.TrimSpace(text.String()) + "](" + attr(n, "href") + ")")
	case "img":
		w.WriteString("![" + attr(n, "alt") + "](" + attr(n, "src") + ")")
	case "br":
		w.WriteString("\n")
	case "li":
		w.Write(renderBlocks(ctx, n))
	case "ol":
		renderPrefixedList(ctx, w, n)
	case "blockquote":
		prefix := attr(n, "prefix")
		w.WriteString("\n\n")
		w.Write(indent(renderBlocks(ctx, n), prefix, prefix))
		w.WriteString("\n\n")
	case "pre":
		if !outputIn(ctx).plain {
			return converter.RenderTryNext
		}
		w.WriteString("\n\n" + strings.ReplaceAll(rawTextOf(n), "\n", codeNewline) + "\n\n")
	default:
		return converter.RenderTryNext
	}
	return converter.RenderSuccess
}

// codeNewline stands for a line break in code until the end of the conversion.
const codeNewline = string(marker.MarkerCodeBlockNewline)

// renderLine renders the children of an element. Text is escaped directly, because
// the library sorts its list of handlers for each text.
func renderLine(ctx converter.Context, w converter.Writer, n *html.Node) {
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		if c.Type == html.TextNode {
			w.WriteString(outputIn(ctx).escape(c.Data))
		} else {
			renderNode(ctx, w, c)
		}
	}
}

func renderNode(ctx converter.Context, w converter.Writer, n *html.Node) {
	if renderElement(ctx, w, n) == converter.RenderTryNext {
		ctx.RenderNodes(ctx, w, n)
	}
}

// renderBlocks renders the blocks in an element, up to the limit. A list in an item
// follows the text before it without an empty line.
func renderBlocks(ctx converter.Context, n *html.Node) []byte {
	var all []byte
	limit := outputIn(ctx).limit
	for c := n.FirstChild; c != nil && len(all) <= limit; c = c.NextSibling {
		var block bytes.Buffer
		renderNode(ctx, &block, c)
		text := bytes.Trim(block.Bytes(), "\n")
		if len(text) == 0 {
			continue
		}
		if len(all) > 0 {
			all = append(all, '\n')
			if n.Data != "li" || c.Data != "ul" && c.Data != "ol" {
				all = append(all, '\n')
			}
		}
		if bytes.IndexByte(text, byte(marker.MarkerEscaping)) >= 0 {
			text = ctx.UnEscapeContent(text)
		}
		all = append(all, text...)
	}
	return all
}

// renderPrefixedList renders a list of items with prefixes: numbers, the marks of
// footnotes, and the colons of definitions.
func renderPrefixedList(ctx converter.Context, w converter.Writer, n *html.Node) {
	w.WriteString("\n\n")
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		var item bytes.Buffer
		renderNode(ctx, &item, c)
		if prefix := attr(c, "prefix"); item.Len() > 0 {
			w.Write(indent(item.Bytes(), prefix, strings.Repeat(" ", min(len(prefix), 4))))
			w.WriteString("\n")
		}
	}
	w.WriteString("\n")
}

// indent puts prefixes before the first line of a text and before the others.
func indent(text []byte, first, rest string) []byte {
	for _, newline := range []string{"\n", codeNewline} {
		if bytes.Contains(text, []byte(newline)) {
			text = bytes.ReplaceAll(text, []byte(newline), []byte(newline+rest))
		}
	}
	return append([]byte(first), text...)
}

// trimLines removes blanks from the ends of lines, such as the indents of empty lines.
func trimLines(_ converter.Context, text []byte) []byte {
	for bytes.Contains(text, []byte(" \n")) {
		text = bytes.ReplaceAll(text, []byte(" \n"), []byte("\n"))
	}
	return text
}

// escape escapes text so that nothing in it is Markdown markup. A character that is
// markup only at the beginning of a line gets a marker before it: the library
// replaces it with a backslash or removes it once it knows the line.
func (o *output) escape(text string) string {
	if o.plain || !strings.ContainsAny(text, "\\`*_[]<>&~|#(:!-+=.)") {
		return text
	}
	lineMark := lineMarkIn(text)
	var b strings.Builder
	b.Grow(len(text) + 8)
	for i := range len(text) {
		switch {
		case i == lineMark || i == len(text)-1 && (text[i] == '!' || text[i] == '#'):
			b.WriteByte(byte(marker.MarkerEscaping))
		case isInlineMark(text, i):
			b.WriteByte('\\')
		}
		b.WriteByte(text[i])
	}
	return b.String()
}

// lineMarkIn returns the position of the character that would make a line beginning
// with text a heading, list, quote, table or rule; -1 if there is none.
func lineMarkIn(text string) int {
	digits := len(text) - len(strings.TrimLeft(text, "0123456789"))
	if digits > 0 && digits < 10 && digits < len(text) && (text[digits] == '.' || text[digits] == ')') {
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

// isLineStart decides about the markers that the library has no rule for: brackets
// that would make a link, and the beginnings of tables and definitions. It looks
// back at most 1000 bytes, more than any label has.
func isLineStart(text []byte, i int) int {
	line := bytes.TrimRight(text[max(0, i-1000):i], string(marker.MarkerEscaping))
	line = bytes.TrimLeft(line[bytes.LastIndexByte(line, '\n')+1:], " ")
	afterBracket := bytes.HasSuffix(line, []byte("]"))
	switch text[i] {
	case '(':
		if afterBracket {
			return 1
		}
	case '|', ':':
		if len(line) == 0 || afterBracket && line[0] == '[' {
			return 1
		}
	}
	return -1
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

// labelEscaper escapes a text between the brackets of a link or an image. Underscores
// stay: they are in the names of credentials, which would not be recognised.
var labelEscaper = strings.NewReplacer(`\`, `\\`, "[", `\[`, "]", `\]`, "`", "\\`", "<", `\<`, "*", `\*`)
