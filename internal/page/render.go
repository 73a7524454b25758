package page

import (
	"context"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/PuerkitoBio/goquery"
	"golang.org/x/net/html"
)

// renderer writes elements of a page to an output.
type renderer struct {
	ctx       context.Context
	base      *url.URL
	format    Format
	skip      nodeSet
	limit     int
	wantLinks bool

	out       *output
	inLink    bool
	linkText  bool // the current link contains text, not only images
	inFormula bool // in the drawing of a formula without TeX
	links     []Link
	linked    map[string]bool // listed in links
	targets   map[string]bool // links that are in the text: a second one is only text
	nodes     int
	full      bool
	err       error
}

// maxLinks limits the links that are listed.
const maxLinks = 1000

// render returns elements one below the other.
func (r *renderer) render(roots []*html.Node) (string, error) {
	if r.format == HTML {
		return r.cleanHTML(roots)
	}
	r.out = newOutput(r.limit, r.format == Text)
	r.linked, r.targets = map[string]bool{}, map[string]bool{}
	for _, root := range roots {
		r.out.endBlock(2)
		r.node(root)
	}
	if r.err != nil {
		return "", r.err
	}
	text, err := r.out.convert(r.ctx, r.limit)
	r.full = r.out.full
	return text, err
}

func (r *renderer) children(n *html.Node) {
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		r.node(c)
	}
}

// node writes a node with its descendants.
func (r *renderer) node(n *html.Node) {
	if r.nodes++; r.nodes%512 == 0 && r.err == nil {
		r.err = r.ctx.Err()
	}
	if r.err != nil || r.out.full || r.skip[n] {
		return
	}
	switch n.Type {
	case html.TextNode:
		r.text(n.Data)
	case html.ElementNode:
		switch {
		case fieldTags[n.Data]:
			r.out.space = true
		case !r.inline(n) && !r.block(n):
			r.other(n)
		}
	case html.DocumentNode:
		r.children(n)
	}
}

// fieldTags are metadata and form fields: what can be entered into a page is no content.
var fieldTags = setOf("head meta input button optgroup meter progress")

// separated writes the content of an element as separate blocks.
func (r *renderer) separated(n *html.Node, gap int) {
	r.out.endBlock(gap)
	r.children(n)
	r.out.endBlock(gap)
}

// emphasized writes the content of an element as emphasis: strong, em or s.
func (r *renderer) emphasized(n *html.Node, name string) {
	r.out.openInline(name, "")
	r.children(n)
	r.out.closeInline()
}

// other writes an element without a special form.
func (r *renderer) other(n *html.Node) {
	switch n.Data {
	case "label", "picture", "ruby", "rb", "bdi", "bdo", "output", "data", "slot":
		r.children(n)
		return
	}
	if inlineTags[n.Data] || strings.Contains(n.Data, "-") && !containsBlocks(n) {
		r.children(n)
		return
	}
	r.separated(n, 1)
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

// block writes a block element; false if it is not one.
func (r *renderer) block(n *html.Node) bool {
	switch n.Data {
	case "h1", "h2", "h3", "h4", "h5", "h6":
		if isUnclosedHeading(n) {
			return false
		}
		r.heading(n)
	case "p", "address", "hgroup", "fieldset", "form":
		if strings.Contains(attr(n, "class"), "admonition-title") {
			r.out.endBlock(2)
			r.emphasized(n, "strong")
			r.out.endBlock(2)
			return true
		}
		r.separated(n, 2)
	case "dl", "figure", "details", "section", "article", "main":
		r.separated(n, 2)
	case "ul", "ol", "menu", "dir":
		r.list(n)
	case "li": // without a list
		r.out.openItem("ul", "", follows(n, "li"))
		r.item(n)
		r.out.closeItem()
	case "dt", "dd":
		r.definition(n)
	case "pre", "listing":
		r.code(n)
	case "blockquote":
		r.quote(n)
	case "table":
		r.table(n)
	case "hr":
		if !r.out.plain && !r.out.cell {
			r.out.addBlock("hr")
		}
	case "figcaption":
		r.out.endBlock(2)
		r.emphasized(n, "em")
		r.out.endBlock(2)
	case "caption", "legend", "summary":
		r.out.endBlock(2)
		r.emphasized(n, "strong")
		r.out.endBlock(2)
	case "embed", "frame":
		r.frame(n)
	case "video", "audio": // its content is for browsers without
	case "select":
		r.out.text(textOf(n, 120))
		r.out.space = true
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

func (r *renderer) heading(n *html.Node) {
	switch {
	case r.out.cell:
		r.out.endBlock(1)
		r.emphasized(n, "strong")
		r.out.endBlock(1)
	case r.out.inHeading():
		r.children(n)
	default:
		r.out.heading(n.Data)
		r.children(n)
		r.endHeading()
	}
}

func (r *renderer) endHeading() {
	r.out.endBlock(2)
	r.out.nextBlock = ""
}

func (r *renderer) quote(n *html.Node) {
	prefix := "> "
	if r.out.plain {
		prefix = "  "
	}
	r.out.openContainer("blockquote", prefix)
	r.children(n)
	r.out.closeContainer()
	r.out.endBlock(2)
}

// list writes a list with the numbers that the page shows.
func (r *renderer) list(n *html.Node) {
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
	r.out.openContainer(name, "")
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		switch {
		case c.Type != html.ElementNode || c.Data != "li":
			r.node(c)
		case r.skip[c]:
		default:
			prefix := ""
			if value, ok := parseInt(attr(c, "value")); ok && value >= 0 && value < 1e8 {
				number = value
			}
			if name == "ol" {
				prefix = strconv.Itoa(max(number, 0)) + ". "
				number += step
			}
			r.out.openContainer("li", prefix)
			r.item(c)
			r.out.closeContainer()
		}
	}
	r.out.closeContainer()
	r.out.endBlock(2)
}

func parseInt(text string) (int, bool) {
	if text == "" {
		return 0, false
	}
	n, err := strconv.Atoi(text)
	return n, err == nil
}

func (r *renderer) item(n *html.Node) {
	if r.out.cell && n.PrevSibling != nil {
		r.out.separate()
	}
	if box := takeCheckbox(n); box != "" {
		r.out.raw(box)
		r.out.space = true
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

// definition writes a term or its definition as an item.
func (r *renderer) definition(n *html.Node) {
	if n.Data == "dt" {
		r.out.openItem("ol", "", follows(n, "dt"))
		r.emphasized(n, "strong")
	} else {
		prefix := ": "
		if r.out.plain {
			prefix = "  "
		}
		r.out.openItem("ol", prefix, follows(n, "dt", "dd"))
		r.children(n)
	}
	r.out.closeItem()
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

// follows reports whether the element before n has one of the names.
func follows(n *html.Node, names ...string) bool {
	for n = n.PrevSibling; n != nil && n.Type == html.TextNode; n = n.PrevSibling {
	}
	return n != nil && slices.Contains(names, n.Data)
}

// frame writes a video, or a part of a frameset, as a link.
func (r *renderer) frame(n *html.Node) {
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
	r.out.endBlock(2)
	r.link(name, func() { r.out.text(name) }, src)
	r.out.endBlock(2)
}

// videoHosts matches the addresses of videos that pages embed.
var videoHosts = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^https?://(www\.)?((youtube|youtube-nocookie|vimeo|player\.vimeo|dailymotion|ted|` +
		`embed\.ted|loom|player\.bilibili)\.com|youtu\.be|player\.twitch\.tv|[^/]+/videos/embed)/`)
})

// code writes a block of code with its white space.
func (r *renderer) code(n *html.Node) {
	if r.out.cell {
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
	if pre := r.out.addBlock("pre"); pre != nil {
		if language := codeLanguage(n); language != "" {
			pre.Attr = []html.Attribute{{Key: "class", Val: "language-" + language}}
		}
		appendText(pre, text)
		r.out.size += len(text)
	}
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

// languageName returns a name in lower case if it can be that of a language.
func languageName(name string) string {
	name = strings.ToLower(strings.TrimSpace(name))
	other := strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789+#._-")
	if len(name) > 20 || other != "" || notLanguages[name] {
		return ""
	}
	return name
}
