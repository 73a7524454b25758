package page

import (
	"context"
	"net/url"
	"slices"
	"strings"

	"github.com/JohannesKaufmann/html-to-markdown/v2/marker"
	"golang.org/x/net/html"
)

// copier copies the content of a page for the converter, because the converter changes its
// tree. The copy has no element whose only sense is its style; links, images and formulas are
// resolved; tables have no cell that spans others. A heading and a cell contain no blocks. The
// copy is limited in size and in the depth of its lists.
type copier struct {
	ctx       context.Context
	base      *url.URL
	format    Format
	skip      nodeSet
	limit     int
	wantLinks bool

	at        *html.Node // where the copy goes on
	pending   []byte     // text that is not in the copy yet
	size      int        // bytes of text, plus nodeSize for each element
	depth     int        // open lists, items and quotes
	line      bool       // in a heading or a cell: no blocks
	inHeading bool
	emphasis  map[string]bool // open strong, em and s
	inLink    bool
	linkText  bool   // the current link contains text, not only images
	linkTo    string // address of a link around blocks; the first block is linked
	inFormula bool   // in the drawing of a formula without TeX
	links     []Link
	linked    map[string]bool // listed in links
	targets   map[string]bool // links that are in the text: a second one is only text
	nodes     int
	full      bool
	err       error
}

const (
	maxLinks      = 1000 // that are listed
	maxContainers = 24   // levels of lists, items and quotes; deeper ones are merged
	nodeSize      = 8
)

// rawElement is an element with text that is written without escaping.
const rawElement = "our-raw"

// read returns elements one below the other.
func (c *copier) read(roots []*html.Node) (string, error) {
	if c.format == HTML {
		return c.cleanHTML(roots)
	}
	doc := &html.Node{Type: html.DocumentNode}
	c.at = doc
	c.linked, c.targets, c.emphasis = map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, root := range roots {
		c.within("p", func() { c.node(root) })
	}
	if c.err != nil {
		return "", c.err
	}
	text, cut, err := convert(c.ctx, doc, c.format == Text, c.limit)
	c.full = c.full || cut
	return text, err
}

func (c *copier) children(n *html.Node) {
	for child := n.FirstChild; child != nil; child = child.NextSibling {
		c.node(child)
	}
}

// node copies a node with its descendants.
func (c *copier) node(n *html.Node) {
	if c.nodes++; c.nodes%512 == 0 && c.err == nil {
		c.err = c.ctx.Err()
	}
	if c.full = c.full || c.size+len(c.pending) > c.limit; c.full || c.err != nil || c.skip[n] {
		return
	}
	switch n.Type {
	case html.TextNode:
		c.typeset(n.Data)
	case html.ElementNode:
		switch {
		case fieldTags[n.Data]:
			c.text(" ")
		case !c.inline(n) && !c.block(n):
			c.other(n)
		}
	case html.DocumentNode:
		c.children(n)
	}
}

// add appends an element to the copy.
func (c *copier) add(name string, attrs ...html.Attribute) *html.Node {
	c.flush()
	c.size += nodeSize
	for i := range attrs {
		attrs[i].Val = withoutMarkers(attrs[i].Val)
		c.size += len(attrs[i].Val)
	}
	if c.at.Data == "a" && (structures[name] || name == "p" || name == "div") {
		c.at = c.at.Parent // the link around blocks ends before the next one
	}
	n := &html.Node{Type: html.ElementNode, Data: name, Attr: attrs}
	c.at.AppendChild(n)
	return n
}

// within adds an element and the nodes that write copies into it.
func (c *copier) within(name string, write func(), attrs ...html.Attribute) *html.Node {
	return c.into(c.add(name, attrs...), write)
}

func (c *copier) into(n *html.Node, write func()) *html.Node {
	c.flush()
	at := c.at
	c.at = n
	write()
	c.flush()
	c.at = at
	return n
}

// separated copies the content of an element as a block of its own: p, or div for one
// without an empty line around it. Emphasis ends in each paragraph.
func (c *copier) separated(n *html.Node, name string) {
	if c.line {
		c.text(" ")
		c.children(n)
		c.text(" ")
		return
	}
	if len(c.emphasis) > 0 {
		name = "p"
	}
	c.within(name, func() { c.children(n) })
}

// container copies a list, an item or a quote. prefix is written before the first line
// of an item, or before each line of a quote.
func (c *copier) container(name, prefix string, write func()) {
	if c.line || c.depth >= maxContainers {
		c.text(" ")
		write()
		c.text(" ")
		return
	}
	c.depth++
	c.within(name, write, html.Attribute{Key: "prefix", Val: prefix})
	c.depth--
}

// flush adds the pending text to the copy.
func (c *copier) flush() {
	if len(c.pending) > 0 {
		c.size += len(c.pending)
		c.at.AppendChild(&html.Node{Type: html.TextNode, Data: withoutMarkers(string(c.pending))})
		c.pending = c.pending[:0]
	}
}

// withoutMarkers removes the characters that the converter uses internally.
func withoutMarkers(text string) string {
	const marks = string(softBreak) + string(tightBreak) + codeNewline + string(marker.MarkerEscaping)
	if !strings.ContainsAny(text, marks) {
		return text
	}
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune(marks, r) {
			return -1
		}
		return r
	}, text)
}

// text adds text.
func (c *copier) text(text string) {
	if c.linkTo != "" && strings.TrimSpace(text) != "" {
		c.beginLink()
	}
	c.pending = append(c.pending, text...)
}

// beginLink begins the link around blocks in the first of them. It ends with the block.
func (c *copier) beginLink() {
	if c.linkTo != "" {
		c.at = c.add("a", html.Attribute{Key: "href", Val: c.linkTo})
		c.linkTo = ""
	}
}

// raw adds text that is not escaped.
func (c *copier) raw(text string) { c.leaf(rawElement, html.Attribute{Key: "text", Val: text}) }

// leaf adds an element without content to the line.
func (c *copier) leaf(name string, attrs ...html.Attribute) {
	c.beginLink()
	c.add(name, attrs...)
}

// lineBreak ends a line.
func (c *copier) lineBreak() {
	if c.line || c.inLink {
		c.text(" ")
	} else {
		c.add("br")
	}
}

// emphasized copies the content of an element as emphasis: strong, em or s. Adjacent
// emphasis is one emphasis in Markdown, and none contains lists and the like.
func (c *copier) emphasized(n *html.Node, name string) {
	if c.format == Text || c.emphasis[name] || name == "strong" && c.inHeading || containsStructure(n) {
		c.children(n)
		return
	}
	c.beginLink()
	c.emphasis[name] = true
	isEmphasis := func(name string) bool { return name == "strong" || name == "em" }
	last := c.at.LastChild
	if len(c.pending) == 0 && last != nil && (last.Data == name || isEmphasis(last.Data) && isEmphasis(name)) {
		c.into(last, func() { c.children(n) })
	} else {
		c.within(name, func() { c.children(n) })
	}
	delete(c.emphasis, name)
}

// isEmpty reports whether an element of the copy has neither text nor images.
func isEmpty(root *html.Node) bool {
	for n := range root.Descendants() {
		if n.Type == html.TextNode && strings.TrimSpace(n.Data) != "" || n.Data == "img" || n.Data == rawElement {
			return false
		}
	}
	return true
}

// structures are the blocks that cannot be within emphasis.
var structures = setOf("h1 h2 h3 h4 h5 h6 ul ol li dl dt dd table blockquote pre listing hr")

func containsStructure(root *html.Node) bool {
	for n := range root.Descendants() {
		if structures[n.Data] && n.Type == html.ElementNode {
			return true
		}
	}
	return false
}

func isHeading(n *html.Node) bool {
	return n.Type == html.ElementNode && len(n.Data) == 2 && n.Data[0] == 'h' && n.Data[1] >= '1' && n.Data[1] <= '6'
}

// separateItem separates an item of a list from the one before it on a line.
func (c *copier) separateItem() {
	text := strings.TrimRight(string(c.pending), " \n\t")
	if text != "" && !strings.HasSuffix(text, ";") {
		text += ";"
	}
	c.pending = append(append(c.pending[:0], text...), ' ')
}

// follows reports whether the element before n has one of the names.
func follows(n *html.Node, names ...string) bool {
	for n = n.PrevSibling; n != nil && n.Type == html.TextNode; n = n.PrevSibling {
	}
	return n != nil && slices.Contains(names, n.Data)
}
