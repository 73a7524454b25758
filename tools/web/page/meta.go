package page

import (
	"net/url"
	"strings"
	"time"

	"golang.org/x/net/html"

	"github.com/mcp-tools/mcp-tools/tools"
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
	g := gathered{named: map[string]string{}}
	for n := doc.root; n != nil; n = following(n) {
		if n.Type == html.ElementNode {
			g.element(n)
		}
	}
	ld := readLinked(doc.data)
	m := Meta{
		Title:       first(300, g.named["og:title"], ld.title, doc.title, g.named["twitter:title"], g.heading),
		Author:      first(200, ld.author, g.named["author"], g.named["article:author"], g.named["dc.creator"], g.named["dcterms.creator"], g.named["parsely-author"], g.named["citation_author"], g.byline),
		Site:        first(100, g.named["og:site_name"], ld.site, g.named["application-name"]),
		Description: first(500, g.named["og:description"], g.named["description"], g.named["twitter:description"], ld.description),
		Language:    language(g.language, g.named["og:locale"], g.named["content-language"]),
		Canonical:   address(base, first(maxURL, g.canonical, g.named["og:url"])),
	}
	m.Published = firstDate(ld.published, g.named["article:published_time"], g.named["datepublished"], g.named["date"], g.named["dc.date"], g.named["dcterms.created"], g.named["citation_publication_date"], g.named["pubdate"], g.time)
	m.Modified = firstDate(ld.modified, g.named["article:modified_time"], g.named["og:updated_time"], g.named["datemodified"], g.named["last-modified"], g.named["dcterms.modified"])
	m.Title = withoutSite(m.Title, m.Site)
	return m
}

// gathered is what the elements of a page say.
type gathered struct {
	named                                      map[string]string // by what the meta element names it
	heading, byline, time, canonical, language string
}

func (g *gathered) element(n *html.Node) {
	switch n.Data {
	case "html":
		g.language = attr(n, "lang")
		if g.language == "" {
			g.language = attr(n, "xml:lang")
		}
	case "meta":
		name := attr(n, "property")
		for _, key := range []string{"name", "itemprop", "http-equiv"} {
			if name == "" {
				name = attr(n, key)
			}
		}
		name = strings.ToLower(strings.TrimSpace(name))
		if _, said := g.named[name]; !said && name != "" && len(g.named) < 200 {
			g.named[name] = attr(n, "content")
		}
	case "link":
		if strings.EqualFold(attr(n, "rel"), "canonical") && g.canonical == "" {
			g.canonical = attr(n, "href")
		}
	case "h1":
		if g.heading == "" {
			g.heading = textOf(n, 300)
		}
	case "time":
		if g.time == "" && (hasAttr(n, "pubdate") || strings.Contains(strings.ToLower(attr(n, "itemprop")+attr(n, "class")), "publish")) {
			g.time = attr(n, "datetime")
		}
	}
	if g.byline == "" && (attr(n, "rel") == "author" || attr(n, "itemprop") == "author" || hasWord(attr(n, "class"), "byline")) {
		g.byline = byName(textOf(n, 100))
	}
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
	for n := root; n != nil && b.Len() < most && seen < 2000; seen++ {
		if n.Type == html.TextNode {
			b.WriteString(cutText(n.Data, most))
		} else if !inlineTags[n.Data] {
			b.WriteByte(' ')
		}
		if n.FirstChild != nil {
			n = n.FirstChild
			continue
		}
		for n != root && n.NextSibling == nil {
			n = n.Parent
		}
		if n == root {
			break
		}
		n = n.NextSibling
	}
	return cutText(oneLine(b.String()), most)
}

// oneLine is a clean text without breaks.
func oneLine(text string) string {
	text, _ = tools.Clean(text)
	return strings.Join(strings.Fields(text), " ")
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
