package page

import (
	"context"
	"net/url"
	"slices"
	"strings"

	"golang.org/x/net/html"
)

// renderer writes a tree as text.
type renderer struct {
	ctx       context.Context
	base      *url.URL
	format    Format
	skip      nodeSet
	limit     int
	wantLinks bool

	w        *writer
	notes    footnotes
	explains map[string]bool // abbreviations that were explained
	inLink   bool
	worded   bool // the link has text in it
	links    []Link
	linked   map[string]bool
	nodes    int
	full     bool
	err      error
}

// maxLinks is how many links are listed.
const maxLinks = 1000

// render writes some elements one below the other.
func (r *renderer) render(roots []*html.Node) (string, error) {
	if r.format == HTML {
		return r.markup(roots)
	}
	r.w = newWriter(r.limit, r.format == Text)
	r.linked, r.explains = map[string]bool{}, map[string]bool{}
	r.notes = readNotes(roots, r.skip)
	for _, root := range roots {
		r.w.block(2)
		r.node(root)
	}
	r.full = r.w.full
	return r.w.String(), r.err
}

func (r *renderer) children(n *html.Node) {
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		r.node(c)
	}
}

// node writes one node with all that is in it.
func (r *renderer) node(n *html.Node) {
	if r.nodes++; r.nodes%512 == 0 && r.err == nil {
		r.err = r.ctx.Err()
	}
	if r.err != nil || r.w.full || r.skip[n] {
		return
	}
	switch n.Type {
	case html.TextNode:
		r.text(n.Data)
	case html.ElementNode:
		if n.Namespace == "" && r.note(n) || n.Data == "head" || n.Data == "meta" {
			return
		}
		if !r.inline(n) && !r.structure(n) && !r.field(n) {
			r.plainBlock(n)
		}
	case html.DocumentNode:
		r.children(n)
	}
}

// plainBlock writes an element that is known for nothing but its place.
func (r *renderer) plainBlock(n *html.Node) {
	if inlineTags[n.Data] || strings.Contains(n.Data, "-") && !hasBlocks(n) || n.Data == "label" || n.Data == "picture" || n.Data == "ruby" || n.Data == "rb" || n.Data == "bdi" || n.Data == "bdo" || n.Data == "output" || n.Data == "data" || n.Data == "slot" {
		r.children(n)
		return
	}
	r.w.block(1)
	r.children(n)
	r.w.block(1)
}

// structure writes the elements that give a text its form.
func (r *renderer) structure(n *html.Node) bool {
	switch n.Data {
	case "h1", "h2", "h3", "h4", "h5", "h6":
		if container(n) {
			return false
		}
		r.heading(n)
	case "p", "address", "hgroup", "fieldset", "form":
		r.w.block(2)
		if strings.Contains(attr(n, "class"), "admonition-title") {
			r.marked(n, "**")
		} else {
			r.children(n)
		}
		r.w.block(2)
	case "ul", "ol", "menu", "dir":
		r.list(n)
	case "li": // without a list
		r.item(n, "- ")
	case "dl":
		r.definitions(n)
	case "dt":
		r.w.block(1)
		r.marked(n, "**")
		r.w.block(1)
	case "dd":
		r.definition(n)
	case "pre", "listing":
		r.code(n)
	case "blockquote":
		r.quote(n)
	case "table":
		r.table(n)
	case "hr":
		if !r.w.plain && !r.w.cell {
			r.w.block(2)
			r.w.raw("---")
			r.w.block(2)
		}
	case "figcaption", "caption", "legend", "summary":
		r.caption(n)
	case "figure", "details", "section", "article", "main":
		r.w.block(2)
		r.children(n)
		r.w.block(2)
	case "embed", "frame":
		r.frame(n)
	case "video", "audio":
		r.media(n)
	default:
		return false
	}
	return true
}

// container reports whether a heading was never closed, and what follows it is
// in it.
func container(n *html.Node) bool {
	blocks := 0
	for c := n.FirstChild; c != nil && blocks < 3; c = c.NextSibling {
		if c.Data == "p" || c.Data == "ul" || c.Data == "ol" || c.Data == "table" || c.Data == "blockquote" {
			blocks++
		}
	}
	return blocks > 1
}

func (r *renderer) heading(n *html.Node) {
	if slices.ContainsFunc(r.w.marks, func(m mark) bool { return strings.HasPrefix(m.open, "#") }) {
		r.children(n)
		return
	}
	if r.w.cell {
		r.w.block(1)
		r.marked(n, "**")
		r.w.block(1)
		return
	}
	r.w.block(2)
	before := len(r.w.buf)
	sign := strings.Repeat("#", int(n.Data[1]-'0')) + " "
	if r.w.plain {
		sign = ""
	}
	r.w.push(sign, "", true)
	r.children(n)
	r.w.pop()
	if len(r.w.buf) > before {
		r.w.block(2)
	}
}

// caption writes the words that stand over or under something.
func (r *renderer) caption(n *html.Node) {
	mark := "*"
	if n.Data == "legend" || n.Data == "summary" || n.Data == "caption" {
		mark = "**"
	}
	r.w.block(2)
	r.marked(n, mark)
	r.w.block(2)
}

func (r *renderer) quote(n *html.Node) {
	r.w.block(2)
	begin := "> "
	if r.w.plain {
		begin = "  "
	}
	r.w.nest(begin, begin)
	r.children(n)
	r.w.block(2)
	r.w.leave()
}

// frame writes a frame as a link to what is in it: films, and the parts of a
// page made of frames.
func (r *renderer) frame(n *html.Node) {
	src := address(r.base, attr(n, "src"))
	name := first(100, attr(n, "title"), attr(n, "name"))
	if src == "" || !strings.HasPrefix(src, "http") {
		return
	}
	if n.Data == "embed" {
		if !film(src) {
			return
		}
		name = strings.TrimSpace("Video: " + strings.TrimPrefix(name, "Video: "))
	}
	r.w.block(2)
	name = first(100, name, "Frame")
	r.link(name, func() { r.w.text(name) }, src)
	r.w.block(2)
}

// film reports whether an address is one at which films are shown in frames.
func film(src string) bool {
	u, err := url.Parse(src)
	if err != nil {
		return false
	}
	host := strings.TrimPrefix(strings.ToLower(u.Hostname()), "www.")
	switch host {
	case "youtube.com", "youtube-nocookie.com", "youtu.be", "player.vimeo.com", "vimeo.com", "dailymotion.com", "player.twitch.tv", "ted.com", "embed.ted.com", "loom.com", "player.bilibili.com":
		return true
	}
	return strings.HasPrefix(u.Path, "/videos/embed/")
}

func (r *renderer) media(n *html.Node) {
	src := attr(n, "src")
	for c := n.FirstChild; c != nil && src == ""; c = c.NextSibling {
		if c.Data == "source" {
			src = attr(c, "src")
		}
	}
	if src = address(r.base, src); src != "" {
		r.w.block(1)
		name := first(100, attr(n, "title"), attr(n, "aria-label"), n.Data)
		r.link(name, func() { r.w.text(name) }, src)
		r.w.block(1)
	}
}

// hasBlocks reports whether there are blocks within an element, as far as its
// beginning shows.
func hasBlocks(root *html.Node) bool {
	seen := 0
	for n := root.FirstChild; n != nil && seen < 100; n = followingIn(n, root) {
		if seen++; n.Type == html.ElementNode && !inlineTags[n.Data] && !strings.Contains(n.Data, "-") {
			return true
		}
	}
	return false
}
