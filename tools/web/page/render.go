package page

import (
	"context"
	"net/url"
	"strings"

	"github.com/PuerkitoBio/goquery"
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

	d        *draft
	notes    footnotes
	explains map[string]bool // abbreviations that were explained
	inLink   bool
	worded   bool // the link has text in it
	drawn    bool // what is written was drawn from no formula that can be told
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
	r.d = newDraft(r.limit, r.format == Text)
	r.linked, r.explains = map[string]bool{}, map[string]bool{}
	r.notes = readNotes(roots, r.skip)
	for _, root := range roots {
		r.d.end(2)
		r.node(root)
	}
	if r.err != nil {
		return "", r.err
	}
	text, err := r.d.convert(r.ctx, r.limit)
	r.full = r.d.full
	return text, err
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
	if r.err != nil || r.d.full || r.skip[n] {
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
	r.d.end(1)
	r.children(n)
	r.d.end(1)
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
		r.d.end(2)
		if strings.Contains(attr(n, "class"), "admonition-title") {
			r.marked(n, "strong")
		} else {
			r.children(n)
		}
		r.d.end(2)
	case "ul", "ol", "menu", "dir":
		r.list(n)
	case "li": // without a list
		r.d.item("ul", "", likeBefore(n, "li"))
		r.item(n)
		r.d.leaveItem()
	case "dl":
		r.d.end(2)
		r.children(n)
		r.d.end(2)
	case "dt", "dd":
		r.definition(n)
	case "pre", "listing":
		r.code(n)
	case "blockquote":
		r.quote(n)
	case "table":
		r.table(n)
	case "hr":
		if !r.d.plain && !r.d.cell {
			r.d.leaf("hr")
		}
	case "figcaption", "caption", "legend", "summary":
		r.caption(n)
	case "figure", "details", "section", "article", "main":
		r.d.end(2)
		r.children(n)
		r.d.end(2)
	case "embed", "frame":
		r.frame(n)
	case "video", "audio":
		r.media(n)
	default:
		return false
	}
	return true
}

// blocks finds what is in no heading.
var blocks = goquery.Single("p, ul, ol, table, blockquote")

// container reports whether a heading was never closed, and what follows it is
// in it.
func container(n *html.Node) bool {
	return goquery.NewDocumentFromNode(n).ChildrenMatcher(blocks).Length() > 1
}

func (r *renderer) heading(n *html.Node) {
	switch {
	case r.d.cell:
		r.d.end(1)
		r.marked(n, "strong")
		r.d.end(1)
	case r.d.inHeading():
		r.children(n)
	default:
		r.d.heading(n.Data)
		r.children(n)
		r.d.end(2)
		r.d.name = ""
	}
}

// caption writes the words that stand over or under something.
func (r *renderer) caption(n *html.Node) {
	mark := "em"
	if n.Data == "legend" || n.Data == "summary" || n.Data == "caption" {
		mark = "strong"
	}
	r.d.end(2)
	r.marked(n, mark)
	r.d.end(2)
}

func (r *renderer) quote(n *html.Node) {
	sign := "> "
	if r.d.plain {
		sign = "  "
	}
	r.d.nest("blockquote", sign)
	r.children(n)
	r.d.leave()
	r.d.end(2)
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
	r.d.end(2)
	name = first(100, name, "Frame")
	r.link(name, func() { r.d.text(name) }, src)
	r.d.end(2)
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
	src := first(maxURL, attr(n, "src"), goquery.NewDocumentFromNode(n).Find("source[src]").AttrOr("src", ""))
	if src = address(r.base, src); src != "" {
		r.d.end(1)
		name := first(100, attr(n, "title"), attr(n, "aria-label"), n.Data)
		r.link(name, func() { r.d.text(name) }, src)
		r.d.end(1)
	}
}

// hasBlocks reports whether there are blocks within an element, as far as its
// beginning shows.
func hasBlocks(root *html.Node) bool {
	seen := 0
	for n := range root.Descendants() {
		if seen++; seen > 100 {
			break
		}
		if n.Type == html.ElementNode && !inlineTags[n.Data] && !strings.Contains(n.Data, "-") {
			return true
		}
	}
	return false
}
