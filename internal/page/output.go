package page

import (
	"cmp"
	"slices"
	"strings"

	"github.com/JohannesKaufmann/html-to-markdown/v2/marker"
	"golang.org/x/net/html"
)

// output is the small tree that is converted to Markdown: blocks with lines of text.
// Blanks are collapsed in it, no element is empty, no block is inside a line, lists
// contain only items, and the nesting is limited. What exceeds the limit is not
// added.
type output struct {
	root  *html.Node
	limit int
	size  int // bytes of text, plus nodeSize for each element
	full  bool
	plain bool // for plain text: no emphasis, links or headings
	cell  bool // for a table cell: one line

	containers []*html.Node // open lists, items and quotes, outermost first
	block      *html.Node   // the open block; nil if the next text begins a new one
	nextBlock  string       // element name of the next block; "" is a paragraph
	lastBlock  *html.Node
	gap        int          // line breaks required before the next block
	space      bool         // a blank is required before the next text
	pending    []byte       // text that is not in the tree yet
	inlines    []openInline // open inline elements
}

// openInline is an inline element. It is created when there is text for it, and
// again in each block until it is closed.
type openInline struct {
	name, href string
	node       *html.Node
	closed     bool // links are not continued in the next block
}

const (
	maxContainers = 24 // levels of lists, items and quotes; deeper ones are merged
	nodeSize      = 8
)

// rawElement is an element with text that is written without escaping.
const rawElement = "our-raw"

func newOutput(limit int, plain bool) *output {
	root := &html.Node{Type: html.DocumentNode}
	return &output{root: root, limit: limit, plain: plain, containers: []*html.Node{root}, gap: 2}
}

// newCell returns the output for a table cell.
func (o *output) newCell() *output {
	td := &html.Node{Type: html.ElementNode, Data: "td"}
	return &output{
		root: td, containers: []*html.Node{td}, block: td, cell: true, plain: o.plain, limit: o.limit - o.size,
	}
}

func (o *output) innermost() *html.Node { return o.containers[len(o.containers)-1] }

// parentFor returns where to add a block or a container: the innermost container, or
// its last item if that is a list.
func (o *output) parentFor(name string) *html.Node {
	parent := o.innermost()
	if name == "li" || parent.Data != "ul" && parent.Data != "ol" {
		return parent
	}
	if parent.LastChild == nil {
		o.add(parent, "li")
	}
	return parent.LastChild
}

// add appends an element.
func (o *output) add(to *html.Node, name string, attrs ...html.Attribute) *html.Node {
	o.size += nodeSize
	for i := range attrs {
		attrs[i].Val = o.escapeCell(withoutMarkers(attrs[i].Val))
		o.size += len(attrs[i].Val)
	}
	n := &html.Node{Type: html.ElementNode, Data: name, Attr: attrs}
	to.AppendChild(n)
	return n
}

// withoutMarkers removes the characters that the converter uses internally.
func withoutMarkers(text string) string {
	if strings.ContainsRune(text, marker.MarkerCodeBlockNewline) || strings.ContainsRune(text, marker.MarkerEscaping) {
		text = strings.ReplaceAll(text, string(marker.MarkerCodeBlockNewline), "")
		text = strings.ReplaceAll(text, string(marker.MarkerEscaping), "")
	}
	return text
}

// escapeCell keeps what is not text from ending a table cell.
func (o *output) escapeCell(text string) string {
	if o.cell && !o.plain {
		return strings.ReplaceAll(text, "|", `\|`)
	}
	return text
}

func appendText(to *html.Node, text string) {
	if last := to.LastChild; last != nil && last.Type == html.TextNode {
		last.Data += withoutMarkers(text)
		return
	}
	to.AppendChild(&html.Node{Type: html.TextNode, Data: withoutMarkers(text)})
}

// endBlock ends the block. The next one begins after at least gap line breaks.
func (o *output) endBlock(gap int) {
	if o.cell {
		o.space = true
		return
	}
	o.flush()
	o.space = false
	if o.block == nil {
		o.gap = max(o.gap, gap)
		return
	}
	o.lastBlock, o.block, o.gap = o.block, nil, gap
	for i := range o.inlines {
		in := &o.inlines[i]
		in.closed = in.closed || in.name == "a" && in.node != nil
		o.finish(in)
	}
}

// heading makes the next block a heading.
func (o *output) heading(name string) {
	o.endBlock(2)
	if !o.plain {
		o.nextBlock = name
	}
}

func (o *output) inHeading() bool {
	return o.nextBlock != "" || o.block != nil && isHeading(o.block)
}

func isHeading(n *html.Node) bool {
	return n.Type == html.ElementNode && len(n.Data) == 2 && n.Data[0] == 'h' && n.Data[1] >= '1' && n.Data[1] <= '6'
}

// flush adds the pending text to the tree.
func (o *output) flush() {
	if len(o.pending) == 0 {
		return
	}
	text, to := string(o.pending), o.inline()
	o.pending = o.pending[:0]
	o.size += len(text)
	if o.cell && !o.plain {
		for before, after, found := strings.Cut(text, "|"); found; before, after, found = strings.Cut(text, "|") {
			appendText(to, before)
			o.add(to, rawElement, html.Attribute{Key: "text", Val: "|"})
			text = after
		}
	}
	appendText(to, text)
}

// inline returns the element that text goes into.
func (o *output) inline() *html.Node {
	for _, in := range slices.Backward(o.inlines) {
		if in.node != nil {
			return in.node
		}
	}
	return o.block
}

// prepare creates the block and the inline elements for text that follows. It
// reports false if the limit is reached.
func (o *output) prepare() bool {
	if o.size+len(o.pending) > o.limit {
		o.full = true
		return false
	}
	if o.block == nil {
		o.beginBlock()
	} else if o.space && (len(o.pending) > 0 || o.block.FirstChild != nil) {
		o.pending = append(o.pending, ' ')
	}
	o.space = false
	for i := range o.inlines {
		if in := &o.inlines[i]; in.node == nil && !in.closed && in.name != "" {
			o.flush()
			o.create(in)
		}
	}
	return true
}

// create adds an inline element to the tree, or continues the one right before it:
// adjacent emphasis is one emphasis in Markdown.
func (o *output) create(in *openInline) {
	parent := o.inline()
	isEmphasis := func(name string) bool { return name == "strong" || name == "em" }
	if last := parent.LastChild; last != nil && last.Type == html.ElementNode {
		if isEmphasis(last.Data) && isEmphasis(in.name) || last.Data == "s" && in.name == "s" {
			in.node = last
			return
		}
	}
	var attrs []html.Attribute
	if in.href != "" {
		attrs = []html.Attribute{{Key: "href", Val: in.href}}
	}
	in.node = o.add(parent, in.name, attrs...)
}

// finish completes an inline element: emphasis around nothing but a link moves into
// the link, and emphasis that ends with code needs a blank after it.
func (o *output) finish(in *openInline) {
	n := in.node
	in.node = nil
	if n == nil || in.name != "strong" && in.name != "em" || n.LastChild == nil {
		return
	}
	switch last := n.LastChild; {
	case last.Type != html.ElementNode || n.Data == "a":
	case last == n.FirstChild && last.Data == "a":
		n.Data, last.Data = last.Data, n.Data
		n.Attr, last.Attr = last.Attr, n.Attr
	case last.Data == "code":
		o.space = o.block != nil
	}
}

func (o *output) beginBlock() {
	name := cmp.Or(o.nextBlock, "p")
	o.nextBlock = ""
	parent := o.parentFor(name)
	last := o.lastBlock
	if o.gap == 1 && name == "p" && last != nil && last == parent.LastChild && last.Data == "p" {
		o.block = last
		o.add(o.block, "br")
		return
	}
	o.block = o.add(parent, name)
}

// lineBreak ends a line within a block. Two line breaks end the block.
func (o *output) lineBreak() {
	inLink := slices.ContainsFunc(o.inlines, func(in openInline) bool { return in.name == "a" && in.node != nil })
	switch {
	case o.cell || inLink:
		o.space = true
	case o.block == nil && o.gap == 1:
		o.gap = 2
	case o.block != nil:
		o.endBlock(1)
	}
}

// openInline opens an inline element, closeInline closes the last one.
func (o *output) openInline(name, href string) {
	isOpen := slices.ContainsFunc(o.inlines, func(in openInline) bool { return in.name == name && !in.closed })
	if o.plain || isOpen || name == "strong" && o.inHeading() {
		name = ""
	}
	o.inlines = append(o.inlines, openInline{name: name, href: href})
}

func (o *output) closeInline() {
	o.flush()
	last := len(o.inlines) - 1
	in := o.inlines[last]
	o.inlines = o.inlines[:last]
	o.finish(&in)
}

// text adds text and collapses its blanks.
func (o *output) text(text string) {
	prepared := false
	for text != "" {
		end := 0
		for end < len(text) && !isBlank(text[end]) {
			end++
		}
		switch {
		case end == 0:
			o.space = true
			text = text[1:]
			continue
		case !prepared:
			if !o.prepare() {
				return
			}
			prepared = true
		case o.space:
			o.pending = append(o.pending, ' ')
			o.space = false
		}
		o.pending = append(o.pending, text[:end]...)
		text = text[end:]
	}
}

// raw adds text that is not escaped.
func (o *output) raw(text string) { o.addInline(rawElement, html.Attribute{Key: "text", Val: text}) }

// code adds inline code. Code right after code continues it.
func (o *output) code(text string) {
	if !o.prepare() {
		return
	}
	o.flush()
	parent := o.inline()
	n := parent.LastChild
	if n == nil || n.Data != "code" || n.Type != html.ElementNode {
		if before := parent.PrevSibling; n == nil && before != nil && before.Type == html.TextNode &&
			(parent.Data == "strong" || parent.Data == "em") && !strings.HasSuffix(before.Data, " ") {
			before.Data += " " // emphasis that begins with code needs a blank before it
		}
		n = o.add(parent, "code")
	}
	appendText(n, o.escapeCell(text))
	o.size += len(text)
}

// addInline adds an element to the line; nil if the limit is reached.
func (o *output) addInline(name string, attrs ...html.Attribute) *html.Node {
	if !o.prepare() {
		return nil
	}
	o.flush()
	return o.add(o.inline(), name, attrs...)
}

// addBlock adds a block without text; nil if the limit is reached.
func (o *output) addBlock(name string) *html.Node {
	o.endBlock(2)
	if o.size > o.limit {
		o.full = true
		return nil
	}
	return o.add(o.parentFor(name), name)
}

// openContainer opens a list, an item or a quote, closeContainer closes it. prefix
// is written before the first line of an item, or before each line of a quote.
func (o *output) openContainer(name, prefix string) {
	o.endBlock(2)
	n := o.innermost()
	if len(o.containers) <= maxContainers && !o.cell {
		n = o.add(o.parentFor(name), name)
		if prefix != "" {
			n.Attr = []html.Attribute{{Key: "prefix", Val: prefix}}
		}
	}
	o.containers = append(o.containers, n)
}

func (o *output) closeContainer() {
	o.endBlock(1)
	n := o.innermost()
	o.containers = o.containers[:len(o.containers)-1]
	if n.FirstChild == nil && n != o.innermost() {
		n.Parent.RemoveChild(n)
	}
}

// openItem opens an item in a new list, or in the list right before it if again is
// set. closeItem closes both.
func (o *output) openItem(list, prefix string, again bool) {
	o.endBlock(2)
	last := o.innermost().LastChild
	if again && last != nil && last.Data == list && !o.cell {
		o.containers = append(o.containers, last)
	} else {
		o.openContainer(list, "")
	}
	o.openContainer("li", prefix)
}

func (o *output) closeItem() {
	o.closeContainer()
	o.closeContainer()
}

// separate separates the items of a list on one line.
func (o *output) separate() {
	if len(o.pending) > 0 && o.pending[len(o.pending)-1] != ';' {
		o.pending = append(o.pending, ';')
	}
	o.space = true
}
