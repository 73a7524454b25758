package page

import (
	"strings"
	"unicode"

	"golang.org/x/net/html"
)

// clutter finds what on a page is not what it is about: the way to other pages,
// what is asked of every visitor, what is sold.
type clutter struct {
	outline
	total   int
	skip    nodeSet
	portal  bool // the page is there for its links
	article bool // the page has one
}

// clear takes the clutter among what is right in an element out.
func (c *clutter) clear(i int, inArticle bool) {
	for k := range c.within(i) {
		n := c.outline[k].node
		if c.is(n, c.of(k), inArticle) {
			c.skip[n] = true
			c.leave(k)
			continue
		}
		c.clear(k, inArticle || n.Data == "article" || n.Data == "main")
	}
}

// is reports whether an element is clutter. What has much of the page's text in
// it, and that not in links, is not, whatever it is called.
func (c *clutter) is(n *html.Node, m mass, inArticle bool) bool {
	if inlineTags[n.Data] && n.Data != "a" && n.Data != "span" {
		return false
	}
	dense := m.linked > m.text
	large := m.text*100 > c.total*35 && !dense || m.prose*100 > c.total*25
	if n.Data == "body" || large {
		return false
	}
	role := attr(n, "role")
	switch role {
	case "navigation", "search", "dialog", "alertdialog", "menu", "menubar", "toolbar", "tablist":
		return true
	case "contentinfo", "banner", "complementary":
		return !inArticle && !m.heading
	}
	kind := hints(n)
	switch n.Data {
	case "nav", "menu", "dialog":
		return true
	case "footer":
		return !inArticle || dense || footerHints(n)
	case "header":
		return !inArticle && !m.heading
	case "aside":
		return kind&never != 0 || !noted(n) && (!inArticle || dense || m.links > 2)
	case "a", "button":
		return skipLink(n, m) || n.Data == "button" && kind&shares != 0
	}
	switch {
	case kind&never != 0:
		return true
	case kind&comments != 0:
		return c.article && m.all()*100 < c.total*60
	case kind&sides != 0:
		return !c.portal && (m.text*100 < c.total*20 || dense)
	}
	return !c.portal && c.linkList(n, m)
}

// linkList recognises lists of links that are no text: many, short, and with
// hardly anything between them.
func (c *clutter) linkList(n *html.Node, m mass) bool {
	if n.Data != "ul" && n.Data != "ol" && n.Data != "div" && n.Data != "section" && n.Data != "table" && n.Data != "td" && n.Data != "p" {
		return false
	}
	return m.links >= 5 && m.linked > 8*m.text && m.linked/m.links < 25 && m.all()*100 < c.total*30
}

// noted reports whether an aside belongs to the text beside it.
func noted(n *html.Node) bool {
	class := strings.ToLower(attr(n, "class") + " " + attr(n, "role") + " " + attr(n, "id"))
	for _, word := range []string{"note", "tip", "warning", "caution", "admonition", "callout", "info", "important", "pullquote", "doc-"} {
		if strings.Contains(class, word) {
			return true
		}
	}
	return false
}

// skipLink recognises the links that lead around on the page itself.
func skipLink(n *html.Node, m mass) bool {
	if n.Data != "a" || !strings.HasPrefix(attr(n, "href"), "#") {
		return false
	}
	text := strings.ToLower(textOf(n, 60))
	return strings.HasPrefix(text, "skip to ") || strings.HasPrefix(text, "jump to ") || text == "back to top" || text == "top" && m.all() < 5
}

func footerHints(n *html.Node) bool {
	text := strings.ToLower(textOf(n, 200))
	return strings.Contains(text, "©") || strings.Contains(text, "all rights reserved") || hints(n)&never != 0
}

// hint is what the class and the id of an element tell of it, as bits.
type hint uint8

const (
	never    hint = 1 << iota // the content of a page
	sides                     // of the page, beside its content
	comments                  // of readers
	shares                    // the page with others
)

// hintWords are what the parts of names hint at. A part counts whole: there is
// no ad in a header, and no nav in navy.
var hintWords = func() map[string]hint {
	all := map[string]hint{}
	for words, kind := range map[string]hint{
		"cookie cookies cookiebanner cookieconsent consent gdpr ccpa onetrust newsletter subscribe subscription signup optin breadcrumb breadcrumbs " +
			"ad advert adverts advertisement advertising ads adsense adslot sponsor sponsored promo promoted promotion outbrain taboola popup modal lightbox " +
			"share shares sharing sharebar social sharethis addthis socials related recommended recommendations recirculation navbar navbox navigation " +
			"skiplink skiplinks editsection printfooter catlinks toolbar paywall pagination pager interstitial " +
			"colophon copyright masthead morelikethis trending mostread jumplinks noprint": never,
		"sidebar sidenav aside rail widget widgets menu nav footer toc topbar submenu dropdown signature tagcloud tags blogroll banner search searchform": sides,
		"comments commentlist disqus respond": comments,
		"share shares sharing copy":           shares,
	} {
		for word := range strings.FieldsSeq(words) {
			all[word] |= kind
		}
	}
	return all
}()

// hints reads the class and the id of an element.
func hints(n *html.Node) hint {
	var all hint
	for _, a := range n.Attr {
		if a.Key == "class" || a.Key == "id" {
			for word := range nameParts(a.Val) {
				all |= hintWords[word]
			}
		}
	}
	return all
}

// nameParts yields the words that class names are made of, in lower case.
func nameParts(names string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		from := 0
		var before rune
		for i, r := range names {
			if i > 2000 {
				return
			}
			ends := !unicode.IsLetter(r)
			if ends || unicode.IsUpper(r) && unicode.IsLower(before) {
				if from < i && !yield(strings.ToLower(names[from:i])) {
					return
				}
				if from = i; ends {
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
