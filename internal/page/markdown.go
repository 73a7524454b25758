package page

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/JohannesKaufmann/html-to-markdown/v2/collapse"
	"github.com/JohannesKaufmann/html-to-markdown/v2/converter"
	"github.com/JohannesKaufmann/html-to-markdown/v2/marker"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/commonmark"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/strikethrough"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/table"
	"golang.org/x/net/html"

	"github.com/mcp-tools/mcp-tools/internal/markdown"
)

// newConverter returns the converter for copies of pages, created on first use.
var newConverter = sync.OnceValue(func() *converter.Converter {
	return converter.NewConverter(converter.WithPlugins(
		pagePlugin{},
		commonmark.NewCommonmarkPlugin(commonmark.WithHorizontalRule("---"), commonmark.WithListEndComment(false)),
		strikethrough.NewStrikethroughPlugin(),
		table.NewTablePlugin(table.WithCellPaddingBehavior(table.CellPaddingBehaviorMinimal)),
	))
})

// pagePlugin takes the place of the library's base plugin. The base plugin escapes every < and
// >, takes quadratic time to look ahead from brackets, and separates all blocks by empty lines.
type pagePlugin struct{}

// Name returns the name of the plugin that the commonmark plugin requires.
func (pagePlugin) Name() string { return "base" }

// Init registers the renderers and the escaping of text.
func (pagePlugin) Init(c *converter.Converter) error {
	c.Register.PreRenderer(func(_ converter.Context, doc *html.Node) {
		collapse.Collapse(doc, &collapse.DomFuncs{IsVoidNode: func(n *html.Node) bool {
			return n.Data == "img" || n.Data == rawElement
		}})
	}, converter.PriorityLate)
	c.Register.Renderer(renderElement, converter.PriorityEarly)
	c.Register.TextTransformer(escape, converter.PriorityStandard)
	c.Register.UnEscaper(isLineStart, converter.PriorityStandard)
	c.Register.PostRenderer(func(ctx converter.Context, text []byte) []byte {
		return ctx.UnEscapeContent(tidy(text))
	}, converter.PriorityStandard)
	return nil
}

// plainKey is the key of a context for plain text.
type plainKey struct{}

func isPlain(ctx context.Context) bool { return ctx.Value(plainKey{}) != nil }

// convert returns a document as text, at most limit bytes; cut reports whether it was longer.
func convert(ctx context.Context, doc *html.Node, plain bool, limit int) (text string, cut bool, err error) {
	defer func() {
		if cause := recover(); cause != nil { // a fault in the library fails only this page
			err = fmt.Errorf("convert a page: %v", cause)
		}
	}()
	with := ctx
	if plain {
		with = context.WithValue(ctx, plainKey{}, true)
	}
	converted, err := newConverter().ConvertNode(doc, converter.WithContext(with))
	if err != nil {
		return "", false, fmt.Errorf("convert a page: %w", err)
	}
	all := string(converted)
	if cut = len(all) > limit; cut {
		all = strings.ToValidUTF8(all[:limit], "")
	}
	return strings.TrimRight(all, " \n"), cut, ctx.Err()
}

// Breaks that renderers write besides line breaks.
const (
	softBreak   = '\x01'                                // the next block begins on a new line
	tightBreak  = '\x02'                                // the next block follows without an empty line
	codeNewline = string(marker.MarkerCodeBlockNewline) // stands for a line break in code until the end
)

// renderElement renders the elements that the library does not know, or renders
// differently: it encodes addresses again, pads the numbers of lists, separates
// nested lists, and unescapes quotes without regard to the quote marks.
func renderElement(ctx converter.Context, w converter.Writer, n *html.Node) converter.RenderStatus {
	if ctx.Err() != nil {
		return converter.RenderSuccess
	}
	switch n.Data {
	case "div":
		w.WriteByte(softBreak)
		ctx.RenderChildNodes(ctx, w, n)
		w.WriteByte(softBreak)
	case rawElement:
		w.WriteString(attr(n, "text"))
	case "a":
		renderLink(w, content(ctx, n), attr(n, "href"))
	case "img":
		w.WriteString("![" + attr(n, "alt") + "](" + attr(n, "src") + ")")
	case "br":
		w.WriteString("\n")
	case "td", "th":
		text := strings.NewReplacer("\n", " ", string(marker.MarkerEscaping)+"|", `\|`, "|", `\|`)
		text.WriteString(w, string(content(ctx, n)))
	case "li":
		w.Write(tidy(content(ctx, n)))
	case "ul":
		beginList(w, n)
		return converter.RenderTryNext
	case "ol":
		beginList(w, n)
		renderNumbered(ctx, w, n)
	case "dt":
		renderBlock(w, follows(n, "dt"), content(ctx, n))
	case "dd":
		prefix := ": "
		if isPlain(ctx) {
			prefix = "  "
		}
		renderBlock(w, follows(n, "dt", "dd"), indent(unescaped(ctx, n), prefix, "  "))
	case "blockquote":
		prefix := attr(n, "prefix")
		renderBlock(w, false, indent(unescaped(ctx, n), prefix, prefix))
	case "pre":
		if !isPlain(ctx) {
			return converter.RenderTryNext
		}
		renderBlock(w, false, []byte(strings.ReplaceAll(rawTextOf(n), "\n", codeNewline)))
	default:
		return converter.RenderTryNext
	}
	return converter.RenderSuccess
}

// renderLink writes a link on one line, with the blanks around its text outside.
func renderLink(w converter.Writer, text []byte, href string) {
	if bytes.ContainsAny(text, "\n"+string(softBreak)) {
		text = bytes.Join(bytes.FieldsFunc(text, func(r rune) bool { return r < utf8.RuneSelf && isBreak(byte(r)) }), []byte(" "))
	}
	inner := bytes.TrimSpace(text)
	if before, after, _ := bytes.Cut(text, inner); len(inner) > 0 {
		fmt.Fprintf(w, "%s[%s](%s)%s", before, inner, href, after)
	} else {
		w.Write(text)
	}
}

// content returns the content of an element as Markdown.
func content(ctx converter.Context, n *html.Node) []byte {
	var b bytes.Buffer
	ctx.RenderChildNodes(ctx, &b, n)
	return b.Bytes()
}

// unescaped returns the content of an element whose lines begin with a prefix.
func unescaped(ctx converter.Context, n *html.Node) []byte {
	text := tidy(content(ctx, n))
	if bytes.IndexByte(text, byte(marker.MarkerEscaping)) >= 0 {
		text = ctx.UnEscapeContent(text)
	}
	return text
}

// renderBlock writes a block, with an empty line before it unless it is tight.
func renderBlock(w converter.Writer, tight bool, text []byte) {
	if len(text) == 0 {
		return
	}
	if tight {
		w.WriteByte(tightBreak)
	}
	w.WriteString("\n\n")
	w.Write(text)
	w.WriteString("\n\n")
}

// beginList lets a list in an item follow the text before it without an empty line.
func beginList(w converter.Writer, n *html.Node) {
	for n = n.Parent; n.Data == "div" || n.Data == "p"; n = n.Parent {
	}
	if n.Data == "li" || n.Data == "dd" {
		w.WriteByte(tightBreak)
	}
}

// renderNumbered renders a list with the numbers that the page shows.
func renderNumbered(ctx converter.Context, w converter.Writer, n *html.Node) {
	w.WriteString("\n\n")
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		if item := unescaped(ctx, c); len(item) > 0 {
			prefix := attr(c, "prefix")
			w.Write(indent(item, prefix, strings.Repeat(" ", min(len(prefix), 4))))
			w.WriteString("\n")
		}
	}
	w.WriteString("\n")
}

// indent puts prefixes before the first line of a text and before the others.
func indent(text []byte, first, rest string) []byte {
	if len(text) == 0 {
		return nil
	}
	for _, newline := range []string{"\n", codeNewline} {
		if bytes.Contains(text, []byte(newline)) {
			text = bytes.ReplaceAll(text, []byte(newline), []byte(newline+rest))
		}
	}
	return append([]byte(first), text...)
}

// tidy writes the breaks between blocks as one or two line breaks, without blanks before
// them, and removes those at the ends.
func tidy(text []byte) []byte {
	all := make([]byte, 0, len(text))
	from := 0 // of the text that is not in all yet
	for i := 0; i < len(text); i++ {
		if !isBreak(text[i]) {
			continue
		}
		start, lines, isTight, blanks := i, 0, false, 0
		for ; i < len(text) && isBreak(text[i]); i++ {
			switch blanks++; text[i] {
			case '\n':
				lines, blanks = min(lines+1, 2), 0
			case softBreak, tightBreak:
				lines, blanks = max(lines, 1), 0
				isTight = isTight || text[i] == tightBreak
			}
		}
		if lines == 0 {
			continue
		}
		if isTight {
			lines = 1
		}
		if all = append(all, text[from:start]...); len(all) > 0 && i < len(text) {
			all = append(all, "\n\n"[:lines]...)
		}
		from = i - blanks
	}
	return append(all, bytes.TrimRight(text[from:], " ")...)
}

func isBreak(c byte) bool { return c == ' ' || c == '\n' || c == softBreak || c == tightBreak }

// escape escapes text so that nothing in it is Markdown markup. A character that is
// markup only at the beginning of a line gets a marker before it: the library
// replaces it with a backslash or removes it once it knows the line.
func escape(ctx converter.Context, text string) string {
	if isPlain(ctx) || !strings.ContainsAny(text, "\\`*_[]<>&~|#(:!-+=.)") {
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

// lineMarkIn returns the position of the character that could make a line beginning with text
// something else than a paragraph; -1 if there is none.
func lineMarkIn(text string) int {
	if text[0] == '(' || text[0] == ':' && (len(text) == 1 || text[1] == ' ' || strings.Trim(text, "-=_*|:+ ") == "") {
		return 0
	}
	return markdown.LineMark(text)
}

// isInlineMark reports whether a character would be markup within a line.
func isInlineMark(text string, i int) bool {
	afterBracket := i > 0 && text[i-1] == ']'
	switch text[i] {
	case '(':
		return afterBracket
	case ':':
		return afterBracket && text[0] == '['
	}
	return markdown.IsMark(text, i, true)
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

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

// labelEscaper escapes a text between the brackets of a link or an image. Underscores stay:
// they are in the names of credentials, and an escaped name is not recognised.
var labelEscaper = strings.NewReplacer(`\`, `\\`, "[", `\[`, "]", `\]`, "`", "\\`", "<", `\<`, "*", `\*`)
