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

	plural "github.com/mcp-tools/mcp-tools/internal/text"
	"github.com/mcp-tools/mcp-tools/tools/web/cache"
	"github.com/mcp-tools/mcp-tools/tools/web/page"
)

// A feed is the common content of RSS, Atom, RDF and JSON feeds.
type feed struct {
	Title, About string
	Entries      []feedEntry
}

type feedEntry struct{ Title, Link, Date, By, Text string }

const (
	maxEntries   = 500
	maxFeed      = 4 << 20 // bytes
	maxDepth     = 64
	maxElement   = 256 << 10 // bytes of the text of one element
	maxEntryHTML = 32 << 10  // bytes of an entry that are converted
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
		title := line(plain(ctx, e.Title), 300)
		if title == "" {
			title = "(untitled)"
		}
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

// xmlFeed reads a feed token by token, so that nesting needs no memory.
func xmlFeed(body []byte, contentType string) (f feed, err error) {
	d := xml.NewDecoder(bytes.NewReader(body))
	d.Strict = false
	d.Entity = xml.HTMLEntity
	d.CharsetReader = func(label string, in io.Reader) (io.Reader, error) { return charset.NewReaderLabel(label, in) }
	var entry *feedEntry
	for depth := 0; ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return f, nil
		}
		if err != nil {
			return f, err
		}
		switch t := token.(type) {
		case xml.StartElement:
			if t.Name.Local == "item" || t.Name.Local == "entry" {
				if len(f.Entries) == maxEntries {
					return f, nil
				}
				f.Entries = append(f.Entries, feedEntry{})
				entry = &f.Entries[len(f.Entries)-1]
				depth++
				continue
			}
			if to := f.field(entry, t); to != nil {
				text, err := innerText(d, t)
				if *to == "" {
					*to = text
				}
				if err != nil {
					return f, err
				}
				continue
			}
			if depth++; depth > maxDepth {
				return f, errTooDeep
			}
		case xml.EndElement:
			if depth--; t.Name.Local == "item" || t.Name.Local == "entry" {
				entry = nil
			}
		}
	}
}

// field returns the field for the text of an element, or nil.
func (f *feed) field(entry *feedEntry, t xml.StartElement) *string {
	name := t.Name.Local
	if entry == nil {
		switch name {
		case "title":
			return &f.Title
		case "subtitle", "description":
			return &f.About
		}
		return nil
	}
	switch name {
	case "title":
		return &entry.Title
	case "link":
		for _, a := range t.Attr {
			if a.Name.Local == "href" {
				if relation := attribute(t, "rel"); relation == "" || relation == "alternate" {
					entry.Link = a.Value
				}
				return nil
			}
		}
		return &entry.Link
	case "pubDate", "published", "date":
		return &entry.Date
	case "updated":
		if entry.Date == "" {
			return &entry.Date
		}
	case "author", "creator":
		return &entry.By
	case "description", "summary":
		return &entry.Text
	case "content", "encoded":
		if entry.Text == "" {
			return &entry.Text
		}
	}
	return nil
}

func attribute(t xml.StartElement, name string) string {
	for _, a := range t.Attr {
		if a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}

var errTooDeep = errors.New("the feed is nested too deep")

// innerText returns the text of an element and its descendants.
func innerText(d *xml.Decoder, start xml.StartElement) (string, error) {
	var b strings.Builder
	for depth := 1; depth > 0; {
		token, err := d.Token()
		if err != nil {
			return strings.TrimSpace(b.String()), err
		}
		switch t := token.(type) {
		case xml.StartElement:
			if depth++; depth > maxDepth {
				return strings.TrimSpace(b.String()), errTooDeep
			}
			if start.Name.Local == "author" && (t.Name.Local == "email" || t.Name.Local == "uri") {
				if err := d.Skip(); err != nil {
					return strings.TrimSpace(b.String()), err
				}
				depth--
			}
		case xml.EndElement:
			depth--
		case xml.CharData:
			if b.Len() < maxElement {
				b.Write(t)
			}
		}
	}
	return strings.TrimSpace(b.String()), nil
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
