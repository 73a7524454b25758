package page

import (
	"net/url"
	"strings"
	"time"

	"golang.org/x/net/html"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// Meta is what a page says about itself. Fields that it does not say are "".
type Meta struct {
	Title       string
	Author      string
	Site        string
	Description string
	Published   string // 2006-01-02, or with a time as RFC 3339 has it
	Modified    string
	Canonical   string // absolute
	Language    string // BCP 47
}

// readMeta gathers the metadata of a page. Where a page says a thing twice, what
// it says to those who show links to it counts most: there it is shortest.
func readMeta(doc document, base *url.URL) Meta {
	page := survey(doc.root)
	named := page.named
	ld := readLinked(doc.data)
	byline := byName(wordsOf(page.byline, 100))
	published := attrOf(page.published, "datetime")
	m := Meta{
		Title:       first(300, named["og:title"], ld.title, doc.title, named["twitter:title"], wordsOf(page.heading, 300)),
		Author:      first(200, ld.author, named["author"], named["article:author"], named["dc.creator"], named["dcterms.creator"], named["parsely-author"], named["citation_author"], byline),
		Site:        first(100, named["og:site_name"], ld.site, named["application-name"]),
		Description: first(500, named["og:description"], named["description"], named["twitter:description"], ld.description),
		Language:    language(attrOf(page.top, "lang"), attrOf(page.top, "xml:lang"), named["og:locale"], named["content-language"]),
		Canonical:   address(base, first(maxURL, attrOf(page.canonical, "href"), named["og:url"])),
	}
	m.Published = firstDate(ld.published, named["article:published_time"], named["datepublished"], named["date"], named["dc.date"], named["dcterms.created"], named["citation_publication_date"], named["pubdate"], published)
	m.Modified = firstDate(ld.modified, named["article:modified_time"], named["og:updated_time"], named["datemodified"], named["last-modified"], named["dcterms.modified"])
	m.Title = withoutSite(m.Title, m.Site)
	return m
}

// maxNamed is how many things a page can say in meta elements.
const maxNamed = 200

// told are the elements of a page that tell something about it, the first of each
// kind.
type told struct {
	top, heading, byline, published, canonical *html.Node
	named                                      map[string]string // what is in meta elements, by what they call it
}

// survey looks for them all at once: it is a long way through a page.
func survey(root *html.Node) *told {
	t := &told{named: map[string]string{}}
	t.look(root)
	return t
}

func (t *told) look(n *html.Node) {
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		if c.Type != html.ElementNode {
			continue
		}
		switch c.Data {
		case "html":
			note(&t.top, c)
		case "h1":
			note(&t.heading, c)
		case "meta":
			t.name(c)
		case "link":
			if strings.EqualFold(attr(c, "rel"), "canonical") && hasAttr(c, "href") {
				note(&t.canonical, c)
			}
		case "time":
			if hasAttr(c, "pubdate") || publishes(attr(c, "itemprop")) || publishes(attr(c, "class")) {
				note(&t.published, c)
			}
		}
		if t.byline == nil && (attr(c, "rel") == "author" || attr(c, "itemprop") == "author" || hasWord(attr(c, "class"), "byline")) {
			t.byline = c
		}
		t.look(c)
	}
}

// note keeps the first of some elements.
func note(first **html.Node, n *html.Node) {
	if *first == nil {
		*first = n
	}
}

func publishes(name string) bool { return strings.Contains(strings.ToLower(name), "publish") }

// name takes what a meta element says. What is said first counts.
func (t *told) name(meta *html.Node) {
	if len(t.named) >= maxNamed || !hasAttr(meta, "content") {
		return
	}
	for _, key := range []string{"property", "name", "itemprop", "http-equiv"} {
		name := strings.ToLower(strings.TrimSpace(attr(meta, key)))
		if name == "" {
			continue
		}
		if _, said := t.named[name]; !said {
			t.named[name] = attr(meta, "content")
		}
		return
	}
}

// wordsOf is the text of an element, if there is one.
func wordsOf(n *html.Node, most int) string {
	if n == nil {
		return ""
	}
	return textOf(n, most)
}

// attrOf is an attribute of an element, if there is one.
func attrOf(n *html.Node, key string) string {
	if n == nil {
		return ""
	}
	return attr(n, key)
}

// byName is the name in a line like "By Ann Example".
func byName(line string) string {
	for _, by := range []string{"by ", "von ", "par ", "por ", "door "} {
		if len(line) > len(by) && strings.EqualFold(line[:len(by)], by) {
			return strings.TrimSpace(line[len(by):])
		}
	}
	return line
}

func hasAttr(n *html.Node, key string) bool {
	for _, a := range n.Attr {
		if a.Key == key {
			return true
		}
	}
	return false
}

// textOf is the text of an element in one line, about so many bytes of it.
func textOf(root *html.Node, most int) string {
	var b strings.Builder
	seen := 0
	for n := range root.Descendants() {
		if n.Type == html.TextNode {
			b.WriteString(cutText(n.Data, most))
		} else if !inlineTags[n.Data] {
			b.WriteByte(' ')
		}
		if seen++; seen >= 2000 || b.Len() >= most {
			break
		}
	}
	return cutText(oneLine(b.String()), most)
}

// oneLine is a clean text without breaks.
func oneLine(text string) string {
	if tidy(text) {
		return text
	}
	if !printable(text) {
		text, _ = tool.Clean(text)
	}
	return strings.Join(strings.Fields(text), " ")
}

// tidy reports whether a text is clean ASCII in one line, without a blank too
// many, as most is.
func tidy(text string) bool {
	last := byte(' ')
	for i := range len(text) {
		c := text[i]
		if c < ' ' || c >= 0x7f || c == ' ' && last == ' ' {
			return false
		}
		last = c
	}
	return text == "" || last != ' '
}

// first is the first text that is not blank, in one line.
func first(most int, texts ...string) string {
	for _, text := range texts {
		if text = oneLine(text); text != "" {
			return cutText(text, most)
		}
	}
	return ""
}

// withoutSite is a title without the name of the site behind it.
func withoutSite(title, site string) string {
	if site == "" {
		return title
	}
	if short, ok := strings.CutSuffix(title, site); ok {
		if trimmed := strings.TrimRight(short, " -–—|·:»•"); trimmed != "" && trimmed != strings.TrimRight(short, " ") {
			return trimmed
		}
	}
	return title
}

// language is the first of some that is one.
func language(texts ...string) string {
	for _, text := range texts {
		text = strings.ReplaceAll(strings.TrimSpace(text), "_", "-")
		if len(text) >= 2 && len(text) <= 20 && strings.Trim(strings.ToLower(text), "abcdefghijklmnopqrstuvwxyz0123456789-") == "" {
			return text
		}
	}
	return ""
}

// firstDate is the first of some dates that is one.
func firstDate(texts ...string) string {
	for _, text := range texts {
		if date := readDate(oneLine(text)); date != "" {
			return date
		}
	}
	return ""
}

// readDate brings a date as pages write it into one form.
func readDate(text string) string {
	if len(text) > 60 {
		return ""
	}
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05.999Z0700", "2006-01-02T15:04:05Z0700", "2006-01-02T15:04Z07:00", "2006-01-02 15:04:05Z07:00",
		"2006-01-02 15:04:05 -0700", "2006-01-02 15:04:05 MST", time.RFC1123, time.RFC1123Z} {
		if t, err := time.Parse(layout, text); err == nil {
			return t.Format(time.RFC3339)
		}
	}
	for _, layout := range []string{"2006-01-02T15:04:05", "2006-01-02T15:04", "2006-01-02 15:04:05", "2006-01-02 15:04", "2006-01-02", "2006/01/02", "20060102",
		"January 2, 2006", "Jan 2, 2006", "2 January 2006", "2 Jan 2006"} {
		if t, err := time.Parse(layout, text); err == nil {
			return t.Format("2006-01-02")
		}
	}
	return ""
}
