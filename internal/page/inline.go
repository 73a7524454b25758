package page

import (
	"strings"

	"github.com/PuerkitoBio/goquery"
	"golang.org/x/net/html"

	"github.com/mcp-tools/mcp-tools/internal/text"
)

// inline copies an inline element; false if it is not one.
func (r *copier) inline(n *html.Node) bool {
	switch n.Data {
	case "a":
		r.anchor(n)
	case "b", "strong":
		r.emphasized(n, "strong")
	case "i", "em", "cite", "dfn":
		r.emphasized(n, "em")
		if n.Data == "cite" && n.PrevSibling == nil && isIn(n, "blockquote") {
			r.lineBreak() // the author of the quote
		}
	case "s", "del", "strike":
		r.emphasized(n, "s")
	case "code", "kbd", "samp", "tt":
		r.inlineCode(n)
	case "br":
		r.lineBreak()
	case "img", "image":
		r.image(n)
	case "q":
		r.text("“")
		r.children(n)
		r.text("”")
	case "sup":
		r.script(n, "^")
	case "sub":
		r.script(n, "_")
	case "rt":
		r.bracketed(textOf(n, 200))
	case "time":
		r.time(n)
	case "math", texInline, texDisplay:
		r.math(n)
	case "span":
		if !strings.Contains(attr(n, "class"), "backlink") {
			r.span(n)
		}
	case "wbr":
	default:
		return false
	}
	return true
}

func (r *copier) inlineCode(n *html.Node) {
	text := rawTextOf(n)
	isAlone := n.Parent != nil && n.NextSibling == nil && n.PrevSibling == nil
	if n.Data == "code" && isAlone && !r.line && strings.Count(text, "\n") > 2 {
		r.code(n) // a block by its style
		return
	}
	trimmed := strings.TrimSpace(text)
	if r.format == Text || trimmed == "" {
		r.text(text)
		return
	}
	if isBlank(text[0]) {
		r.text(" ")
	}
	r.beginLink()
	r.within("code", func() { r.pending = append(r.pending, trimmed...) })
	if isBlank(text[len(text)-1]) {
		r.text(" ")
	}
}

// firstImage finds the first image in an element.
var firstImage = goquery.Single("img")

// noteMark matches the number or sign of a footnote.
var noteMark = text.Pattern(`^[0-9a-zA-Z*†‡§]{1,4}$`)

// anchor copies a link. Links within the page are written as text, and the signs
// that link to a heading or from a footnote back to the text are left out.
func (r *copier) anchor(n *html.Node) {
	href := attr(n, "href")
	if strings.HasPrefix(href, "#") {
		class := attr(n, "class")
		switch text := textOf(n, 20); {
		case text != "" && strings.Trim(text, "↩↑^⤴⏎⇑ \ufe0e") == "":
			return
		case text == "¶" || text == "#" || text == "§" || text == "🔗" || text == "∞":
			return
		case hasWord(class, "headerlink") || hasWord(class, "anchor") || hasWord(class, "anchorjs-link"):
			return
		case n.Parent != nil && n.Parent.Data == "sup" && noteMark().MatchString(text):
			r.raw("[" + text + "]")
			return
		}
		r.children(n)
		return
	}
	src := address(r.base, href)
	if src == "" || r.inLink {
		r.children(n)
		return
	}
	r.linkText = textOf(n, 40) != ""
	if heading := headingIn(n); heading != nil && !r.line {
		r.card(n, heading, src)
		return
	}
	text := textOf(n, 200)
	if text == "" {
		text = goquery.NewDocumentFromNode(n).FindMatcher(firstImage).AttrOr("alt", "")
	}
	r.link(text, src, containsBlocks(n), func() { r.children(n) })
}

// card copies a link around a heading and other blocks; only the heading is linked.
func (r *copier) card(n, heading *html.Node, src string) {
	r.inLink = true
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		if c != heading {
			r.node(c)
			continue
		}
		r.headingOf(c, func() { r.anchored(src, false, func() { r.children(c) }) })
	}
	r.inLink, r.targets[src] = false, true
	r.listLink(textOf(heading, 200), src)
}

// headingIn returns the heading that is a child of a link, or nil.
func headingIn(n *html.Node) *html.Node {
	for c := range n.ChildNodes() {
		if isHeading(c) {
			return c
		}
	}
	return nil
}

// link copies something as a link, and lists the link under a text.
func (r *copier) link(text, src string, isBlock bool, write func()) {
	outer := r.inLink
	r.inLink = true
	if r.anchored(src, isBlock, write) {
		r.listLink(text, src)
		r.targets[src] = true
	}
	r.inLink = outer
}

// anchored copies an a element, and reports whether it contains anything. Only the first
// block of several is linked.
func (r *copier) anchored(src string, isBlock bool, write func()) bool {
	switch {
	case r.targets[src] || r.format == Text:
		before := r.size + len(r.pending)
		write()
		return r.size+len(r.pending) > before
	case isBlock && !r.line:
		r.linkTo = src
		r.into(r.at, write)
		isEmpty := r.linkTo != ""
		r.linkTo = ""
		return !isEmpty
	default:
		return !isEmpty(r.within("a", write, html.Attribute{Key: "href", Val: src}))
	}
}

func (r *copier) listLink(text, src string) {
	text = first(200, text)
	if !r.wantLinks || text == "" || r.linked[src] || len(r.links) >= maxLinks {
		return
	}
	r.linked[src] = true
	r.links = append(r.links, Link{text, src})
}

// image copies an image that has a description or is in a figure.
func (r *copier) image(n *html.Node) {
	alt := first(300, attr(n, "alt"))
	class := attr(n, "class")
	isShort := len([]rune(alt)) <= 2
	switch {
	case strings.Contains(class, "mwe-math-fallback"):
		r.formula(alt, false)
		return
	case isIcon(n, "width") || isIcon(n, "height"):
		if isShort || hasWord(class, "emoji") {
			r.text(alt)
		}
		return
	case isShort && !isASCII(alt) || hasWord(class, "emoji"):
		r.text(alt)
		return
	case alt == "" && !isIn(n, "figure") || r.inLink && alt != "" && r.linkText:
		return
	}
	src := ""
	for _, key := range []string{"data-src", "data-original", "data-lazy-src", "src"} {
		if src = address(r.base, attr(n, key)); src != "" {
			break
		}
	}
	switch {
	case r.format == Text:
		if alt != "" {
			r.raw("[image: " + alt + "]")
		}
	case src == "" && alt != "":
		r.raw("[image: " + labelEscaper.Replace(alt) + "]")
	case src != "":
		if follows(n, "img") {
			r.text(" ")
		}
		r.leaf("img",
			html.Attribute{Key: "alt", Val: labelEscaper.Replace(alt)}, html.Attribute{Key: "src", Val: src})
	}
}

// isIcon reports whether an image is so small that it is an icon or a tracking pixel.
func isIcon(n *html.Node, side string) bool {
	size, ok := parseInt(strings.TrimSuffix(attr(n, side), "px"))
	return ok && size <= 24
}

// ordinals are superscripts that are readable on the line.
var ordinals = setOf("st nd rd th e er re ème ère º ª o a tm ® ™ © me * † ‡")

// script copies superscript or subscript after a sign.
func (r *copier) script(n *html.Node, sign string) {
	text := textOf(n, 40)
	isText := n.FirstChild != nil && n.FirstChild == n.LastChild && n.FirstChild.Type == html.TextNode
	isNumber := exponent().MatchString(text)
	switch {
	case !isText || ordinals[strings.ToLower(text)] || isNumber && sign == "_": // as in H2O
		r.children(n)
	case len([]rune(text)) == 1 || isNumber:
		r.raw(sign)
		r.text(text)
	default:
		r.raw(sign + "(")
		r.children(n)
		r.text(")")
	}
}

var exponent = text.Pattern(`^[-+−]?[0-9.,]+$`)

func (r *copier) bracketed(text string) {
	if text != "" {
		r.text("(" + text + ")")
	}
}

// time copies a time, with its date if the text does not contain the year.
func (r *copier) time(n *html.Node) {
	text := textOf(n, 100)
	r.children(n)
	date := parseDate(oneLine(attr(n, "datetime")))
	if len(date) < 10 || strings.Contains(text, date[:4]) {
		return
	}
	if r.text(" "); text == "" {
		r.text(date[:10])
	} else {
		r.bracketed(date[:10])
	}
}
