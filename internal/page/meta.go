package page

import (
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"time"

	"golang.org/x/net/html"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// Meta has the metadata that a page declares. Missing fields are "".
type Meta struct {
	Title       string
	Author      string
	Site        string
	Description string
	Published   string // 2006-01-02, or RFC 3339 with a time
	Modified    string
	Canonical   string // absolute address
	Language    string // BCP 47
	isArticle   bool   // it declares that it is an article
}

// readMeta reads the metadata of a page. The metadata for link previews has
// precedence, because titles and descriptions are shortest there.
func readMeta(doc document, base *url.URL) Meta {
	e := metaElements{named: map[string]string{}}
	e.collect(doc.root)
	named := e.named
	ld := readJSONLD(doc.jsonLD)
	m := Meta{
		Title: first(300, named["og:title"], ld.title, doc.title, named["twitter:title"], textOrEmpty(e.heading, 300)),
		Author: first(200, slices.DeleteFunc([]string{
			ld.author, named["author"], named["article:author"], named["dc.creator"], named["dcterms.creator"],
			named["parsely-author"], named["citation_author"], withoutBy(textOrEmpty(e.byline, 100)),
		}, isAddress)...),
		Site: first(100, named["og:site_name"], ld.site, named["application-name"]),
		Description: first(500, named["og:description"], named["description"], named["twitter:description"],
			ld.description),
		Language: firstLanguage(attrOrEmpty(e.root, "lang"), attrOrEmpty(e.root, "xml:lang"),
			named["og:locale"], named["content-language"]),
		Canonical: address(base, first(maxURL, attrOrEmpty(e.canonical, "href"), named["og:url"])),
		Published: firstDate(ld.published, named["article:published_time"], named["datepublished"], named["date"],
			named["dc.date"], named["dcterms.created"], named["citation_publication_date"], named["pubdate"],
			attrOrEmpty(e.published, "datetime")),
		Modified: firstDate(ld.modified, named["article:modified_time"], named["og:updated_time"],
			named["datemodified"], named["last-modified"], named["dcterms.modified"]),
	}
	m.Title = withoutSite(m.Title, m.Site)
	m.isArticle = strings.EqualFold(named["og:type"], "article") || ld.isArticle
	return m
}

// maxNamed limits the meta elements that are read.
const maxNamed = 200

// metaElements are the elements with metadata, the first of each kind.
type metaElements struct {
	root, heading, byline, published, canonical *html.Node
	named                                       map[string]string // content of meta elements
}

// collect finds all of them in one pass.
func (e *metaElements) collect(n *html.Node) {
	keepFirst := func(kept **html.Node, c *html.Node) {
		if *kept == nil {
			*kept = c
		}
	}
	isPublication := func(name string) bool { return strings.Contains(strings.ToLower(name), "publish") }
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		if c.Type != html.ElementNode {
			continue
		}
		switch c.Data {
		case "html":
			keepFirst(&e.root, c)
		case "h1":
			keepFirst(&e.heading, c)
		case "meta":
			e.addNamed(c)
		case "link":
			if strings.EqualFold(attr(c, "rel"), "canonical") && hasAttr(c, "href") {
				keepFirst(&e.canonical, c)
			}
		case "time":
			if hasAttr(c, "pubdate") || isPublication(attr(c, "itemprop")) || isPublication(attr(c, "class")) {
				keepFirst(&e.published, c)
			}
		}
		if attr(c, "rel") == "author" || attr(c, "itemprop") == "author" || hasWord(attr(c, "class"), "byline") {
			keepFirst(&e.byline, c)
		}
		e.collect(c)
	}
}

func (e *metaElements) addNamed(meta *html.Node) {
	if len(e.named) >= maxNamed || !hasAttr(meta, "content") {
		return
	}
	for _, key := range []string{"property", "name", "itemprop", "http-equiv"} {
		name := strings.ToLower(strings.TrimSpace(attr(meta, key)))
		if name == "" {
			continue
		}
		if _, exists := e.named[name]; !exists {
			e.named[name] = attr(meta, "content")
		}
		return
	}
}

func textOrEmpty(n *html.Node, limit int) string {
	if n == nil {
		return ""
	}
	return textOf(n, limit)
}

func attrOrEmpty(n *html.Node, key string) string {
	if n == nil {
		return ""
	}
	return attr(n, key)
}

// isAddress reports whether a text is the address of a page: some sites give it as the author.
func isAddress(text string) bool {
	text = strings.ToLower(strings.TrimSpace(text))
	return strings.Contains(text, "://") || strings.HasPrefix(text, "www.") || strings.HasPrefix(text, "/")
}

// withoutBy returns the name in a line such as "By Ann Example".
func withoutBy(line string) string {
	for _, by := range []string{"by ", "von ", "par ", "por ", "door "} {
		if len(line) > len(by) && strings.EqualFold(line[:len(by)], by) {
			return strings.TrimSpace(line[len(by):])
		}
	}
	return line
}

// withoutSite removes the name of the site from the end of a title.
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

// firstLanguage returns the first text that can be a language tag.
func firstLanguage(texts ...string) string {
	for _, text := range texts {
		text = strings.ReplaceAll(strings.TrimSpace(text), "_", "-")
		other := strings.Trim(strings.ToLower(text), "abcdefghijklmnopqrstuvwxyz0123456789-")
		if len(text) >= 2 && len(text) <= 20 && other == "" {
			return text
		}
	}
	return ""
}

// firstDate returns the first text that is a date.
func firstDate(texts ...string) string {
	for _, text := range texts {
		if date := parseDate(oneLine(text)); date != "" {
			return date
		}
	}
	return ""
}

// parseDate converts the date formats of pages to the format of Meta; "" if there is no date.
func parseDate(text string) string {
	for _, layout := range []string{
		time.RFC3339, "2006-01-02T15:04:05Z0700", "2006-01-02T15:04Z07:00", "2006-01-02 15:04:05Z07:00",
		"2006-01-02 15:04:05 -0700", "2006-01-02 15:04:05 MST", time.RFC1123, time.RFC1123Z,
	} {
		if t, err := time.Parse(layout, text); err == nil {
			return t.Format(time.RFC3339)
		}
	}
	for _, layout := range []string{
		time.DateOnly, "2006/01/02", "20060102", "January 2, 2006", "Jan 2, 2006", "2 January 2006", "2 Jan 2006",
	} {
		day, _, _ := strings.Cut(text, "T")
		if isDate := len(day) > 10 && day[4] == '-'; isDate { // a time may follow
			day = day[:10]
		}
		if t, err := time.Parse(layout, day); err == nil {
			return t.Format(time.DateOnly)
		}
	}
	return ""
}

// jsonLD is the metadata from JSON-LD scripts.
type jsonLD struct {
	title, author, site, description, published, modified string
	isArticle                                             bool
}

const maxJSONLDDepth = 12

// contentTypes are the JSON-LD types for the content of a page, best first.
var contentTypes = strings.Fields("article newsarticle blogposting techarticle report scholarlyarticle recipe " +
	"product qapage question discussionforumposting videoobject howto liveblogposting reportagenewsarticle webpage " +
	"creativework book event softwareapplication")

var articleTypes = strings.Fields("article newsarticle blogposting reportagenewsarticle")

// readJSONLD returns the metadata of the first object of the best type. Scripts with
// invalid JSON are ignored.
func readJSONLD(scripts []string) jsonLD {
	var best jsonLD
	bestRank := len(contentTypes)
	var visit func(value any, depth int)
	visit = func(value any, depth int) {
		switch v := value.(type) {
		case []any:
			for _, one := range v {
				visit(one, depth+1)
			}
		case map[string]any:
			for _, name := range namesIn(v["@type"]) {
				if rank := slices.Index(contentTypes, strings.ToLower(name)); rank >= 0 && rank < bestRank {
					best, bestRank = newJSONLD(v), rank
					best.isArticle = slices.Contains(articleTypes, strings.ToLower(name))
				}
			}
			for _, key := range []string{"@graph", "mainEntity", "mainEntityOfPage", "itemListElement", "item"} {
				if inner, ok := v[key]; ok && depth < maxJSONLDDepth {
					visit(inner, depth+1)
				}
			}
		}
	}
	for _, script := range scripts {
		var value any
		if json.Unmarshal([]byte(strings.TrimSpace(script)), &value) == nil {
			visit(value, 0)
		}
	}
	return best
}

func newJSONLD(object map[string]any) jsonLD {
	l := jsonLD{
		title:       stringIn(object, "headline", "name"),
		description: stringIn(object, "description"),
		published:   stringIn(object, "datePublished", "dateCreated", "uploadDate"),
		modified:    stringIn(object, "dateModified"),
	}
	if authors := namesIn(object["author"]); len(authors) > 0 {
		l.author = strings.Join(authors[:min(len(authors), 5)], ", ")
	}
	if publishers := namesIn(object["publisher"]); len(publishers) > 0 {
		l.site = publishers[0]
	}
	return l
}

// stringIn returns the first field that is a string and not blank.
func stringIn(object map[string]any, keys ...string) string {
	for _, key := range keys {
		if text, ok := object[key].(string); ok && strings.TrimSpace(text) != "" {
			return text
		}
	}
	return ""
}

// namesIn returns the names in a string, an object with a name, or a list of these.
func namesIn(value any) []string {
	switch v := value.(type) {
	case string:
		if !isAddress(v) {
			return []string{v}
		}
	case map[string]any:
		if name := stringIn(v, "name"); name != "" {
			return []string{name}
		}
	case []any:
		var all []string
		for _, one := range v[:min(len(v), 10)] {
			all = append(all, namesIn(one)...)
		}
		return all
	}
	return nil
}

// textOf returns the text of an element on one line, at most about limit bytes.
func textOf(root *html.Node, limit int) string {
	var b strings.Builder
	visited := 0
	for n := range root.Descendants() {
		if n.Type == html.TextNode {
			b.WriteString(cutText(n.Data, limit))
		} else if !inlineTags[n.Data] {
			b.WriteByte(' ')
		}
		if visited++; visited >= 2000 || b.Len() >= limit {
			break
		}
	}
	return cutText(oneLine(b.String()), limit)
}

// rawTextOf returns the text of an element with its white space.
func rawTextOf(root *html.Node) string {
	var b strings.Builder
	for n := range root.Descendants() {
		if n.Type == html.TextNode {
			b.WriteString(n.Data)
		} else if n.Data == "br" {
			b.WriteByte('\n')
		}
	}
	return b.String()
}

// oneLine collapses white space and removes invisible characters.
func oneLine(text string) string {
	if isOneLine(text) {
		return text
	}
	if !isPrintable(text) {
		text, _ = tool.Clean(text)
	}
	return strings.Join(strings.Fields(text), " ")
}

// isOneLine reports whether oneLine has nothing to do, as for most texts.
func isOneLine(text string) bool {
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

// first returns the first text that is not blank, on one line.
func first(limit int, texts ...string) string {
	for _, text := range texts {
		if text = oneLine(text); text != "" {
			return cutText(text, limit)
		}
	}
	return ""
}

// cutText cuts a text after limit bytes.
func cutText(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:limit], "") + "…"
}

// maxURL is the maximum length of an address in bytes.
const maxURL = 2048

// markdownURL encodes the characters that would end an address in Markdown.
var markdownURL = strings.NewReplacer("(", "%28", ")", "%29", " ", "%20", "<", "%3C", ">", "%3E", "|", "%7C",
	"\"", "%22", "`", "%60", "\\", "%5C")

// baseURL returns the address that relative addresses of a page refer to.
func baseURL(href string, page *url.URL) *url.URL {
	if base, err := url.Parse(address(page, href)); err == nil && base.IsAbs() {
		return base
	}
	return page
}

// address returns the absolute form of an address, without user name and password;
// "" if it is invalid or its scheme is one that runs or contains something, such as
// javascript and data.
func address(base *url.URL, href string) string {
	if strings.Contains(href, "\n") && strings.Contains(href, "<") { // the closing quote is missing
		return ""
	}
	if href = strings.TrimSpace(href); !isOneLine(href) {
		href, _ = tool.Clean(href)
		href = strings.NewReplacer("\n", "", "\t", "").Replace(strings.TrimSpace(href)) // as browsers do
	}
	if href == "" || len(href) > maxURL {
		return ""
	}
	u, err := url.Parse(href)
	if err != nil {
		if u, err = url.Parse(strings.NewReplacer("%", "%25", " ", "%20").Replace(href)); err != nil {
			return ""
		}
	}
	if base != nil {
		u = base.ResolveReference(u)
	}
	switch strings.ToLower(u.Scheme) {
	case "", "http", "https", "mailto", "tel", "ftp":
	default:
		return ""
	}
	u.User = nil // a user name can look like a host
	text := u.String()
	if len(text) > maxURL {
		return ""
	}
	return markdownURL.Replace(text)
}
