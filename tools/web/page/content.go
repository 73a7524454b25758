package page

import (
	"golang.org/x/net/html"
)

type nodeSet map[*html.Node]bool

// mainContent finds what a page is about: the element that has it in it, and
// what in there is about the site instead. It is the body without any skips
// when too little would be left. About is how many elements the page may have.
func mainContent(body *html.Node, about int) (*html.Node, nodeSet) {
	o := outlineOf(body, about)
	all := o.of(0)
	c := clutter{outline: o, total: max(all.all(), 1), skip: nodeSet{}}
	c.portal = all.linked > 2*all.text
	c.article = o.hasArticle()
	c.clear(0, false)
	o.weigh()
	main := o.descend()
	kept := o.of(main)
	if kept.all() < 60 && all.all() > 2*kept.all() || kept.text < 140 && all.text > 4*kept.text+200 {
		return body, nil
	}
	return o[main].node, c.skip
}

func (o outline) hasArticle() bool {
	for _, w := range o[1:] {
		if w.node.Data == "article" || attr(w.node, "itemprop") == "articleBody" {
			return true
		}
	}
	return false
}

// descend goes from the first element into the one in it that has nearly all of
// its text, as long as there is one and the main heading is not left behind.
func (o outline) descend() int {
	n := o.landmark()
	for {
		here, best, most := o.of(n), 0, mass{}
		for k := range o.within(n) {
			if m := o.of(k); m.all() > most.all() {
				best, most = k, m
			}
		}
		if best == 0 || inseparable[o[best].node.Data] || here.heading && !most.heading || most.text*100 < here.text*85 || most.all()*100 < here.all()*70 {
			return n
		}
		n = best
	}
}

// inseparable are the elements that make no sense without their like.
var inseparable = setOf("p ul ol dl table tbody tr pre blockquote figure h1 h2 h3 h4 h5 h6 form fieldset li td span a b i em strong font details")

// landmark is the element that a page says is its main part, if most of what
// reads like prose, or like anything, is in it, and else the first one.
func (o outline) landmark() int {
	found := 0
	for i, w := range o[1:] {
		clutter := w.left && !o[w.around].left // what is in there counts: then there are two
		if clutter || w.node.Data != "main" && attr(w.node, "role") != "main" {
			continue
		}
		if found > 0 {
			return 0
		}
		found = i + 1
	}
	in, all := o.of(found), o.of(0)
	if in.text*2 < all.text || all.heading && !in.heading && in.text*10 < all.text*8 {
		return 0
	}
	return found
}
