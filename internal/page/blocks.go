package page

import (
	"slices"
	"strconv"
	"strings"

	"github.com/PuerkitoBio/goquery"
	"golang.org/x/net/html"

	"github.com/mcp-tools/mcp-tools/internal/text"
)

// fieldTags are metadata and form fields: input is no content.
var fieldTags = setOf("head meta input button optgroup meter progress")

// other copies an element without a special form.
func (r *copier) other(n *html.Node) {
	switch n.Data {
	case "label", "picture", "ruby", "rb", "bdi", "bdo", "output", "data", "slot":
		r.children(n)
		return
	}
	if inlineTags[n.Data] || strings.Contains(n.Data, "-") && !containsBlocks(n) {
		r.children(n)
		return
	}
	r.separated(n, "div")
}

// containsBlocks reports whether a custom element contains blocks, judged by its
// first 100 descendants.
func containsBlocks(root *html.Node) bool {
	visited := 0
	for n := range root.Descendants() {
		if visited++; visited > 100 {
			break
		}
		if n.Type == html.ElementNode && n.Namespace == "" && !inlineTags[n.Data] && !strings.Contains(n.Data, "-") {
			return true
		}
	}
	return false
}

// block copies a block element; false if it is not one.
func (r *copier) block(n *html.Node) bool {
	switch n.Data {
	case "h1", "h2", "h3", "h4", "h5", "h6":
		if isUnclosedHeading(n) {
			return false
		}
		r.heading(n)
	case "p", "address", "hgroup", "fieldset", "form":
		if strings.Contains(attr(n, "class"), "admonition-title") {
			r.titled(n, "strong")
		} else {
			r.separated(n, "p")
		}
	case "dl", "figure", "details", "section", "article", "main":
		r.separated(n, "p")
	case "ul", "ol", "menu", "dir":
		r.list(n)
	case "li": // without a list
		item := func() { r.container("li", "", func() { r.item(n) }) }
		last := r.at.LastChild
		switch {
		case r.line:
			item()
		case follows(n, "li") && last != nil && last.Data == "ul":
			r.into(last, item)
		default:
			r.within("ul", item)
		}
	case "dt", "dd":
		r.definition(n)
	case "pre", "listing":
		r.code(n)
	case "blockquote":
		r.quote(n)
	case "table":
		r.table(n)
	case "hr":
		if r.format != Text && !r.line {
			r.add("hr")
		}
	case "figcaption":
		r.titled(n, "em")
	case "caption", "legend", "summary":
		r.titled(n, "strong")
	case "embed", "frame":
		r.frame(n)
	case "video", "audio": // its content is for browsers without
	case "select":
		r.text(textOf(n, 120) + " ")
	default:
		return false
	}
	return true
}

// notInHeadings are blocks that no heading contains.
var notInHeadings = goquery.Single("p, ul, ol, table, blockquote")

// isUnclosedHeading reports whether a heading contains the blocks that follow it,
// because its end tag is missing.
func isUnclosedHeading(n *html.Node) bool {
	return goquery.NewDocumentFromNode(n).ChildrenMatcher(notInHeadings).Length() > 1
}

func (r *copier) heading(n *html.Node) {
	if r.line {
		r.text(" ")
		r.emphasized(n, "strong")
		r.text(" ")
		return
	}
	r.headingOf(n, func() { r.children(n) })
}

// headingOf copies a heading, on one line.
func (r *copier) headingOf(n *html.Node, write func()) {
	name := n.Data
	if r.format == Text {
		name = "p"
	}
	r.line, r.inHeading = true, true
	r.within(name, write)
	r.line, r.inHeading = false, false
}

// titled copies an element as a paragraph that is emphasised.
func (r *copier) titled(n *html.Node, name string) {
	if r.line {
		r.emphasized(n, name)
		r.text(" ")
		return
	}
	r.within("p", func() {
		if textOf(n, 10) == "" { // only an image
			r.children(n)
		} else {
			r.emphasized(n, name)
		}
	})
}

func (r *copier) quote(n *html.Node) {
	prefix := "> "
	if r.format == Text {
		prefix = "  "
	}
	r.container("blockquote", prefix, func() { r.children(n) })
}

// list copies a list with the numbers that the page shows.
func (r *copier) list(n *html.Node) {
	name := "ul"
	if n.Data == "ol" {
		name = "ol"
	}
	number, step := 1, 1
	if start, ok := parseInt(attr(n, "start")); ok && start >= 0 && start < 1e8 {
		number = start
	}
	if hasAttr(n, "reversed") && hasAttr(n, "start") {
		step = -1
	}
	r.container(name, "", func() {
		for c := n.FirstChild; c != nil; c = c.NextSibling {
			if c.Data != "li" || c.Type != html.ElementNode || r.skip[c] {
				r.node(c)
				continue
			}
			prefix := ""
			if value, ok := parseInt(attr(c, "value")); ok && value >= 0 && value < 1e8 {
				number = value
			}
			if name == "ol" {
				prefix = strconv.Itoa(max(number, 0)) + ". "
				number += step
			}
			r.container("li", prefix, func() { r.item(c) })
		}
	})
}

func parseInt(text string) (int, bool) {
	if text == "" {
		return 0, false
	}
	n, err := strconv.Atoi(text)
	return n, err == nil
}

func (r *copier) item(n *html.Node) {
	if r.line && n.PrevSibling != nil {
		r.separateItem()
	}
	if box := takeCheckbox(n); box != "" {
		r.raw(box)
		r.text(" ")
	}
	r.children(n)
}

// takeCheckbox removes the checkbox that a task in a list begins with, and returns
// it as Markdown.
func takeCheckbox(n *html.Node) string {
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		if c.Type == html.TextNode && strings.TrimSpace(c.Data) == "" {
			continue
		}
		if c.Data == "label" || c.Data == "p" {
			return takeCheckbox(c)
		}
		if c.Data != "input" || !strings.EqualFold(attr(c, "type"), "checkbox") || !isIn(c, "li") {
			return ""
		}
		n.RemoveChild(c)
		return checkbox(c)
	}
	return ""
}

func checkbox(input *html.Node) string {
	if hasAttr(input, "checked") {
		return "[x]"
	}
	return "[ ]"
}

// definition copies a term or its definition.
func (r *copier) definition(n *html.Node) {
	r.container(n.Data, "", func() {
		if n.Data == "dt" {
			r.emphasized(n, "strong")
		} else {
			r.children(n)
		}
	})
}

// isIn reports whether an element is in another one, within the same table cell.
func isIn(n *html.Node, name string) bool {
	for n = n.Parent; n != nil && n.Data != "td" && n.Data != "th"; n = n.Parent {
		if n.Data == name {
			return true
		}
	}
	return false
}

// frame copies a video, or a part of a frameset, as a link.
func (r *copier) frame(n *html.Node) {
	src := address(r.base, attr(n, "src"))
	name := first(100, attr(n, "title"), attr(n, "name"), "Frame")
	if n.Data == "embed" {
		if !videoHosts().MatchString(src) {
			return
		}
		name = "Video: " + strings.TrimPrefix(name, "Video: ")
	}
	if src == "" {
		return
	}
	r.within("p", func() { r.link(name, src, false, func() { r.text(name) }) })
}

// videoHosts matches the addresses of videos that pages embed.
var videoHosts = text.Pattern(`^https?://(www\.)?((youtube|youtube-nocookie|vimeo|player\.vimeo|dailymotion|ted|` +
	`embed\.ted|loom|player\.bilibili)\.com|youtu\.be|player\.twitch\.tv|[^/]+/videos/embed)/`)

// code copies a block of code with its white space.
func (r *copier) code(n *html.Node) {
	if r.line {
		r.inlineCode(n)
		return
	}
	var b strings.Builder
	appendCode(&b, n)
	text := strings.TrimRight(b.String(), " \n\t")
	for strings.HasPrefix(text, "\n") || strings.HasPrefix(text, " \n") {
		text = text[strings.IndexByte(text, '\n')+1:]
	}
	if text == "" {
		return
	}
	var attrs []html.Attribute
	if language := codeLanguage(n); language != "" {
		attrs = append(attrs, html.Attribute{Key: "class", Val: "language-" + language})
	}
	r.within("pre", func() { r.pending = append(r.pending, text...) }, attrs...)
}

// appendCode appends the text of code, without line numbers and buttons. Block
// elements in it are lines.
func appendCode(b *strings.Builder, n *html.Node) {
	endLine := func() {
		if text := b.String(); text != "" && text[len(text)-1] != '\n' {
			b.WriteByte('\n')
		}
	}
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		if c.Type == html.TextNode {
			b.WriteString(c.Data)
			continue
		}
		if c.Type != html.ElementNode || c.Data == "button" || isLineNumber(c) {
			continue
		}
		switch c.Data {
		case "br":
			b.WriteByte('\n')
		case "div", "p", "li", "tr":
			endLine()
			appendCode(b, c)
			endLine()
		default:
			appendCode(b, c)
		}
	}
}

// besideCode are the class names of line numbers and copy buttons.
var besideCode = setOf("lineno linenos linenumber linenumbers line-number line-numbers line-numbers-rows gutter " +
	"rouge-gutter blob-num lnt ln hljs-ln-numbers copy copybtn")

func isLineNumber(n *html.Node) bool {
	for class := range strings.FieldsSeq(attr(n, "class")) {
		if besideCode[strings.ToLower(class)] {
			return true
		}
	}
	return false
}

// codeInTable returns the code of a table that only puts line numbers beside it, or nil.
func codeInTable(n *html.Node) *html.Node {
	class := strings.ToLower(attr(n, "class"))
	isCode := func(word string) bool { return strings.Contains(class, word) }
	if !slices.ContainsFunc([]string{"highlight", "rouge", "lntable", "hljs", "code"}, isCode) {
		return nil
	}
	var best *html.Node
	longest := 0
	for _, pre := range goquery.NewDocumentFromNode(n).Find("pre").Nodes {
		if length := len(textOf(pre, 2000)); length > longest && !isLineNumber(pre) && !isLineNumber(pre.Parent) {
			best, longest = pre, length
		}
	}
	return best
}

// codeLanguage returns the language declared for code, or "".
func codeLanguage(pre *html.Node) string {
	var candidates []*html.Node
	if code := pre.FirstChild; code != nil && code.Type == html.ElementNode {
		candidates = append(candidates, code)
	}
	for n, i := pre, 0; n != nil && i < 7; n, i = n.Parent, i+1 {
		if i > 2 && !slices.Contains([]string{"div", "figure", "td", "tr", "tbody", "table"}, n.Data) {
			break
		}
		candidates = append(candidates, n)
	}
	for _, n := range candidates {
		for _, key := range []string{"data-lang", "data-language"} {
			if name := languageName(attr(n, key)); name != "" {
				return name
			}
		}
		class := strings.ToLower(attr(n, "class"))
		if _, brush, ok := strings.Cut(class, "brush:"); ok {
			name, _, _ := strings.Cut(strings.TrimSpace(brush), ";")
			return languageName(name)
		}
		for one := range strings.FieldsSeq(class) {
			for _, prefix := range []string{
				"language-", "lang-", "highlight-source-", "highlight-text-", "sourcecode-", "highlight-",
			} {
				if name, ok := strings.CutPrefix(one, prefix); ok {
					if name = languageName(name); name != "" {
						return name
					}
				}
			}
		}
	}
	return ""
}

// notLanguages are names in the place of a language that are none.
var notLanguages = setOf("none plaintext plain text nohighlight default wrapper container block nofold auto undefined")

// languageName returns a name in lower case if it can be the name of a language.
func languageName(name string) string {
	name = strings.ToLower(strings.TrimSpace(name))
	other := strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789+#._-")
	if len(name) > 20 || other != "" || notLanguages[name] {
		return ""
	}
	return name
}
