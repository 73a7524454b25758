// Package markup reads the Markdown that models write in messages, renders it in the
// markup of services of chats, and splits it into parts that fit into one message each.
//
// goldmark parses, with the tables, tasks and links of GitHub. Three rules are ours, because a
// message is not a page: line breaks count, HTML is text, and a * between two letters or digits
// is no emphasis, since many services show none within words. Package internal/markdown/parser
// bounds goldmark's time: it grows with the square of the depth of quotes and of the number of
// brackets: 60 kB of "> " took 2.5 s, and take 10 ms. Any text is valid, and time and depth are
// bounded.
//
// Begin with [Style] and [Split].
package markup

import (
	"html"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/yuin/goldmark/ast"
	extension "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/util"

	"github.com/mcp-tools/mcp-tools/internal/markdown/parser"
)

// A Kind is a kind of emphasis.
type Kind int

// The kinds of emphasis.
const (
	Bold Kind = iota
	Italic
	Strike
)

// maxDepth is the maximum depth of nested quotes, lists and emphasis. Deeper levels are text.
const maxDepth = parser.MaxDepth

// A Style is the markup of a service. Each function gets its content, already in that markup; a
// nil function leaves it as it is.
type Style struct {
	Text func(text string) string // escapes
	Code func(code string) string // escapes, too
	// Block has the code without a line break at the end. Tables are blocks without a
	// language, with columns of equal width.
	Block func(language, code string) string
	Span  func(kind Kind, content string) string // Bold, Italic or Strike
	// Link gets "" as the label if that is the URL.
	Link      func(label, url string) string
	Heading   func(level int, content string) string
	Paragraph func(content string) string
	Quote     func(content string) string
	List      func(items []string, ordered bool) string // without their markers
	Bullet    string                                    // "" is •
	Rule      string                                    // "" is ———
}

// Render returns a text in the markup of the service.
func (s Style) Render(markdown string) string {
	source := []byte(clean(markdown))
	return writer{s, source}.blocks(whole().parse(source))
}

// Plain returns a text without markup. Links are shown after their labels.
func Plain(markdown string) string { return Style{}.Render(markdown) }

// Length returns the number of UTF-16 units of a text. It is not less than the number of
// its characters.
func Length(text string) int {
	n := 0
	for _, r := range text {
		n++
		if r > 0xffff {
			n++
		}
	}
	return n
}

// A writer writes the nodes of a source in a style.
type writer struct {
	Style
	source []byte
}

// blocks returns the children of a node. They are blocks.
func (w writer) blocks(parent ast.Node) string {
	var b strings.Builder
	for n := parent.FirstChild(); n != nil; n = n.NextSibling() {
		text := w.block(n)
		if text == "" {
			continue
		}
		if b.Len() > 0 {
			b.WriteString("\n")
			if apart(n, w.source) {
				b.WriteString("\n")
			}
		}
		b.WriteString(text)
	}
	return b.String()
}

func (w writer) block(n ast.Node) string {
	switch n := n.(type) {
	case *ast.FencedCodeBlock:
		return w.code(string(n.Language(w.source)), strings.TrimSuffix(string(n.Lines().Value(w.source)), "\n"))
	case *ast.CodeBlock:
		return w.code("", strings.TrimRight(string(n.Lines().Value(w.source)), "\n"))
	case *extension.Table:
		return w.code("", w.columns(n))
	case *ast.ThematicBreak:
		if w.Rule != "" {
			return w.Rule
		}
		return w.text("———")
	case *ast.List:
		return w.list(n)
	case *ast.Blockquote:
		return apply(w.Quote, w.blocks(n))
	case *ast.Heading:
		content := w.spans(n, 0)
		if w.Heading != nil && content != "" {
			content = w.Heading(n.Level, content)
		}
		return content
	}
	return apply(w.Paragraph, w.spans(n, 0))
}

func apply(f func(string) string, content string) string {
	if f == nil || content == "" {
		return content
	}
	return f(content)
}

func (w writer) text(text string) string { return apply(w.Text, text) }

func (w writer) code(language, code string) string {
	if w.Block == nil {
		return w.text(code)
	}
	return w.Block(language, code)
}

func (w writer) list(list *ast.List) string {
	var items []string
	for n := list.FirstChild(); n != nil; n = n.NextSibling() {
		content := w.blocks(n)
		if w.List == nil {
			marker := "•"
			if list.IsOrdered() {
				marker = strconv.Itoa(list.Start+len(items)) + "."
			} else if w.Bullet != "" {
				marker = w.Bullet
			}
			content = strings.TrimRight(marker+" "+strings.ReplaceAll(content, "\n", "\n  "), " ")
			if len(items) > 0 && n.HasBlankPreviousLines() {
				content = "\n" + content
			}
		}
		items = append(items, content)
	}
	if w.List != nil {
		return w.List(items, list.IsOrdered())
	}
	return strings.Join(items, "\n")
}

// spans returns the children of a node. They are parts of lines.
func (w writer) spans(parent ast.Node, depth int) string {
	var b strings.Builder
	for n := parent.FirstChild(); n != nil; n = n.NextSibling() {
		b.WriteString(w.span(n, depth))
	}
	return b.String()
}

func (w writer) span(n ast.Node, depth int) string {
	if depth > maxDepth {
		return w.text(w.flat(n))
	}
	switch n := n.(type) {
	case *ast.Emphasis:
		return w.emphasis([]Kind{Italic, Bold}[min(n.Level, 2)-1], n, depth)
	case *extension.Strikethrough:
		return w.emphasis(Strike, n, depth)
	case *ast.Link:
		return w.link(w.spans(n, depth+1), w.flat(n), plain(string(n.Destination)))
	case *ast.Image:
		return w.link(w.spans(n, depth+1), w.flat(n), plain(string(n.Destination)))
	case *ast.AutoLink:
		url := string(n.URL(w.source))
		if n.AutoLinkType == ast.AutoLinkEmail && !strings.HasPrefix(url, "mailto:") {
			url = "mailto:" + url
		}
		return w.link(w.text(w.flat(n)), w.flat(n), url)
	case *ast.CodeSpan:
		if w.Code != nil {
			return w.Code(w.flat(n))
		}
	}
	return w.text(w.flat(n))
}

func (w writer) emphasis(kind Kind, n ast.Node, depth int) string {
	content := w.spans(n, depth+1)
	if w.Span == nil || strings.TrimSpace(content) == "" {
		return content
	}
	return w.Span(kind, content)
}

// link returns a link with a label, whose text without markup is also given.
func (w writer) link(label, words, url string) string {
	bare := strings.TrimPrefix(url, "mailto:")
	switch {
	case !isURL(url): // a file, an anchor, or a scheme that nothing may follow
		if url == "" || words == url {
			return w.text(words)
		}
		return w.text(strings.TrimSpace(words + " (" + url + ")"))
	case strings.TrimSpace(words) == "", words == bare, words == url:
		label = ""
	}
	switch {
	case w.Link != nil:
		return w.Link(strings.ReplaceAll(label, "\n", " "), url)
	case label == "":
		return w.text(bare)
	}
	return label + w.text(" ("+url+")")
}

func isURL(text string) bool {
	scheme, rest, found := strings.Cut(text, ":")
	switch strings.ToLower(scheme) {
	case "http", "https":
		rest, found = strings.CutPrefix(rest, "//")
	case "mailto":
	default:
		return false
	}
	return found && rest != "" && !strings.ContainsFunc(text, func(r rune) bool {
		return r <= ' ' || r == 0x7f || strings.ContainsRune("<>\"`", r)
	})
}

// flat returns the text of a node without markup.
func (w writer) flat(n ast.Node) string {
	var b strings.Builder
	_ = ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) { // the function returns no error
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Text:
			value := string(n.Value(w.source))
			switch {
			case n.Parent().Kind() == ast.KindCodeSpan:
				value = strings.ReplaceAll(value, "\n", " ")
			case !n.IsRaw():
				value = plain(value)
			}
			b.WriteString(value)
			if n.SoftLineBreak() || n.HardLineBreak() {
				b.WriteString("\n")
			}
		case *ast.AutoLink:
			b.Write(n.Label(w.source))
		case *ast.RawHTML:
			tag := string(n.Segments.Value(w.source))
			if strings.EqualFold(strings.Trim(tag, "<>/ "), "br") {
				tag = "\n"
			}
			b.WriteString(tag)
		case *extension.TaskCheckBox:
			b.WriteString(map[bool]string{false: "☐ ", true: "☑ "}[n.IsChecked])
		}
		return ast.WalkContinue, nil
	})
	return b.String()
}

// plain returns a text without the backslashes of Markdown and the entities of HTML.
func plain(raw string) string {
	const maxEntity = 40
	var b strings.Builder
	for {
		i := strings.IndexAny(raw, `\&`)
		if i < 0 || i == len(raw)-1 {
			b.WriteString(raw)
			return b.String()
		}
		b.WriteString(raw[:i])
		raw = raw[i:]
		n, sign := 1, raw[:1]
		if end := strings.IndexByte(raw[:min(len(raw), maxEntity)], ';'); raw[0] == '&' && end > 0 {
			if one := html.UnescapeString(raw[:end+1]); !strings.HasSuffix(one, ";") || end == len("&semi") {
				n, sign = end+1, one
			}
		} else if raw[0] == '\\' && util.IsPunct(raw[1]) {
			n, sign = 2, raw[1:2]
		}
		b.WriteString(sign)
		raw = raw[n:]
	}
}

// columns returns a table as text whose columns have one width.
func (w writer) columns(table *extension.Table) string {
	const maxWidth = 40 // wider cells are not padded
	var rows [][]string
	var widths []int
	for row := table.FirstChild(); row != nil; row = row.NextSibling() {
		var texts []string
		for cell := row.FirstChild(); cell != nil; cell = cell.NextSibling() {
			text := strings.ReplaceAll(writer{source: w.source}.spans(cell, 0), "\n", " ")
			if len(texts) == len(widths) {
				widths = append(widths, 0)
			}
			widths[len(texts)] = max(widths[len(texts)], min(utf8.RuneCountInString(text), maxWidth))
			texts = append(texts, text)
		}
		rows = append(rows, texts)
	}
	var lines []string
	for i, row := range rows {
		line, rule := "", ""
		for j, text := range row {
			line += text + strings.Repeat(" ", max(widths[j]-utf8.RuneCountInString(text), 0)+2)
			rule += strings.Repeat("-", widths[j]) + "  "
		}
		lines = append(lines, strings.TrimRight(line, " "))
		if i == 0 {
			lines = append(lines, strings.TrimRight(rule, " "))
		}
	}
	return strings.Join(lines, "\n")
}
