package page

import (
	"unicode/utf8"

	"github.com/PuerkitoBio/goquery"
	"golang.org/x/net/html"
)

type nodeSet map[*html.Node]bool

// mass is how much an element has in it.
type mass struct {
	text    int // characters outside of links
	linked  int // characters in links
	links   int
	prose   int // characters in paragraphs that are sentences
	heading bool
}

func (m mass) all() int { return m.text + m.linked }

// scales measure the elements of a page.
type scales struct {
	masses map[*html.Node]mass
	skip   nodeSet
}

func weigh(root *html.Node, skip nodeSet, about int) scales {
	s := scales{make(map[*html.Node]mass, about), skip}
	s.measure(root, false)
	return s
}

func (s scales) of(n *html.Node) mass {
	return s.masses[n]
}

func (s scales) measure(n *html.Node, inLink bool) mass {
	var m mass
	direct := 0
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		if c.Type == html.TextNode {
			count := weightOf(c.Data)
			if inLink {
				m.linked += count
			} else {
				m.text += count
			}
			direct += count
			continue
		}
		if c.Type != html.ElementNode || s.skip[c] {
			continue
		}
		link := c.Data == "a" && hasAttr(c, "href")
		in := s.measure(c, inLink || link)
		m.text, m.linked, m.links, m.prose = m.text+in.text, m.linked+in.linked, m.links+in.links, m.prose+in.prose
		m.heading = m.heading || in.heading || c.Data == "h1" && in.all() > 0
		if link {
			m.links++
		}
	}
	if n.Data == "p" || n.Data == "pre" || n.Data == "blockquote" || direct > 80 {
		if m.prose == 0 && m.text > 60 && m.text > m.linked {
			m.prose = m.text
		}
	}
	if !inlineTags[n.Data] {
		s.masses[n] = m
	}
	return m
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

// mainContent finds what a page is about: the element that has it in it, and
// what in there is about the site instead. It is the body without any skips
// when too little would be left.
func mainContent(body *html.Node) (*html.Node, nodeSet) {
	whole := weigh(body, nil, 1000)
	all := whole.of(body)
	c := clutter{scales: whole, total: max(all.all(), 1), skip: nodeSet{}}
	c.portal = all.linked > 2*all.text
	c.article = hasArticle(body)
	c.clear(body, false)
	s := weigh(body, c.skip, len(whole.masses))
	main := s.descend(body)
	kept := s.of(main)
	if kept.all() < 60 && all.all() > 2*kept.all() || kept.text < 140 && all.text > 4*kept.text+200 {
		return body, nil
	}
	return main, c.skip
}

func hasArticle(body *html.Node) bool {
	return goquery.NewDocumentFromNode(body).FindMatcher(goquery.Single("article, [itemprop=articleBody]")).Length() > 0
}

// descend goes from an element into the child that has nearly all of its text,
// as long as there is one and the main heading is not left behind.
func (s scales) descend(n *html.Node) *html.Node {
	if m := s.landmark(n); m != nil {
		n = m
	}
	for {
		here := s.of(n)
		var best *html.Node
		var most mass
		for c := n.FirstChild; c != nil; c = c.NextSibling {
			if c.Type != html.ElementNode || s.skip[c] {
				continue
			}
			if m := s.of(c); m.all() > most.all() {
				best, most = c, m
			}
		}
		if best == nil || inseparable[best.Data] || here.heading && !most.heading || most.text*100 < here.text*85 || most.all()*100 < here.all()*70 {
			return n
		}
		n = best
	}
}

// inseparable are the elements that make no sense without their like.
var inseparable = setOf("p ul ol dl table tbody tr pre blockquote figure h1 h2 h3 h4 h5 h6 form fieldset li td span a b i em strong font details")

// landmark is the element that a page says is its main part, if most of what
// reads like prose, or like anything, is in it.
func (s scales) landmark(body *html.Node) *html.Node {
	mains := goquery.NewDocumentFromNode(body).Find("main, [role=main]").FilterFunction(func(_ int, one *goquery.Selection) bool {
		return !s.skip[one.Nodes[0]]
	})
	if mains.Length() != 1 {
		return nil
	}
	found := mains.Nodes[0]
	in, all := s.of(found), s.of(body)
	if in.text*2 < all.text || all.heading && !in.heading && in.text*10 < all.text*8 {
		return nil
	}
	return found
}
