package page

import (
	"github.com/JohannesKaufmann/html-to-markdown/v2/converter"
	"golang.org/x/net/html"
)

// Before it writes, the library goes over the tree two dozen times to mend what
// it finds in the wild. Most of a draft is whole by the way it was made: only
// marks in a line, and what is in a list and no item, may stand so that Markdown
// has no form for them. Blocks without such are put aside meanwhile.

// shelter puts an element that says nothing into the place of each such block.
func shelter(ctx converter.Context, doc *html.Node) {
	c := conversionOf(ctx)
	for block := doc.FirstChild; block != nil; block = block.NextSibling {
		if whole(block) {
			stand := &html.Node{Type: html.ElementNode, Data: asIs}
			c.sheltered = append(c.sheltered, block, stand)
			swap(block, stand)
			block = stand
		}
	}
}

// unshelter puts the blocks back.
func unshelter(ctx converter.Context, _ *html.Node) {
	c := conversionOf(ctx)
	for i := 0; i < len(c.sheltered); i += 2 {
		swap(c.sheltered[i+1], c.sheltered[i])
	}
}

// swap puts an element into the place of another one.
func swap(old, put *html.Node) {
	parent := old.Parent
	parent.InsertBefore(put, old)
	parent.RemoveChild(old)
}

// whole reports whether there is nothing to be mended in a block: no marks, no
// code beside code or text beside text, and nothing but items in lists.
func whole(n *html.Node) bool {
	list := n.Data == "ul" || n.Data == "ol"
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		text := c.Type == html.TextNode
		switch next := c.NextSibling; {
		case next != nil && (text && next.Type == html.TextNode || c.Data == "code" && next.Data == "code"):
			return false
		case text:
			continue
		case c.Data == "strong" || c.Data == "em" || c.Data == "s" || list && c.Data != "li" || !whole(c):
			return false
		}
	}
	return true
}
