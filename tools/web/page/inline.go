package page

import (
	"strconv"
	"strings"

	"golang.org/x/net/html"
)

// inline writes the elements within a line.
func (r *renderer) inline(n *html.Node) bool {
	switch n.Data {
	case "a":
		r.anchor(n)
	case "b", "strong":
		r.marked(n, "**")
	case "i", "em", "cite", "dfn":
		r.marked(n, "*")
		if n.Data == "cite" && n.PrevSibling == nil && within(n, "blockquote") {
			r.w.lineBreak() // who is quoted
		}
	case "s", "del", "strike":
		r.marked(n, "~~")
	case "code", "kbd", "samp", "tt":
		r.codeInline(n)
	case "br":
		r.w.lineBreak()
	case "img", "image":
		r.image(n)
	case "q":
		r.w.raw("“")
		r.children(n)
		r.w.raw("”")
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
		if !r.mathSpan(n) {
			r.children(n)
		}
	case "wbr":
	default:
		return false
	}
	return true
}

// marked writes an element between two marks, unless it is in the same marks
// already.
func (r *renderer) marked(n *html.Node, sign string) {
	for _, m := range r.w.marks {
		if m.open == sign || strings.HasPrefix(m.open, "#") && sign == "**" {
			r.children(n)
			return
		}
	}
	r.w.push(sign, sign, false)
	r.children(n)
	r.w.pop()
}

func (r *renderer) codeInline(n *html.Node) {
	if n.Data == "code" && strings.ContainsRune(rawTextOf(n), '\n') && n.Parent != nil && n.NextSibling == nil && n.PrevSibling == nil && strings.Count(rawTextOf(n), "\n") > 2 {
		r.code(n) // a block that only its styles make one
		return
	}
	text := rawTextOf(n)
	if r.w.plain {
		r.w.text(text)
		return
	}
	for _, m := range r.w.marks {
		if strings.HasPrefix(m.open, "`") {
			r.w.text(text)
			return
		}
	}
	if strings.HasPrefix(text, " ") {
		r.w.space = r.w.space || !r.w.fresh
	}
	r.w.raw(codeSpan(text, r.w.cell))
	if strings.HasSuffix(text, " ") {
		r.w.space = true
	}
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
	if img := find(n, "img", 4); text == "" && img != nil {
		text = attr(img, "alt")
	}
	r.link(text, func() { r.children(n) }, src)
}

// card writes what is in a link with a heading; only the heading is linked.
func (r *renderer) card(n, title *html.Node, src string) {
	if n != title {
		r.node(n)
		return
	}
	r.w.block(2)
	if !r.w.plain {
		r.w.push(strings.Repeat("#", int(n.Data[1]-'0'))+" ", "", true)
	}
	r.w.push("[", "]("+src+")", true)
	r.children(n)
	r.w.pop()
	if !r.w.plain {
		r.w.pop()
	}
	r.w.block(2)
}

// headingIn is the heading right within a link.
func headingIn(n *html.Node) *html.Node {
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		if len(c.Data) == 2 && c.Data[0] == 'h' && c.Data[1] >= '1' && c.Data[1] <= '6' && c.Type == html.ElementNode {
			return c
		}
	}
	return nil
}

// link writes something that leads to an address, and lists it under a text.
func (r *renderer) link(text string, write func(), src string) {
	was := r.inLink
	r.inLink = true
	before := len(r.w.buf)
	r.w.push("[", "]("+src+")", true)
	write()
	if len(r.w.buf) > before {
		r.listed(text, src)
	}
	r.w.pop()
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
			r.w.text(alt)
		}
		return
	}
	if len([]rune(alt)) <= 2 && !isASCII(alt) || hasWord(class, "emoji") {
		r.w.text(alt)
		return
	}
	inFigure := within(n, "figure")
	if alt == "" && !inFigure || r.inLink && alt != "" && r.worded {
		return
	}
	if r.w.space = r.w.space || !r.w.fresh && r.w.buf[len(r.w.buf)-1] == ')'; r.w.cell {
		alt = strings.ReplaceAll(alt, "|", "/")
	}
	src := ""
	for _, key := range []string{"data-src", "data-original", "data-lazy-src", "src"} {
		if src = address(r.base, attr(n, key)); src != "" {
			break
		}
	}
	switch {
	case r.w.plain:
		if alt != "" {
			r.w.raw("[image: " + alt + "]")
		}
	case src == "" && alt != "":
		r.w.raw("[image: " + labelText(alt) + "]")
	case src != "":
		r.w.raw("![" + labelText(alt) + "](" + src + ")")
	}
}

func isASCII(text string) bool {
	return strings.IndexFunc(text, func(r rune) bool { return r >= 0x80 }) < 0
}

// tiny reports whether a picture is so small that it is a sign, or counts visits.
func tiny(n *html.Node, side string) bool {
	size, err := strconv.Atoi(strings.TrimSuffix(attr(n, side), "px"))
	return err == nil && size <= 24
}

// shift writes what stands above or below the line.
func (r *renderer) shift(n *html.Node, forms, sign string) {
	text := textOf(n, 40)
	if n.FirstChild != nil && (n.FirstChild.Type != html.TextNode || n.FirstChild.NextSibling != nil) {
		r.children(n)
		return
	}
	if short, ok := shifted(text, forms); ok {
		r.w.raw(short)
		return
	}
	switch strings.ToLower(text) {
	case "", "st", "nd", "rd", "th", "e", "er", "re", "ème", "ère", "º", "ª", "o", "a", "tm", "®", "™", "©", "me", "*", "†", "‡":
		r.w.text(text)
		return
	}
	if len([]rune(text)) == 1 {
		r.w.raw(sign)
		r.w.text(text)
		return
	}
	r.w.raw(sign + "(")
	r.children(n)
	r.w.raw(")")
}

// bracketed writes a text in brackets, with what makes it no link.
func (r *renderer) bracketed(text string) {
	if text != "" {
		r.w.raw("(")
		r.w.text(text)
		r.w.raw(")")
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
	r.w.space = true
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
	if r.w.space = !r.w.fresh; text == "" {
		r.w.text(date[:10])
	} else {
		r.bracketed(date[:10])
	}
}
