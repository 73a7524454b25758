package page

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/html"
)

type nodeSet map[*html.Node]bool

// mainContent returns the element with the main content of a page, and the elements to leave
// out within it. If too little would remain, it returns the body and leaves nothing out.
// sizeHint is the approximate number of elements. isArticle is set if the page declares that it
// is an article; beside is the prose beside the article that is left out, in characters.
func mainContent(body *html.Node, sizeHint int, isArticle bool) (node *html.Node, skip nodeSet, beside int) {
	m := newMeasures(body, sizeHint)
	all := m.amount(0)
	c := clutterFinder{measures: m, total: max(all.all(), 1), prose: all.prose, found: nodeSet{}}
	c.linkPage = all.linked > 2*all.text
	c.hasArticle = m.hasArticle()
	c.isArticle = (isArticle || m.hasArticleBody()) && !m.hasMuchCode()
	c.find(0, false)
	m.sum()
	main := m.findMain()
	if c.isArticle {
		main = c.articleIn(main)
	}
	kept := m.amount(main)
	if kept.all() < 60 && all.all() > 2*kept.all() || kept.text < 140 && all.text > 4*kept.text+200 {
		return body, nil, 0
	}
	return m[main].node, c.found, c.beside
}

// amount is the amount of content of an element.
type amount struct {
	text       int // characters outside of links
	linked     int // characters in links
	links      int
	prose      int // characters in paragraphs
	hasHeading bool
}

func (a amount) all() int { return a.text + a.linked }

// measures are the elements of a page in document order, with the amount of content
// of each. The elements within the one with index i have the indexes from i+1 to
// before m[i].end.
type measures []measure

// A measure is one element. Pages have many, so it is compact.
type measure struct {
	node                            *html.Node
	end                             int32 // index after the last descendant
	parent                          int32
	own                             int32 // characters directly in the element
	text, linked, links, prose      int32 // as in amount
	hasHeading, isLink, inLink, out bool  // out: left out, with its descendants
}

func newMeasures(root *html.Node, sizeHint int) measures {
	m := make(measures, 0, sizeHint)
	m.add(root, 0, false)
	m.sum()
	return m
}

func (m *measures) add(n *html.Node, parent int, inLink bool) {
	i := len(*m)
	isLink := n.Data == "a" && hasAttr(n, "href")
	*m = append(*m, measure{node: n, parent: int32(parent), isLink: isLink, inLink: inLink || isLink})
	own := 0
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		switch c.Type {
		case html.TextNode:
			own += weight(c.Data)
		case html.ElementNode:
			m.add(c, i, inLink || isLink)
		}
	}
	(*m)[i].own, (*m)[i].end = int32(own), int32(len(*m))
}

// sum computes the amounts of all elements, from the last element to the first.
func (m measures) sum() {
	for i := range m {
		m[i].text, m[i].linked, m[i].links, m[i].prose, m[i].hasHeading = 0, 0, 0, 0, false
	}
	for i := len(m) - 1; i >= 0; i-- {
		e := &m[i]
		if e.out {
			continue
		}
		if e.inLink {
			e.linked += e.own
		} else {
			e.text += e.own
		}
		isParagraph := e.node.Data == "p" || e.node.Data == "pre" || e.node.Data == "blockquote" || e.own > 80
		if isParagraph && e.prose == 0 && e.text > 60 && e.text > e.linked {
			e.prose = e.text
		}
		if i > 0 {
			e.addTo(&m[e.parent])
		}
	}
}

func (e *measure) addTo(parent *measure) {
	parent.text += e.text
	parent.linked += e.linked
	parent.links += e.links
	parent.prose += e.prose
	parent.hasHeading = parent.hasHeading || e.hasHeading || e.node.Data == "h1" && e.text+e.linked > 0
	if e.isLink {
		parent.links++
	}
}

// leaveOut leaves out an element with its descendants.
func (m measures) leaveOut(i int) {
	for k := i; k < int(m[i].end); k++ {
		m[k].out = true
	}
}

// amount returns the content of a block; zero for inline elements and omitted ones.
func (m measures) amount(i int) amount {
	e := &m[i]
	if e.out || inlineTags[e.node.Data] {
		return amount{}
	}
	return amount{
		text: int(e.text), linked: int(e.linked), links: int(e.links), prose: int(e.prose), hasHeading: e.hasHeading,
	}
}

// children yields the children of an element that are not left out.
func (m measures) children(i int) func(yield func(int) bool) {
	return func(yield func(int) bool) {
		for k := i + 1; k < int(m[i].end); k = int(m[k].end) {
			if !m[k].out && !yield(k) {
				return
			}
		}
	}
}

// weight counts the characters of a text without white space. Characters of scripts
// without spaces count three.
func weight(text string) int {
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

func (m measures) hasArticle() bool {
	isArticle := func(e measure) bool { return e.node.Data == "article" }
	return slices.ContainsFunc(m, isArticle) || m.hasArticleBody()
}

func (m measures) hasArticleBody() bool {
	return slices.ContainsFunc(m, func(e measure) bool { return attr(e.node, "itemprop") == "articleBody" })
}

// findMain descends into the child that has nearly all of the text, as long as there
// is one and the main heading stays included.
func (m measures) findMain() int {
	n := m.mainLandmark()
	for {
		here, best, largest := m.amount(n), 0, amount{}
		for k := range m.children(n) {
			if a := m.amount(k); a.all() > largest.all() {
				best, largest = k, a
			}
		}
		losesHeading := here.hasHeading && !largest.hasHeading
		losesText := largest.text*100 < here.text*85 || largest.all()*100 < here.all()*70
		if best == 0 || inseparable[m[best].node.Data] || losesHeading || losesText {
			return n
		}
		n = best
	}
}

// inseparable are elements that make no sense without their siblings.
var inseparable = setOf("p ul ol dl table tbody tr pre blockquote figure h1 h2 h3 h4 h5 h6 form fieldset li td span " +
	"a b i em strong font details")

// mainLandmark returns the only main element if it has most of the text, and else
// the first element.
func (m measures) mainLandmark() int {
	found := 0
	for i, e := range m[1:] {
		isClutter := e.out && !m[e.parent].out // within clutter it counts as another main element
		if isClutter || e.node.Data != "main" && attr(e.node, "role") != "main" {
			continue
		}
		if found > 0 {
			return 0
		}
		found = i + 1
	}
	in, all := m.amount(found), m.amount(0)
	if in.text*2 < all.text || all.hasHeading && !in.hasHeading && in.text*10 < all.text*8 {
		return 0
	}
	return found
}

// clutterFinder finds the clutter of a page: navigation, notices and advertising.
type clutterFinder struct {
	measures
	total      int
	prose      int // of the page
	beside     int // prose beside the article
	found      nodeSet
	linkPage   bool // the page consists mostly of links
	hasArticle bool
	isArticle  bool // the page declares that it is an article
}

// find leaves out the clutter among the descendants of an element.
func (c *clutterFinder) find(i int, inArticle bool) {
	for k := range c.children(i) {
		n := c.measures[k].node
		if c.isClutter(n, c.amount(k), inArticle) {
			c.found[n] = true
			c.leaveOut(k)
			continue
		}
		c.find(k, inArticle || n.Data == "article" || n.Data == "main")
	}
}

// isClutter reports whether an element is clutter. An element with much of the text outside of
// links is not, for any name.
func (c *clutterFinder) isClutter(n *html.Node, a amount, inArticle bool) bool {
	if inlineTags[n.Data] && n.Data != "a" && n.Data != "span" {
		return false
	}
	mostlyLinks := a.linked > a.text
	if c.isArticle && namedAs(n, "class")|namedAs(n, "id") == comments && c.prose-a.prose >= minArticle {
		return true
	}
	large := a.text*100 > c.total*35 && !mostlyLinks || a.prose*100 > c.total*25
	if n.Data == "body" || large {
		return false
	}
	switch attr(n, "role") {
	case "navigation", "search", "dialog", "alertdialog", "menu", "menubar", "toolbar", "tablist":
		return true
	case "contentinfo", "banner", "complementary":
		return !inArticle && !a.hasHeading
	}
	named := namedAs(n, "class")
	if idCanName(n, a) {
		named |= namedAs(n, "id")
	}
	switch n.Data {
	case "nav", "menu", "dialog":
		return true
	case "footer":
		return !inArticle || mostlyLinks || named&clutter != 0 || hasCopyright(n)
	case "header":
		return !inArticle && !a.hasHeading
	case "aside":
		return named&clutter != 0 || !isNote(n) && (!inArticle || mostlyLinks || a.links > 2)
	case "a", "button":
		return isSkipLink(n, a) || n.Data == "button" && named&sharing != 0
	}
	switch {
	case named&clutter != 0:
		return true
	case named&comments != 0:
		return c.hasArticle && a.all()*100 < c.total*60
	case named&sidebar != 0:
		return !c.linkPage && (a.text*100 < c.total*20 || mostlyLinks)
	}
	return !c.linkPage && c.isLinkList(n, a)
}

// idCanName reports whether the id of an element describes it. In documentation ids are made of
// headings, such as related-objects and tags: the id of a part that begins with its own
// heading, or is mostly prose, says nothing.
func idCanName(n *html.Node, a amount) bool {
	switch n.Data {
	case "h1", "h2", "h3", "h4", "h5", "h6", "p", "pre", "dl", "dt", "dd", "li", "tr", "td", "th", "table", "figure":
		return false
	}
	return a.linked > a.text || a.prose*2 <= a.all() && !beginsWithHeading(n)
}

// beginsWithHeading reports whether a heading is the first thing in an element.
func beginsWithHeading(n *html.Node) bool {
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		switch {
		case c.Type == html.TextNode && strings.TrimSpace(c.Data) == "" || c.Data == "a" && c.FirstChild == nil:
		case c.Type != html.ElementNode:
			return false
		case c.Data == "div" || c.Data == "header" || c.Data == "span" && c.FirstChild != nil:
			return beginsWithHeading(c)
		default:
			return isHeading(c) || c.Data == "dt"
		}
	}
	return false
}

// isLinkList recognises navigation: many short links with hardly any text between them.
func (c *clutterFinder) isLinkList(n *html.Node, a amount) bool {
	switch n.Data {
	case "ul", "ol", "div", "section", "table", "td", "p":
		return a.links >= 5 && a.linked > 8*a.text && a.linked/a.links < 25 && a.all()*100 < c.total*30
	}
	return false
}

// isNote reports whether an aside belongs to the text around it.
func isNote(n *html.Node) bool {
	names := strings.ToLower(attr(n, "class") + " " + attr(n, "role") + " " + attr(n, "id"))
	for _, word := range []string{
		"note", "tip", "warning", "caution", "admonition", "callout", "info", "important", "pullquote", "doc-",
	} {
		if strings.Contains(names, word) {
			return true
		}
	}
	return false
}

// isSkipLink recognises links such as "skip to content".
func isSkipLink(n *html.Node, a amount) bool {
	if n.Data != "a" || !strings.HasPrefix(attr(n, "href"), "#") {
		return false
	}
	text := strings.ToLower(textOf(n, 60))
	return strings.HasPrefix(text, "skip to ") || strings.HasPrefix(text, "jump to ") ||
		text == "back to top" || text == "top" && a.all() < 5
}

func hasCopyright(n *html.Node) bool {
	text := strings.ToLower(textOf(n, 200))
	return strings.Contains(text, "©") || strings.Contains(text, "all rights reserved")
}

// naming has the hints in class and id about the content of an element, as
// bits.
type naming uint8

const (
	clutter naming = 1 << iota // never content
	sidebar                    // beside the content
	comments
	sharing // buttons to share the page
)

// namingWords are words in class names and ids. Whole words count: "ad" does not
// match "header".
var namingWords = func() map[string]naming {
	all := map[string]naming{}
	for words, kind := range map[string]naming{
		"cookie cookies cookiebanner cookieconsent consent gdpr ccpa onetrust newsletter subscribe subscription " +
			"signup optin breadcrumb breadcrumbs ad advert adverts advertisement advertising ads adsense " +
			"adslot sponsor sponsored promo promoted promotion outbrain taboola popup modal lightbox share shares " +
			"sharing sharebar social sharethis addthis socials related recommended recommendations recirculation " +
			"navbar navbox navigation skiplink skiplinks editsection printfooter catlinks toolbar paywall " +
			"pagination pager interstitial colophon copyright masthead morelikethis trending mostread jumplinks " +
			"noprint": clutter,
		"sidebar sidenav aside rail widget widgets menu nav footer toc topbar submenu dropdown signature tagcloud " +
			"tags blogroll banner search searchform": sidebar,
		"comments commentlist disqus respond": comments,
		"share shares sharing copy":           sharing,
	} {
		for word := range strings.FieldsSeq(words) {
			all[word] |= kind
		}
	}
	return all
}()

// namedAs reads the class or the id of an element.
func namedAs(n *html.Node, key string) naming {
	var all naming
	for word := range nameWords(attr(n, key)) {
		all |= namingWords[word]
	}
	return all
}

// nameWords yields the words of class names in lower case: it splits at everything
// that is not a letter, and before upper case after lower case.
func nameWords(names string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		from := 0
		var before rune
		for i, r := range names {
			if i > 2000 {
				return
			}
			isEnd := !unicode.IsLetter(r)
			if isEnd || unicode.IsUpper(r) && unicode.IsLower(before) {
				if from < i && !yield(strings.ToLower(names[from:i])) {
					return
				}
				if from = i; isEnd {
					from = i + len(string(r))
				}
			}
			before = r
		}
		if from < len(names) {
			yield(strings.ToLower(names[from:min(len(names), from+60)]))
		}
	}
}
