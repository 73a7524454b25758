package page

import (
	"slices"
	"strings"

	"github.com/JohannesKaufmann/html-to-markdown/v2/marker"
	"golang.org/x/net/html"
)

// draft is what goes to the converter: a small tree of blocks with lines in
// them, made from the tree of a page. Blanks are collapsed in it, nothing is
// empty, blocks are nowhere within a line, and nothing nests deep. What is beyond
// its limit is not taken in.
type draft struct {
	root  *html.Node
	limit int
	size  int // bytes of text, and some for each element
	full  bool
	plain bool // for plain text: no emphasis, links or headings
	cell  bool // all is on one line of a table

	homes []*html.Node // the lists, items and quotes around what comes next
	block *html.Node   // what text goes into; nil is a new paragraph
	name  string       // of the next block, if it is no paragraph
	line  *html.Node   // the paragraph that ended last
	gap   int          // line breaks that are owed
	space bool         // a blank is owed
	words []byte       // text that is not in the tree yet
	marks []mark
}

// mark is an element within a line. It is opened when there is text for it, and
// again in each block until it is popped.
type mark struct {
	name, href string
	node       *html.Node
	once, done bool // links are not opened again
}

const (
	maxNests = 12 // levels of lists and quotes; those deeper look like the last
	nodeSize = 8
)

// asIs is the element whose text is written as it stands. The converter has a
// void element of this name, around which it leaves blanks alone.
const asIs = "command"

func newDraft(limit int, plain bool) *draft {
	root := &html.Node{Type: html.DocumentNode}
	return &draft{root: root, limit: limit, plain: plain, homes: []*html.Node{root}, gap: 2}
}

func (d *draft) home() *html.Node { return d.homes[len(d.homes)-1] }

// add puts an element into another. Characters that the converter marks places
// with are not let in, here and in text.
func (d *draft) add(to *html.Node, name string, attrs ...html.Attribute) *html.Node {
	d.size += nodeSize
	for i := range attrs {
		attrs[i].Val = d.inCell(unmarked(attrs[i].Val))
		d.size += len(attrs[i].Val)
	}
	n := &html.Node{Type: html.ElementNode, Data: name, Attr: attrs}
	to.AppendChild(n)
	return n
}

func unmarked(text string) string {
	if strings.ContainsRune(text, marker.MarkerCodeBlockNewline) || strings.ContainsRune(text, marker.MarkerEscaping) {
		text = strings.NewReplacer(string(marker.MarkerCodeBlockNewline), "", string(marker.MarkerEscaping), "").Replace(text)
	}
	return text
}

// inCell keeps what is no text from ending a cell of a table.
func (d *draft) inCell(text string) string {
	if d.cell && !d.plain {
		return strings.ReplaceAll(text, "|", `\|`)
	}
	return text
}

func textNode(text string) *html.Node {
	return &html.Node{Type: html.TextNode, Data: unmarked(text)}
}

// end ends the block; what follows is that many line breaks away.
func (d *draft) end(gap int) {
	if d.cell {
		d.space = true
		return
	}
	d.flush()
	d.space = false
	if d.block == nil {
		d.gap = max(d.gap, gap)
		return
	}
	d.line, d.block, d.gap = d.block, nil, gap
	for i := range d.marks {
		m := &d.marks[i]
		m.done = m.done || m.once && m.node != nil
		m.node = nil
	}
}

// heading begins a block that is a heading; what is in its element beyond a
// block is none.
func (d *draft) heading(name string) {
	d.end(2)
	if !d.plain {
		d.name = name
	}
}

func (d *draft) inHeading() bool {
	return d.name != "" || d.block != nil && isHeading(d.block)
}

func isHeading(n *html.Node) bool {
	return n.Type == html.ElementNode && len(n.Data) == 2 && n.Data[0] == 'h' && n.Data[1] >= '1' && n.Data[1] <= '6'
}

// flush puts the text that has come so far into the tree.
func (d *draft) flush() {
	if len(d.words) == 0 {
		return
	}
	text, in := string(d.words), d.inner()
	d.words = d.words[:0]
	d.size += len(text)
	for bar := 0; d.cell && !d.plain && bar >= 0; {
		if bar = strings.IndexByte(text, '|'); bar >= 0 {
			in.AppendChild(textNode(text[:bar]))
			d.add(in, asIs, html.Attribute{Key: "text", Val: "|"})
			text = text[bar+1:]
		}
	}
	in.AppendChild(textNode(text))
}

// inner is the element that text goes into.
func (d *draft) inner() *html.Node {
	for _, m := range slices.Backward(d.marks) {
		if m.node != nil {
			return m.node
		}
	}
	return d.block
}

// begin makes what is owed before there can be text, and reports whether there
// can.
func (d *draft) begin() bool {
	if d.size+len(d.words) > d.limit {
		d.full = true
		return false
	}
	if d.block == nil {
		d.beginBlock()
	} else if d.space && (len(d.words) > 0 || d.block.FirstChild != nil) {
		d.words = append(d.words, ' ')
	}
	d.space = false
	for i := range d.marks {
		if m := &d.marks[i]; m.node == nil && !m.done && m.name != "" {
			d.flush()
			var attrs []html.Attribute
			if m.href != "" {
				attrs = []html.Attribute{{Key: "href", Val: m.href}}
			}
			m.node = d.add(d.inner(), m.name, attrs...)
		}
	}
	return true
}

func (d *draft) beginBlock() {
	if d.gap == 1 && d.name == "" && d.line != nil && d.line == d.home().LastChild && d.line.Data == "p" {
		d.block = d.line
		d.add(d.block, "br")
		return
	}
	name := d.name
	if d.name = ""; name == "" {
		name = "p"
	}
	d.block = d.add(d.home(), name)
}

// lineBreak ends a line within a block. Two of them end the block.
func (d *draft) lineBreak() {
	inLink := slices.ContainsFunc(d.marks, func(m mark) bool { return m.name == "a" && m.node != nil })
	switch {
	case d.cell || inLink:
		d.space = true
	case d.block == nil && d.gap == 1:
		d.gap = 2
	case d.block != nil:
		d.end(1)
	}
}

// push opens an element within a line, pop closes it.
func (d *draft) push(name, href string) {
	same := slices.ContainsFunc(d.marks, func(m mark) bool { return m.name == name && !m.done })
	if d.plain || same || name == "strong" && d.inHeading() {
		name = ""
	}
	d.marks = append(d.marks, mark{name: name, href: href, once: name == "a"})
}

func (d *draft) pop() {
	d.flush()
	d.marks = d.marks[:len(d.marks)-1]
}

// text takes text; blanks in it become one.
func (d *draft) text(text string) {
	open := false
	for text != "" {
		end := 0
		for end < len(text) && !blankByte(text[end]) {
			end++
		}
		switch {
		case end == 0:
			d.space = true
			text = text[1:]
			continue
		case !open:
			if !d.begin() {
				return
			}
			open = true
		case d.space:
			d.words = append(d.words, ' ')
			d.space = false
		}
		d.words = append(d.words, text[:end]...)
		text = text[end:]
	}
}

// raw takes something of ours that is no text of the page.
func (d *draft) raw(text string) { d.inline(asIs, html.Attribute{Key: "text", Val: text}) }

// code takes code within a line.
func (d *draft) code(text string) {
	if n := d.inline("code"); n != nil {
		n.AppendChild(textNode(d.inCell(text)))
		d.size += len(text)
	}
}

// inline takes an element within a line.
func (d *draft) inline(name string, attrs ...html.Attribute) *html.Node {
	if !d.begin() {
		return nil
	}
	d.flush()
	return d.add(d.inner(), name, attrs...)
}

// leaf takes a block that has no lines of text in it; nil if there is no room.
func (d *draft) leaf(name string) *html.Node {
	d.end(2)
	if d.size > d.limit {
		d.full = true
		return nil
	}
	return d.add(d.home(), name)
}

// nest opens a list, an item of one or a quote, leave closes it. A sign is what
// its first line begins with, or each of a quote.
func (d *draft) nest(name, sign string) {
	d.end(2)
	n := d.home()
	if len(d.homes) <= 2*maxNests && !d.cell {
		n = d.add(n, name)
		if sign != "" {
			n.Attr = []html.Attribute{{Key: "sign", Val: sign}}
		}
	}
	d.homes = append(d.homes, n)
}

func (d *draft) leave() {
	d.end(1)
	n := d.home()
	d.homes = d.homes[:len(d.homes)-1]
	if n.FirstChild == nil && n != d.home() {
		n.Parent.RemoveChild(n)
	}
}

// item opens an item with a list of its own, which may be the one before it.
// leaveItem closes both.
func (d *draft) item(list, sign string, again bool) {
	d.end(2)
	if last := d.home().LastChild; again && last != nil && last.Data == list && !d.cell {
		d.homes = append(d.homes, last)
	} else {
		d.nest(list, "")
	}
	d.nest("li", sign)
}

func (d *draft) leaveItem() {
	d.leave()
	d.leave()
}

// separate parts the items of a list that stand in one line.
func (d *draft) separate() {
	if len(d.words) > 0 && d.words[len(d.words)-1] != ';' {
		d.words = append(d.words, ';')
	}
	d.space = true
}

// tree is the finished draft.
func (d *draft) tree() *html.Node {
	d.flush()
	return d.root
}
