package page

import (
	"net/url"
	"strings"
	"time"

	"github.com/PuerkitoBio/goquery"
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
	page := goquery.NewDocumentFromNode(doc.root)
	one := func(selector string) *goquery.Selection { return page.FindMatcher(goquery.Single(selector)) }
	top := one("html")
	named := named(page)
	ld := readLinked(doc.data)
	byline := byName(wordsOf(one("[rel=author], [itemprop=author], .byline"), 100))
	published := one("time[pubdate], time[itemprop*=publish i], time[class*=publish i]").AttrOr("datetime", "")
	m := Meta{
		Title:       first(300, named["og:title"], ld.title, doc.title, named["twitter:title"], wordsOf(one("h1"), 300)),
		Author:      first(200, ld.author, named["author"], named["article:author"], named["dc.creator"], named["dcterms.creator"], named["parsely-author"], named["citation_author"], byline),
		Site:        first(100, named["og:site_name"], ld.site, named["application-name"]),
		Description: first(500, named["og:description"], named["description"], named["twitter:description"], ld.description),
		Language:    language(top.AttrOr("lang", ""), top.AttrOr("xml:lang", ""), named["og:locale"], named["content-language"]),
		Canonical:   address(base, first(maxURL, one("link[rel=canonical i][href]").AttrOr("href", ""), named["og:url"])),
	}
	m.Published = firstDate(ld.published, named["article:published_time"], named["datepublished"], named["date"], named["dc.date"], named["dcterms.created"], named["citation_publication_date"], named["pubdate"], published)
	m.Modified = firstDate(ld.modified, named["article:modified_time"], named["og:updated_time"], named["datemodified"], named["last-modified"], named["dcterms.modified"])
	m.Title = withoutSite(m.Title, m.Site)
	return m
}

// maxNamed is how many things a page can say in meta elements.
const maxNamed = 200

// named is what the meta elements of a page say, by what they call it. What they
// say first counts.
func named(page *goquery.Document) map[string]string {
	all := map[string]string{}
	page.Find("meta[content]").EachWithBreak(func(_ int, meta *goquery.Selection) bool {
		for _, key := range []string{"property", "name", "itemprop", "http-equiv"} {
			name := strings.ToLower(strings.TrimSpace(meta.AttrOr(key, "")))
			if name == "" {
				continue
			}
			if _, said := all[name]; !said {
				all[name] = meta.AttrOr("content", "")
			}
			break
		}
		return len(all) < maxNamed
	})
	return all
}

// wordsOf is the text of the first of some elements.
func wordsOf(s *goquery.Selection, most int) string {
	if s.Length() == 0 {
		return ""
	}
	return textOf(s.Nodes[0], most)
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
	if !printable(text) {
		text, _ = tools.Clean(text)
	}
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
