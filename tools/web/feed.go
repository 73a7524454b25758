package web

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"

	"golang.org/x/net/html/charset"

	"github.com/mcp-tools/mcp-tools/internal/page"
	plural "github.com/mcp-tools/mcp-tools/internal/text"
	"github.com/mcp-tools/mcp-tools/tools/web/cache"
)

// A feed is the common content of RSS, Atom, RDF and JSON feeds.
type feed struct {
	Title, About string
	Entries      []feedEntry
}

type feedEntry struct{ Title, Link, Date, By, Text string }

const (
	maxEntries   = 500
	maxFeed      = 4 << 20  // bytes
	maxEntryHTML = 32 << 10 // bytes of an entry that are converted
	entryChars   = 600
)

// isFeed reports whether a body may be a feed.
func isFeed(kind string, body []byte) bool {
	switch kind {
	case "application/rss+xml", "application/atom+xml", "application/rdf+xml", "application/feed+json":
		return true
	case "application/xml", "text/xml":
		start := body[:min(len(body), 2048)]
		return bytes.Contains(start, []byte("<rss")) || bytes.Contains(start, []byte("<feed")) ||
			bytes.Contains(start, []byte("<rdf:RDF"))
	case "application/json":
		return bytes.Contains(body[:min(len(body), 2048)], []byte("jsonfeed.org/version"))
	}
	return false
}

// readFeed lists the entries of a feed; false if it is not a feed.
func readFeed(ctx context.Context, got cache.Entry, format string) (content, bool) {
	parse := xmlFeed
	if strings.HasPrefix(strings.TrimSpace(string(got.Body[:min(len(got.Body), 16)])), "{") {
		parse = jsonFeed
	}
	f, err := parse(got.Body[:min(len(got.Body), maxFeed)], got.Header["Content-Type"])
	if err != nil && len(f.Entries) == 0 {
		return content{}, false
	}
	base, _ := url.Parse(got.URL)
	var b strings.Builder
	c := content{kind: "feed of " + plural.Plural(len(f.Entries), "entry", "entries")}
	if title := line(f.Title, 300); title != "" {
		b.WriteString("# " + title + "\n\n")
	}
	if about := line(plain(ctx, f.About), 600); about != "" {
		b.WriteString(about + "\n\n")
	}
	for _, e := range f.Entries {
		link := absolute(base, e.Link)
		title := cmp.Or(line(plain(ctx, e.Title), 300), "(untitled)")
		b.WriteString("- ")
		if link != "" && format != "text" {
			fmt.Fprintf(&b, "[%s](%s)", title, link)
		} else {
			b.WriteString(strings.TrimSpace(title + " " + link))
		}
		for _, fact := range []string{line(e.Date, 60), line(plain(ctx, e.By), 100)} {
			if fact != "" {
				b.WriteString(", " + fact)
			}
		}
		b.WriteString("\n")
		if text := line(plain(ctx, e.Text), entryChars); text != "" {
			b.WriteString("  " + text + "\n")
		}
		c.links = append(c.links, page.Link{Text: title, URL: link})
	}
	c.text = b.String()
	if err != nil {
		c.notes = append(c.notes, "the feed is cut or broken after the last entry")
	}
	return c, true
}

// plain returns a text that may be HTML without tags and hidden parts.
func plain(ctx context.Context, text string) string {
	text = text[:min(len(text), maxEntryHTML)]
	if !strings.ContainsAny(text, "<&") {
		return text
	}
	p, err := page.Read(ctx, []byte(text), page.Options{
		ContentType: "text/html; charset=utf-8", Format: page.Text, Whole: true,
	})
	if err != nil {
		return ""
	}
	return p.Text
}

func absolute(base *url.URL, ref string) string {
	u, err := url.Parse(strings.TrimSpace(ref))
	if err != nil || ref == "" {
		return ""
	}
	if base != nil {
		u = base.ResolveReference(u)
	}
	if u.Scheme != "http" && u.Scheme != "https" {
		return ""
	}
	u.User = nil
	return u.String()
}

// xmlItem is an entry of RSS, RDF or Atom.
type xmlItem struct {
	Title xmlText `xml:"title"`
	Links []struct {
		Href     string `xml:"href,attr"`
		Relation string `xml:"rel,attr"`
		Text     string `xml:",chardata"`
	} `xml:"link"`
	PubDate   string `xml:"pubDate"`
	Published string `xml:"published"`
	Date      string `xml:"date"`
	Updated   string `xml:"updated"`
	Authors   []struct {
		Name string `xml:"name"`
		Text string `xml:",chardata"`
	} `xml:"author"`
	Creator     string  `xml:"creator"`
	Description xmlText `xml:"description"`
	Summary     xmlText `xml:"summary"`
	Content     xmlText `xml:"content"`
	Encoded     xmlText `xml:"encoded"`
}

// xmlText is a text that may contain elements, as HTML.
type xmlText struct {
	Text  string `xml:",chardata"`
	Inner string `xml:",innerxml"`
}

func (t xmlText) html() string {
	if strings.TrimSpace(t.Text) == "" { // XHTML
		return t.Inner
	}
	return t.Text
}

func (i xmlItem) entry() feedEntry {
	e := feedEntry{
		Title: i.Title.html(), Date: cmp.Or(i.PubDate, i.Published, i.Date, i.Updated), By: i.Creator,
		Text: cmp.Or(i.Description.html(), i.Summary.html(), i.Content.html(), i.Encoded.html()),
	}
	for _, l := range i.Links {
		if e.Link == "" && (l.Relation == "" || l.Relation == "alternate") {
			e.Link = cmp.Or(l.Href, l.Text)
		}
	}
	for _, a := range i.Authors {
		e.By = cmp.Or(e.By, a.Name, a.Text)
	}
	return e
}

// xmlFeed reads a feed entry by entry, up to maxEntries.
func xmlFeed(body []byte, _ string) (f feed, err error) {
	d := xml.NewDecoder(bytes.NewReader(body))
	d.Strict = false
	d.Entity = xml.HTMLEntity
	d.CharsetReader = func(label string, in io.Reader) (io.Reader, error) { return charset.NewReaderLabel(label, in) }
	for len(f.Entries) < maxEntries {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return f, nil
		}
		if err != nil {
			return f, err
		}
		start, ok := token.(xml.StartElement)
		if !ok {
			continue
		}
		var item xmlItem
		var text xmlText
		switch start.Name.Local {
		case "item", "entry":
			if err = d.DecodeElement(&item, &start); err == nil || item.Title.Text != "" {
				f.Entries = append(f.Entries, item.entry())
			}
		case "title":
			err = d.DecodeElement(&text, &start)
			f.Title = cmp.Or(f.Title, text.html())
		case "subtitle", "description":
			err = d.DecodeElement(&text, &start)
			f.About = cmp.Or(f.About, text.html())
		}
		if err != nil {
			return f, err
		}
	}
	return f, nil
}

// jsonItem is an entry of a JSON feed.
type jsonItem struct {
	Title   string `json:"title"`
	URL     string `json:"url"`
	Date    string `json:"date_published"`
	Summary string `json:"summary"`
	Text    string `json:"content_text"`
	HTML    string `json:"content_html"`
	Authors []struct {
		Name string `json:"name"`
	} `json:"authors"`
}

func (i jsonItem) entry() feedEntry {
	e := feedEntry{Title: i.Title, Link: i.URL, Date: i.Date, Text: cmp.Or(i.Summary, i.Text, i.HTML)}
	if len(i.Authors) > 0 {
		e.By = i.Authors[0].Name
	}
	return e
}

// jsonFeed reads a feed entry by entry, up to maxEntries.
func jsonFeed(body []byte, _ string) (f feed, err error) {
	d := json.NewDecoder(bytes.NewReader(body))
	if _, err := d.Token(); err != nil {
		return f, err
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return f, err
		}
		switch key {
		case "title":
			err = d.Decode(&f.Title)
		case "description":
			err = d.Decode(&f.About)
		case "items":
			err = f.items(d)
		default:
			err = d.Decode(new(json.RawMessage))
		}
		if err != nil || len(f.Entries) == maxEntries {
			return f, err
		}
	}
	return f, nil
}

func (f *feed) items(d *json.Decoder) error {
	if _, err := d.Token(); err != nil {
		return err
	}
	for d.More() {
		if len(f.Entries) == maxEntries {
			return nil
		}
		var item jsonItem
		if err := d.Decode(&item); err != nil {
			return err
		}
		f.Entries = append(f.Entries, item.entry())
	}
	_, err := d.Token()
	return err
}
