package page

import (
	"unicode/utf8"

	"golang.org/x/net/html"
)

// mass is how much an element has in it.
type mass struct {
	text    int // characters outside of links
	linked  int // characters in links
	links   int
	prose   int // characters in paragraphs that are sentences
	heading bool
}

func (m mass) all() int { return m.text + m.linked }

// An outline is the elements of a page in the order in which they begin, with
// how much each has in it. What is in the element with number i are the numbers
// from i+1 up to its end.
type outline []weighed

// weighed is an element of an outline. There is one for each of a page, so it is
// small: no page has so many characters that they would not fit.
type weighed struct {
	node                        *html.Node
	end                         int32 // the number behind the last element that is in it
	around                      int32 // the number of the element that it is in
	own                         int32 // characters right in it
	text, linked, links, prose  int32 // as in mass
	heading, link, inLink, left bool  // left: out of the outline, with all in it
}

// outlineOf weighs what is in an element, of which it is number 0. About is how
// many elements there may be in it.
func outlineOf(root *html.Node, about int) outline {
	o := make(outline, 0, about)
	o.add(root, 0, false)
	o.weigh()
	return o
}

func (o *outline) add(n *html.Node, around int, inLink bool) {
	i := len(*o)
	link := n.Data == "a" && hasAttr(n, "href")
	*o = append(*o, weighed{node: n, around: int32(around), link: link, inLink: inLink || link})
	own := 0
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		switch c.Type {
		case html.TextNode:
			own += weightOf(c.Data)
		case html.ElementNode:
			o.add(c, i, inLink || link)
		}
	}
	(*o)[i].own, (*o)[i].end = int32(own), int32(len(*o))
}

// weigh adds up what is in each element, from the last one, so that all that is
// in an element has been weighed before it.
func (o outline) weigh() {
	for i := range o {
		o[i].text, o[i].linked, o[i].links, o[i].prose, o[i].heading = 0, 0, 0, 0, false
	}
	for i := len(o) - 1; i >= 0; i-- {
		w := &o[i]
		if w.left {
			continue
		}
		if w.inLink {
			w.linked += w.own
		} else {
			w.text += w.own
		}
		if n := w.node.Data; (n == "p" || n == "pre" || n == "blockquote" || w.own > 80) && w.prose == 0 && w.text > 60 && w.text > w.linked {
			w.prose = w.text
		}
		if i > 0 {
			w.addTo(&o[w.around])
		}
	}
}

// addTo adds an element to the one that it is in.
func (w *weighed) addTo(around *weighed) {
	around.text += w.text
	around.linked += w.linked
	around.links += w.links
	around.prose += w.prose
	around.heading = around.heading || w.heading || w.node.Data == "h1" && w.text+w.linked > 0
	if w.link {
		around.links++
	}
}

// leave takes an element out, with all that is in it.
func (o outline) leave(i int) {
	for k := i; k < int(o[i].end); k++ {
		o[k].left = true
	}
}

// of is how much is in an element that is a block and was not left out.
func (o outline) of(i int) mass {
	w := &o[i]
	if w.left || inlineTags[w.node.Data] {
		return mass{}
	}
	return mass{text: int(w.text), linked: int(w.linked), links: int(w.links), prose: int(w.prose), heading: w.heading}
}

// within yields the elements right in one that were not left out.
func (o outline) within(i int) func(yield func(int) bool) {
	return func(yield func(int) bool) {
		for k := i + 1; k < int(o[i].end); k = int(o[k].end) {
			if !o[k].left && !yield(k) {
				return
			}
		}
	}
}

// weightOf is how many characters a text has that are no blanks; those of
// scripts that put a word into each count more.
func weightOf(text string) int {
	count := 0
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c > ' ' && c < utf8.RuneSelf || c >= 0xc0 && c < 0xe3:
			count++
		case c >= 0xe3:
			count += 3
		}
	}
	return count
}
