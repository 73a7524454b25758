package web

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"

	"golang.org/x/net/html/charset"

	"github.com/mcp-tools/mcp-tools/tools/web/page"
)

// A feed is what RSS, Atom, RDF and JSON feeds have in common.
type feed struct {
	Title, About string
	Entries      []feedEntry
}

type feedEntry struct{ Title, Link, Date, By, Text string }

const (
	mostEntries = 500
	entryChars  = 600
)

// isFeed reports whether a body may be a feed. HTML that says it is HTML never is.
func isFeed(kind string, body []byte) bool {
	switch kind {
	case "application/rss+xml", "application/atom+xml", "application/rdf+xml", "application/feed+json":
		return true
	case "application/xml", "text/xml":
		start := body[:min(len(body), 2048)]
		return bytes.Contains(start, []byte("<rss")) || bytes.Contains(start, []byte("<feed")) || bytes.Contains(start, []byte("<rdf:RDF"))
	case "application/json":
		return bytes.Contains(body[:min(len(body), 2048)], []byte("jsonfeed.org/version"))
	}
	return false
}

// readFeed lists the entries of a feed.
func readFeed(got Kept, format string) (content, bool) {
	parse := xmlFeed
	if strings.HasPrefix(strings.TrimSpace(string(got.Body[:min(len(got.Body), 16)])), "{") {
		parse = jsonFeed
	}
	f, err := parse(got.Body, got.Header["Content-Type"])
	if err != nil && len(f.Entries) == 0 {
		return content{}, false
	}
	base, _ := url.Parse(got.URL)
	var b strings.Builder
	c := content{kind: fmt.Sprintf("feed of %d entries", len(f.Entries))}
	if title := line(f.Title, 300); title != "" {
		b.WriteString("# " + title + "\n\n")
	}
	if about := line(plain(f.About), 600); about != "" {
		b.WriteString(about + "\n\n")
	}
	for _, e := range f.Entries {
		link := absolute(base, e.Link)
		title := line(plain(e.Title), 300)
		if title == "" {
			title = "(untitled)"
		}
		b.WriteString("- ")
		if link != "" && format != "text" {
			fmt.Fprintf(&b, "[%s](%s)", title, link)
		} else {
			b.WriteString(strings.TrimSpace(title + " " + link))
		}
		for _, fact := range []string{line(e.Date, 60), line(plain(e.By), 100)} {
			if fact != "" {
				b.WriteString(", " + fact)
			}
		}
		b.WriteString("\n")
		if text := line(plain(e.Text), entryChars); text != "" {
			b.WriteString("  " + text + "\n")
		}
		c.links = append(c.links, page.Link{Text: title, URL: link})
	}
	c.text = b.String()
	if err != nil {
		c.notes = append(c.notes, "it ends in the middle or is broken there")
	}
	return c, true
}

// plain is a text that may be HTML, without its tags and hidden parts.
func plain(text string) string {
	if !strings.ContainsAny(text, "<&") {
		return text
	}
	p, err := page.Read(context.Background(), []byte(text), page.Options{ContentType: "text/html; charset=utf-8", Format: page.Text, Whole: true})
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

// xmlFeed goes through the tokens of a feed: it needs no more memory than one
// entry, however deep somebody nests.
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
				if len(f.Entries) == mostEntries {
					return f, nil
				}
				f.Entries = append(f.Entries, feedEntry{})
				entry = &f.Entries[len(f.Entries)-1]
				depth++
				continue
			}
			if to := f.place(entry, t); to != nil {
				text, err := innerText(d, t)
				if *to == "" {
					*to = text
				}
				if err != nil {
					return f, err
				}
				continue
			}
			if depth++; depth > 64 {
				return f, errors.New("too deep")
			}
		case xml.EndElement:
			if depth--; t.Name.Local == "item" || t.Name.Local == "entry" {
				entry = nil
			}
		}
	}
}

// place is where the text of an element belongs, or nil.
func (f *feed) place(entry *feedEntry, t xml.StartElement) *string {
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

// mostInner bounds the text of one element of a feed.
const mostInner = 256 << 10

// innerText is the text in an element and in those within it, up to its end.
func innerText(d *xml.Decoder, start xml.StartElement) (string, error) {
	var b strings.Builder
	for depth := 1; depth > 0; {
		token, err := d.Token()
		if err != nil {
			return strings.TrimSpace(b.String()), err
		}
		switch t := token.(type) {
		case xml.StartElement:
			depth++
			if start.Name.Local == "author" && (t.Name.Local == "email" || t.Name.Local == "uri") {
				if err := d.Skip(); err != nil {
					return strings.TrimSpace(b.String()), err
				}
				depth--
			}
		case xml.EndElement:
			depth--
		case xml.CharData:
			if b.Len() < mostInner {
				b.Write(t)
			}
		}
	}
	return strings.TrimSpace(b.String()), nil
}

func jsonFeed(body []byte, _ string) (feed, error) {
	var in struct {
		Title       string `json:"title"`
		Description string `json:"description"`
		Items       []struct {
			Title   string `json:"title"`
			URL     string `json:"url"`
			Date    string `json:"date_published"`
			Summary string `json:"summary"`
			Text    string `json:"content_text"`
			HTML    string `json:"content_html"`
			Authors []struct {
				Name string `json:"name"`
			} `json:"authors"`
		} `json:"items"`
	}
	err := json.Unmarshal(body, &in)
	f := feed{Title: in.Title, About: in.Description}
	for i, item := range in.Items {
		if i == mostEntries {
			break
		}
		e := feedEntry{Title: item.Title, Link: item.URL, Date: item.Date, Text: item.Summary}
		for _, text := range []string{item.Text, item.HTML} {
			if e.Text == "" {
				e.Text = text
			}
		}
		if len(item.Authors) > 0 {
			e.By = item.Authors[0].Name
		}
		f.Entries = append(f.Entries, e)
	}
	return f, err
}
