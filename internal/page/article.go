package page

import (
	"strings"

	"golang.org/x/net/html"
)

// On a page that declares itself as an article, the text of the article is where its
// paragraphs are: teasers with summaries and other articles are elsewhere. Other pages,
// such as documentation, have no single place with most paragraphs.

// minArticle is the least prose in characters that an article has, and maxCode the most
// blocks of code: many sites declare their documentation as articles, too.
const (
	minArticle = 400
	maxCode    = 3
)

func (m measures) hasMuchCode() bool {
	count := 0
	for _, e := range m {
		if e.node.Data == "pre" || e.node.Data == "dl" {
			count++
		}
	}
	return count > maxCode
}

// articleIn returns the element with the article in the element main, and leaves out the parts
// beside the article in it.
func (c *clutterFinder) articleIn(main int) int {
	m := c.measures
	scores := make([]float64, len(m))
	for i := main + 1; i < int(m[main].end); i++ {
		points := c.paragraphPoints(i)
		parent, share := int(m[i].parent), 1.0
		for level := 1; points > 0 && level <= 5 && parent >= main && parent < i; level++ {
			scores[parent] += points * share
			if share = 0.5; level > 1 {
				share = 1 / float64(3*level-3)
			}
			if parent == main {
				break
			}
			parent = int(m[parent].parent)
		}
	}
	best := main
	for i := main; i < int(m[main].end); i++ {
		scores[i] *= c.worth(i)
		if scores[i] > scores[best] {
			best = i
		}
	}
	for best != main && scores[m[best].parent] >= 1.05*scores[best] {
		best = int(m[best].parent)
	}
	best = c.withEqualSections(best, main)
	for k := range m.children(best) {
		if c.isTeaserList(k) {
			c.found[m[k].node] = true
			m.leaveOut(k)
		}
	}
	if m.sum(); best == main || m.amount(best).prose < minArticle {
		return main
	}
	around := int(m[best].parent)
	var beside []int
	kept, text := m.amount(best).prose, m.amount(best).text
	for k := range m.children(around) {
		if k == best {
			continue
		}
		if c.belongsTo(k, best, scores[k] >= scores[best]/5) {
			kept, text = kept+m.amount(k).prose, text+m.amount(k).text
		} else {
			beside = append(beside, k)
		}
	}
	all := m.amount(main).prose
	if kept*2 < all || text*4 < m.amount(main).text { // more would be lost than kept
		return main
	}
	c.beside = all - kept
	for _, k := range beside {
		c.found[m[k].node] = true
		m.leaveOut(k)
	}
	m.sum()
	return around
}

// paragraphPoints rates a paragraph by its length and its commas; 0 means that it is not one.
func (c *clutterFinder) paragraphPoints(i int) float64 {
	e := &c.measures[i]
	switch e.node.Data {
	case "p", "pre", "blockquote", "td":
	default:
		if e.node.Data != "div" || e.own < 80 {
			return 0
		}
	}
	if e.out || e.text < 25 || e.text <= e.linked {
		return 0
	}
	commas := 0
	for n := range e.node.Descendants() {
		if n.Type == html.TextNode {
			for _, comma := range []string{",", "、", "，", "。"} {
				commas += strings.Count(n.Data, comma)
			}
		}
	}
	return float64(1+commas) + min(float64(e.text)/100, 3)
}

// worth is a factor for the points of an element.
func (c *clutterFinder) worth(i int) float64 {
	a := c.amount(i)
	worth := 1 - float64(a.linked)/float64(max(a.all(), 1))
	switch c.measures[i].node.Data {
	case "article":
		worth *= 1.1
	case "ul", "ol", "p":
		worth /= 2
	}
	return worth
}

// maxSectionLevels is how many elements the sections of an article are below it.
const maxSectionLevels = 6

// withEqualSections returns the ancestor of an element that contains its siblings of the
// same kind as well, if the element is only one of several sections of an article.
func (c *clutterFinder) withEqualSections(best, main int) int {
	m := c.measures
	for i, level := best, 0; i != main && level < maxSectionLevels; i, level = int(m[i].parent), level+1 {
		equal := 0
		for k := range m.children(int(m[i].parent)) {
			n, one := m[i].node, m[k].node
			if k != i && one.Data == n.Data && n.Data != "article" && attr(one, "class") == attr(n, "class") &&
				m.amount(k).prose > 100 {
				equal += m.amount(k).prose
			}
		}
		if equal*4 > m.amount(best).prose {
			return c.withEqualSections(int(m[i].parent), main)
		}
	}
	return best
}

// isTeaserList reports whether an element contains two headings or more that are links.
func (c *clutterFinder) isTeaserList(i int) bool {
	linked := 0
	for _, e := range c.measures[i:c.measures[i].end] {
		if isHeading(e.node) && e.linked > e.text || e.isLink && headingIn(e.node) != nil {
			linked++
		}
	}
	return linked > 1
}

// belongsTo reports whether an element beside the article belongs to it. best is the best part
// of the article.
func (c *clutterFinder) belongsTo(k, best int, hasParagraphs bool) bool {
	a, n := c.amount(k), c.measures[k].node
	linked := a.linked * 100 / max(a.all(), 1)
	switch n.Data {
	case "h1", "h2", "h3", "h4", "h5", "h6", "header", "figure", "pre", "blockquote", "img", "picture", "time", "table",
		"ul", "ol", "dl":
		return linked < 50
	case "p":
		return a.text >= 80 && linked < 25 || a.all() > 0 && a.hasHeading
	}
	isTeaser := a.links*200 > a.text || n.Data == "article" || c.isTeaserList(k)
	isEqual := n.Data == c.measures[best].node.Data && attr(n, "class") == attr(c.measures[best].node, "class")
	return a.hasHeading || (hasParagraphs || isEqual) && linked < 35 && !isTeaser
}
