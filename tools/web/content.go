package web

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode"

	"github.com/mcp-tools/mcp-tools/internal/document"
	"github.com/mcp-tools/mcp-tools/internal/page"
	"github.com/mcp-tools/mcp-tools/internal/picture"
	plural "github.com/mcp-tools/mcp-tools/internal/text"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/tools/web/cache"
)

// content is the readable part of a response.
type content struct {
	kind  string // a description of the response, in a few words
	text  string
	links []page.Link
	notes []string
	image *tool.Part
}

// read converts a body to text, by its type. Secrets are masked before the text is
// cut, because parts of secrets would not be recognised.
func (f fetcher) read(ctx context.Context, admitted *admission, got cache.Entry, a fetchArgs) (content, error) {
	if err := admitted.admitReader(ctx); err != nil {
		return content{}, err
	}
	defer admitted.release()
	kind := mediaType(got)
	c, err := f.readAs(ctx, kind, got, a)
	if !isHTML(kind) {
		c.clean()
	}
	c.text = f.mask(c.text)
	return c, err
}

func (f fetcher) readAs(ctx context.Context, kind string, got cache.Entry, a fetchArgs) (content, error) {
	if a.Selector == "" && isFeed(kind, got.Body) {
		if c, ok := readFeed(ctx, got, a.Format); ok {
			return c, nil
		}
	}
	switch {
	case isHTML(kind):
		return readHTML(ctx, got, a)
	case a.Selector != "":
		return content{}, tool.Errorf(tool.Invalid,
			"selector needs an HTML page, but %q is %s", short(got.URL, 300), typeName(f.documents, kind)).
			Try("omit selector")
	case strings.HasPrefix(kind, "image/") && kind != "image/svg+xml":
		return f.readImage(ctx, got, kind)
	case kind == "application/json", strings.HasSuffix(kind, "+json"):
		return readJSON(got.Body), nil
	}
	if isText(kind, got.Body) {
		return content{kind: typeName(f.documents, kind), text: page.Decode(got.Body, got.Header["Content-Type"])}, nil
	}
	return content{}, f.notReadable(got, kind)
}

// mediaType returns the type of a body: as the server declares it, or as its content
// looks if the declaration is invalid or one that servers use for everything.
func mediaType(got cache.Entry) string {
	kind, _, err := mime.ParseMediaType(got.Header["Content-Type"])
	kind = strings.ToLower(kind)
	if err == nil && kind != "application/octet-stream" && kind != "text/plain" && kind != "binary/octet-stream" {
		return kind
	}
	sniffed, _, _ := mime.ParseMediaType(http.DetectContentType(got.Body))
	if kind == "text/plain" && (sniffed == "text/html" || sniffed == "text/xml") {
		return kind // source code
	}
	if sniffed == "text/plain" && json.Valid(got.Body) {
		return "application/json"
	}
	return sniffed
}

func isHTML(kind string) bool { return kind == "text/html" || kind == "application/xhtml+xml" }

func isText(kind string, body []byte) bool {
	switch {
	case strings.HasPrefix(kind, "text/"), strings.HasSuffix(kind, "+xml"):
		return true
	}
	switch kind {
	case "application/xml", "application/javascript", "application/x-javascript", "application/ecmascript",
		"application/yaml", "application/x-yaml", "application/toml", "application/sql", "application/x-sh",
		"application/x-ndjson", "application/jsonl", "application/graphql", "application/x-www-form-urlencoded":
		return true
	}
	return len(body) == 0
}

func readHTML(ctx context.Context, got cache.Entry, a fetchArgs) (content, error) {
	u, err := url.Parse(got.URL)
	if err != nil {
		return content{}, err
	}
	p, err := page.Read(ctx, got.Body, page.Options{
		URL: u, ContentType: got.Header["Content-Type"], Format: page.Format(a.Format), Selector: a.Selector,
		Links: a.Links,
	})
	if err != nil {
		return content{}, err
	}
	c := content{text: p.Text, links: p.Links, kind: languageOf(p)}
	if a.Format != "html" && a.Selector == "" {
		c.text = titleLines(p, a.Format, u) + p.Text
	}
	if note := removedNote(p.Hidden); note != "" {
		c.notes = append(c.notes, note)
	}
	if p.Beside >= minBeside {
		c.notes = append(c.notes, plural.Plural(p.Beside, "character")+
			" of paragraphs beside the article left out (http_request with raw shows them)")
	}
	if p.Script {
		c.notes = append(c.notes, "there is hardly any text without JavaScript: try browser")
	}
	if p.Cut {
		c.notes = append(c.notes, "the page is too long: its end is missing")
	}
	return c, nil
}

// minBeside is how much text beside an article is worth a note, in characters.
const minBeside = 500

// removedNote returns a note about the amount of removed hidden content; "" for
// nothing.
func removedNote(h page.Hidden) string {
	var what []string
	if h.Elements > 0 {
		what = append(what,
			plural.Plural(h.Elements, "hidden element")+" with "+plural.Plural(h.Characters, "character"))
	}
	if h.Invisible > 0 {
		what = append(what, plural.Plural(h.Invisible, "invisible character"))
	}
	if len(what) == 0 {
		return ""
	}
	how := ""
	if h.Elements > 0 {
		how = " (http_request with raw shows them)"
	}
	return strings.Join(what, " and ") + " removed" + how
}

// clean removes invisible characters. Package page has done that for HTML.
func (c *content) clean() {
	text, removed := tool.Clean(c.text)
	if note := removedNote(page.Hidden{Invisible: removed}); note != "" {
		c.text, c.notes = text, append(c.notes, note)
	}
}

// languageOf returns the language of a page that is not English.
func languageOf(p page.Page) string {
	if p.Language != "" && !strings.HasPrefix(strings.ToLower(p.Language), "en") {
		return "language " + line(p.Language, 20)
	}
	return ""
}

// maxJSON is the maximum size of JSON that is indented, in bytes.
const maxJSON = 8 << 20

func readJSON(body []byte) content {
	body = bytes.TrimPrefix(body, []byte("\xef\xbb\xbf"))
	var out bytes.Buffer
	if len(body) > maxJSON || depthOf(body) > maxJSONDepth || json.Indent(&out, body, "", "  ") != nil {
		return content{kind: "JSON, not indented", text: strings.ToValidUTF8(string(body), "\ufffd")}
	}
	return content{kind: "JSON", text: strings.ToValidUTF8(out.String(), "\ufffd")}
}

// maxJSONDepth is the maximum nesting of JSON that is indented.
const maxJSONDepth = 60

// depthOf returns the nesting of JSON; brackets in strings count as well.
func depthOf(body []byte) (deepest int) {
	depth := 0
	for _, b := range body {
		switch b {
		case '{', '[':
			depth++
			deepest = max(deepest, depth)
		case '}', ']':
			depth--
		}
	}
	return deepest
}

func (f fetcher) readImage(ctx context.Context, got cache.Entry, kind string) (content, error) {
	select {
	case f.images <- struct{}{}:
	case <-ctx.Done():
		return content{}, ctx.Err()
	}
	defer func() { <-f.images }()
	p, err := picture.Load(ctx, bytes.NewReader(got.Body), int64(len(got.Body)))
	switch {
	case err == nil:
		name := fmt.Sprintf("%s image, %dx%d", p.FromFormat, p.FromWidth, p.FromHeight)
		return content{kind: name, image: &tool.Part{Data: p.Data, MIME: p.MIME}}, nil
	case errors.Is(err, picture.ErrTooLarge):
		return content{}, tool.Errorf(tool.TooLarge, "the image at %q cannot be shown: %v", short(got.URL, 300), err).
			Try("save it with http_request and download_path")
	case ctx.Err() != nil:
		return content{}, ctx.Err()
	}
	return content{}, f.notReadable(got, kind)
}

// notReadable returns the error for a body that is not text.
func (f fetcher) notReadable(got cache.Entry, kind string) error {
	return tool.Errorf(tool.Unavailable, "%q is %s of %s, which web_fetch cannot read",
		short(got.URL, 300), typeName(f.documents, kind), formatBytes(int64(len(got.Body)))).
		Try("save it with http_request and download_path and open the file with a command, or look for an HTML version")
}

// typeName returns a name for a type. The type itself is untrusted text.
func typeName(documents *document.Service, kind string) string {
	if name := documents.TypeName(kind); name != "" {
		return name
	}
	for _, known := range []struct{ ending, name string }{
		{"text/plain", "plain text"}, {"text/css", "CSS"},
		{"text/csv", "CSV"}, {"text/markdown", "Markdown"}, {"javascript", "JavaScript"},
		{"svg+xml", "SVG"}, {"xml", "XML"}, {"json", "JSON"}, {"yaml", "YAML"}, {"text/html", "HTML"},
	} {
		if strings.HasSuffix(kind, known.ending) {
			return known.name
		}
	}
	switch class, _, _ := strings.Cut(kind, "/"); class {
	case "text":
		return "text"
	case "image", "audio", "video", "font":
		return class + " data"
	}
	return "binary data"
}

// titleLines returns the lines above the text: the title, unless the text begins with
// it, then author, date, site, and the canonical address if it differs.
func titleLines(p page.Page, format string, from *url.URL) string {
	title, site := line(p.Title, 300), line(p.Site, 200)
	if rest, found := beginsWithTitle(p.Text, title, format); found {
		title = ""
		if !strings.EqualFold(rest, site) {
			site = strings.TrimPrefix(site+" · "+rest, " · ")
		}
	}
	var b strings.Builder
	if title != "" {
		if format == "markdown" {
			b.WriteString("# ")
		}
		b.WriteString(title + "\n\n")
	}
	about := []string{
		line(p.Author, 200), line(p.Published, 200), strings.TrimSuffix(site, " · "), canonical(p.Canonical, from),
	}
	about = slices.DeleteFunc(about, func(fact string) bool { return fact == "" })
	switch {
	case len(about) == 0 || len(about) == 1 && about[0] == line(p.Site, 200): // the URL names the site as well
	case len(about) == 1 && about[0] == site: // the rest of the title
		b.WriteString("From: " + site + "\n\n")
	default:
		b.WriteString(strings.Join(about, " · ") + "\n\n")
	}
	return b.String()
}

// canonical returns a note about the canonical address of a page, if it differs.
func canonical(address string, from *url.URL) string {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return ""
	}
	if samePage(u, from) {
		return ""
	}
	return "canonical " + line(address, 500)
}

// samePage reports whether two addresses lead to the same page.
func samePage(a, b *url.URL) bool {
	return strings.EqualFold(a.Host, b.Host) && a.RawQuery == b.RawQuery &&
		strings.TrimSuffix(a.EscapedPath(), "/") == strings.TrimSuffix(b.EscapedPath(), "/")
}

// titleLimit is the number of lines that are searched for the title.
const titleLimit = 6

// beginsWithTitle reports whether a text begins with a title, and returns the rest of
// the title: many consist of a heading and the name of the site.
func beginsWithTitle(text, title, format string) (rest string, found bool) {
	for seen := 0; seen < titleLimit && text != ""; {
		var one string
		one, text, _ = strings.Cut(text, "\n")
		letters := lettersOf(one)
		switch {
		case letters == "":
			continue
		case letters == lettersOf(title) && !strings.HasPrefix(one, "!"): // not the description of an image
			return "", true
		}
		if strings.HasPrefix(one, "#") || format != "markdown" && seen == 0 {
			if rest, found = restOfTitle(title, letters); found {
				return rest, true
			}
		}
		seen++
	}
	return "", false
}

// restOfTitle returns the part of a title that is not in a heading.
func restOfTitle(title, heading string) (rest string, found bool) {
	for _, mark := range []string{" | ", " - ", " – ", " — ", " · ", " • ", " » ", " :: "} {
		for at := 0; ; at += len(mark) {
			next := strings.Index(title[at:], mark)
			if next < 0 {
				break
			}
			at += next
			before, after := title[:at], title[at+len(mark):]
			switch heading {
			case lettersOf(before):
				return after, true
			case lettersOf(after):
				return before, true
			}
		}
	}
	return "", false
}

// lettersOf returns the letters and digits of a line of Markdown, without the addresses
// of links.
func lettersOf(line string) string {
	var b strings.Builder
	for line != "" {
		before, after, found := strings.Cut(line, "](")
		for _, c := range before {
			if unicode.IsLetter(c) || unicode.IsDigit(c) || unicode.IsMark(c) {
				b.WriteRune(unicode.ToLower(c))
			}
		}
		if _, line, _ = strings.Cut(after, ")"); !found {
			break
		}
	}
	return b.String()
}

// readDocument returns the first pages of a document. address is the argument of read_document
// to read on; "" if it cannot get the document itself.
func (f fetcher) readDocument(ctx context.Context, got cache.Entry, address string) (tool.Result, error) {
	return f.documents.Answer(ctx, document.Request{
		Name: document.NameOf(got.URL), Content: bytes.NewReader(got.Body), Size: int64(len(got.Body)),
		OCR: document.OCRAuto,
	}, document.View{URL: address})
}
