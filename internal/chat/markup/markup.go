// Package markup reads the Markdown that models write in messages, renders it in the
// markup of services of chats, and splits it into parts that fit into one message each.
//
// It knows what messages need: paragraphs whose line breaks count, headings, lists,
// quotes, code, tables, links and emphasis. HTML is text. Any text is valid, and time and
// depth are bounded.
//
// Begin with [Style] and [Split].
package markup

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// A Kind is what a Node is.
type Kind int

// The kinds: first what lines consist of, then what a document consists of.
const (
	Text Kind = iota
	Bold
	Italic
	Strike
	Code
	Link
	Paragraph
	Heading
	Block // of code
	Quote
	List // of items
	Item
	Rule
	Table // of rows
	Row   // of cells
	Cell
)

// A Node is a part of a document.
type Node struct {
	Kind     Kind
	Text     string // of Text, Code and Block
	URL      string // of a Link: http, https or mailto
	Language string // of a Block
	Level    int    // of a Heading, from 1 to 6
	Marker   string // of an Item: - or a number such as 3.
	Tight    bool   // no blank line is before it
	Children []Node
}

// maxDepth is how deep quotes, lists and emphasis nest. What is deeper is text.
const maxDepth = 8

// Parse returns the blocks of a document.
func Parse(markdown string) []Node { return parse(linesOf(markdown), 0) }

func parse(lines []string, depth int) (nodes []Node) {
	for _, b := range scan(lines, depth) {
		n := b.node(lines[b.from:b.to], depth)
		if last := len(nodes) - 1; b.kind == Item {
			item := n
			if last >= 0 && nodes[last].Kind == List && !b.first {
				nodes[last].Children = append(nodes[last].Children, item)
				continue
			}
			n = Node{Kind: List, Tight: b.tight, Children: []Node{item}}
		}
		nodes = append(nodes, n)
	}
	return nodes
}

// node returns the node of a block with these lines.
func (b block) node(lines []string, depth int) Node {
	n := Node{Kind: b.kind, Tight: b.tight}
	switch b.kind {
	case Block:
		var body []string
		n.Language, body = fenced(lines)
		n.Text = strings.Join(body, "\n")
	case Heading:
		text := strings.TrimSpace(lines[0])
		n.Level = len(text) - len(strings.TrimLeft(text, "#"))
		text = strings.TrimSpace(text[n.Level:])
		if rest := strings.TrimRight(text, "#"); rest == "" || strings.HasSuffix(rest, " ") {
			text = strings.TrimSpace(rest)
		}
		n.Children, _ = inline(text)
	case Quote:
		n.Children = parse(unquote(lines), depth+1)
	case Item:
		n.Marker = b.marker
		n.Children = parse(b.content(lines), depth+1)
	case Table:
		for i, line := range lines {
			if i == 1 {
				continue // the rule below the header
			}
			row := Node{Kind: Row}
			for _, cell := range cells(line) {
				children, _ := inline(cell)
				row.Children = append(row.Children, Node{Kind: Cell, Children: children})
			}
			n.Children = append(n.Children, row)
		}
	case Paragraph:
		n.Children, _ = inline(paragraph(lines))
	}
	return n
}

// A Style is the markup of a service. Functions get what is within them in that markup; a
// nil one leaves it as it is.
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
func (s Style) Render(markdown string) string { return s.blocks(Parse(markdown)) }

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

func (s Style) blocks(nodes []Node) string {
	var b strings.Builder
	for _, n := range nodes {
		text := s.block(n)
		if text == "" {
			continue
		}
		if b.Len() > 0 {
			b.WriteString("\n")
			if !n.Tight {
				b.WriteString("\n")
			}
		}
		b.WriteString(text)
	}
	return b.String()
}

func (s Style) block(n Node) string {
	switch n.Kind {
	case Block:
		return s.code(n.Language, n.Text)
	case Table:
		return s.code("", columns(n))
	case Rule:
		if s.Rule != "" {
			return s.Rule
		}
		return s.text("———")
	case List:
		return s.list(n)
	case Quote:
		return apply(s.Quote, s.blocks(n.Children))
	case Heading:
		content := s.spans(n.Children)
		if s.Heading != nil && content != "" {
			content = s.Heading(n.Level, content)
		}
		return content
	}
	return apply(s.Paragraph, s.spans(n.Children))
}

func apply(f func(string) string, content string) string {
	if f == nil || content == "" {
		return content
	}
	return f(content)
}

func (s Style) text(text string) string { return apply(s.Text, text) }

func (s Style) code(language, code string) string {
	if s.Block == nil {
		return s.text(code)
	}
	return s.Block(language, code)
}

func (s Style) list(n Node) string {
	var items []string
	ordered := false
	for _, item := range n.Children {
		content := s.blocks(item.Children)
		ordered = item.Marker != "-"
		if s.List == nil {
			marker := item.Marker
			if !ordered {
				marker = "•"
				if s.Bullet != "" {
					marker = s.Bullet
				}
			}
			content = strings.TrimRight(marker+" "+strings.ReplaceAll(content, "\n", "\n  "), " ")
			if len(items) > 0 && !item.Tight {
				content = "\n" + content
			}
		}
		items = append(items, content)
	}
	if s.List != nil {
		return s.List(items, ordered)
	}
	return strings.Join(items, "\n")
}

func (s Style) spans(nodes []Node) string {
	var b strings.Builder
	for _, n := range nodes {
		b.WriteString(s.span(n))
	}
	return b.String()
}

func (s Style) span(n Node) string {
	switch n.Kind {
	case Text:
		return s.text(n.Text)
	case Code:
		if s.Code == nil {
			return s.text(n.Text)
		}
		return s.Code(n.Text)
	case Link:
		label := s.spans(n.Children)
		if bare := strings.TrimPrefix(n.URL, "mailto:"); textOf(n.Children) == bare || textOf(n.Children) == n.URL {
			label = ""
		}
		switch {
		case s.Link != nil:
			return s.Link(label, n.URL)
		case label == "":
			return s.text(strings.TrimPrefix(n.URL, "mailto:"))
		}
		return label + s.text(" ("+n.URL+")")
	}
	content := s.spans(n.Children)
	if s.Span == nil || strings.TrimSpace(content) == "" {
		return content
	}
	return s.Span(n.Kind, content)
}

// textOf returns the text of nodes without markup.
func textOf(nodes []Node) string {
	var b strings.Builder
	for _, n := range nodes {
		b.WriteString(n.Text)
		b.WriteString(textOf(n.Children))
	}
	return b.String()
}

// columns returns a table as text whose columns have one width.
func columns(n Node) string {
	const maxWidth = 40 // wider cells are not padded
	var rows [][]string
	var widths []int
	for _, row := range n.Children {
		var texts []string
		for i, cell := range row.Children {
			text := strings.ReplaceAll(Style{}.spans(cell.Children), "\n", " ")
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], min(utf8.RuneCountInString(text), maxWidth))
			texts = append(texts, text)
		}
		rows = append(rows, texts)
	}
	var b strings.Builder
	for i, row := range rows {
		line := ""
		for j, text := range row {
			line += text + strings.Repeat(" ", max(widths[j]-utf8.RuneCountInString(text), 0)+2)
		}
		b.WriteString(strings.TrimRight(line, " "))
		if i == 0 {
			b.WriteString("\n")
			for j, width := range widths {
				if j > 0 {
					b.WriteString("  ")
				}
				b.WriteString(strings.Repeat("-", width))
			}
		}
		if i < len(rows)-1 {
			b.WriteString("\n")
		}
	}
	return b.String()
}

// markerOf returns the marker of an item of a list with a number.
func markerOf(number int) string { return strconv.Itoa(number) + "." }
