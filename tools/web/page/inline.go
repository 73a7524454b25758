package page

import (
	"strings"

	"github.com/PuerkitoBio/goquery"
	"golang.org/x/net/html"
)

// anyPicture finds the first picture in an element.
var anyPicture = goquery.Single("img")

// inline writes the elements within a line.
func (r *renderer) inline(n *html.Node) bool {
	switch n.Data {
	case "a":
		r.anchor(n)
	case "b", "strong":
		r.marked(n, "strong")
	case "i", "em", "cite", "dfn":
		r.marked(n, "em")
		if n.Data == "cite" && n.PrevSibling == nil && within(n, "blockquote") {
			r.d.lineBreak() // who is quoted
		}
	case "s", "del", "strike":
		r.marked(n, "s")
	case "code", "kbd", "samp", "tt":
		r.codeInline(n)
	case "br":
		r.d.lineBreak()
	case "img", "image":
		r.image(n)
	case "q":
		r.d.raw("“")
		r.children(n)
		r.d.raw("”")
	case "sup":
		r.shift(n, raised, "^")
	case "sub":
		r.shift(n, lowered, "_")
	case "rt":
		r.bracketed(textOf(n, 200))
	case "abbr", "acronym":
		r.abbreviation(n)
	case "time":
		r.time(n)
	case "math", "our-tex", "our-tex-block":
		r.math(n)
	case "span":
		if strings.Contains(attr(n, "class"), "backlink") {
			return true
		}
		r.span(n)
	case "wbr":
	default:
		return false
	}
	return true
}

// marked takes what is in an element as emphasis of a kind.
func (r *renderer) marked(n *html.Node, name string) {
	r.d.push(name, "")
	r.children(n)
	r.d.pop()
}

func (r *renderer) codeInline(n *html.Node) {
	if n.Data == "code" && strings.ContainsRune(rawTextOf(n), '\n') && n.Parent != nil && n.NextSibling == nil && n.PrevSibling == nil && strings.Count(rawTextOf(n), "\n") > 2 {
		r.code(n) // a block that only its styles make one
		return
	}
	text := rawTextOf(n)
	if r.d.plain {
		r.d.text(text)
		return
	}
	trimmed := strings.TrimSpace(text)
	if trimmed == "" {
		r.d.text(text)
		return
	}
	r.d.space = r.d.space || blankByte(text[0])
	r.d.code(trimmed)
	r.d.space = blankByte(text[len(text)-1])
}

// anchor writes a link. Those that lead nowhere a reader could go, and the signs
// that headings have to be linked to, are no links.
func (r *renderer) anchor(n *html.Node) {
	href := attr(n, "href")
	if strings.HasPrefix(href, "#") {
		class := attr(n, "class")
		switch text := textOf(n, 20); {
		case text != "" && strings.Trim(text, "↩↑^⤴⏎⇑ ") == "":
			return // from a note back to the text
		case text == "¶" || text == "#" || text == "§" || text == "🔗" || text == "∞":
			return
		case hasWord(class, "headerlink") || hasWord(class, "anchor") || hasWord(class, "anchorjs-link"):
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
	r.worded = textOf(n, 40) != ""
	if title := headingIn(n); title != nil { // the whole of a card is a link: its heading is enough
		r.inLink = true
		for c := n.FirstChild; c != nil; c = c.NextSibling {
			r.card(c, title, src)
		}
		r.inLink = false
		r.listed(textOf(title, 200), src)
		return
	}
	text := textOf(n, 200)
	if text == "" {
		text = goquery.NewDocumentFromNode(n).FindMatcher(anyPicture).AttrOr("alt", "")
	}
	r.link(text, func() { r.children(n) }, src)
}

// card writes what is in a link with a heading; only the heading is linked.
func (r *renderer) card(n, title *html.Node, src string) {
	if n != title {
		r.node(n)
		return
	}
	r.d.heading(n.Data)
	r.d.push("a", src)
	r.children(n)
	r.d.pop()
	r.d.end(2)
	r.d.name = ""
}

// headingIn is the heading right within a link, or nil.
func headingIn(n *html.Node) *html.Node {
	for c := range n.ChildNodes() {
		if isHeading(c) {
			return c
		}
	}
	return nil
}

// link writes something that leads to an address, and lists it under a text.
func (r *renderer) link(text string, write func(), src string) {
	was := r.inLink
	r.inLink = true
	before := r.d.size
	r.d.push("a", src)
	write()
	if r.d.size+len(r.d.words) > before {
		r.listed(text, src)
	}
	r.d.pop()
	r.inLink = was
}

// listed notes a link of the text.
func (r *renderer) listed(text, src string) {
	text = first(200, text)
	if !r.wantLinks || text == "" || r.linked[src] || len(r.links) >= maxLinks {
		return
	}
	r.linked[src] = true
	r.links = append(r.links, Link{text, src})
}

// image writes a picture, if there are words for it.
func (r *renderer) image(n *html.Node) {
	alt := first(300, attr(n, "alt"))
	class := attr(n, "class")
	if strings.Contains(class, "mwe-math-fallback") {
		r.formula(alt, false)
		return
	}
	if tiny(n, "width") || tiny(n, "height") {
		if len([]rune(alt)) <= 2 || hasWord(class, "emoji") {
			r.d.text(alt)
		}
		return
	}
	if len([]rune(alt)) <= 2 && !isASCII(alt) || hasWord(class, "emoji") {
		r.d.text(alt)
		return
	}
	inFigure := within(n, "figure")
	if alt == "" && !inFigure || r.inLink && alt != "" && r.worded {
		return
	}
	src := ""
	for _, key := range []string{"data-src", "data-original", "data-lazy-src", "src"} {
		if src = address(r.base, attr(n, key)); src != "" {
			break
		}
	}
	switch {
	case r.d.plain:
		if alt != "" {
			r.d.raw("[image: " + alt + "]")
		}
	case src == "" && alt != "":
		r.d.raw("[image: " + labels.Replace(alt) + "]")
	case src != "":
		r.d.space = r.d.space || likeBefore(n, "img")
		r.d.inline("img", html.Attribute{Key: "alt", Val: labels.Replace(alt)}, html.Attribute{Key: "src", Val: src})
	}
}

func isASCII(text string) bool {
	return strings.IndexFunc(text, func(r rune) bool { return r >= 0x80 }) < 0
}

// tiny reports whether a picture is so small that it is a sign, or counts visits.
func tiny(n *html.Node, side string) bool {
	size, ok := numberIn(strings.TrimSuffix(attr(n, side), "px"))
	return ok && size <= 24
}

// shift writes what stands above or below the line.
func (r *renderer) shift(n *html.Node, forms, sign string) {
	text := textOf(n, 40)
	if n.FirstChild != nil && (n.FirstChild.Type != html.TextNode || n.FirstChild.NextSibling != nil) {
		r.children(n)
		return
	}
	if short, ok := shifted(text, forms); ok {
		r.d.raw(short)
		return
	}
	switch strings.ToLower(text) {
	case "", "st", "nd", "rd", "th", "e", "er", "re", "ème", "ère", "º", "ª", "o", "a", "tm", "®", "™", "©", "me", "*", "†", "‡":
		r.d.text(text)
		return
	}
	if len([]rune(text)) == 1 {
		r.d.raw(sign)
		r.d.text(text)
		return
	}
	r.d.raw(sign + "(")
	r.children(n)
	r.d.raw(")")
}

// bracketed writes a text in brackets, with what makes it no link.
func (r *renderer) bracketed(text string) {
	if text != "" {
		r.d.raw("(")
		r.d.text(text)
		r.d.raw(")")
	}
}

// abbreviation writes what letters stand for behind them, the first time.
func (r *renderer) abbreviation(n *html.Node) {
	r.children(n)
	short, title := textOf(n, 40), first(100, attr(n, "title"))
	if title == "" || short == "" || r.explains[short] || strings.EqualFold(title, short) {
		return
	}
	r.explains[short] = true
	r.d.space = true
	r.bracketed(title)
}

// time writes a point in time, with its date where the text has none.
func (r *renderer) time(n *html.Node) {
	text := textOf(n, 100)
	r.children(n)
	date := readDate(oneLine(attr(n, "datetime")))
	if len(date) < 10 || strings.Contains(text, date[:4]) {
		return
	}
	if r.d.space = true; text == "" {
		r.d.text(date[:10])
	} else {
		r.bracketed(date[:10])
	}
}
