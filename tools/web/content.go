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
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/picture"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/tools/web/page"
)

// content is what is worth reading of an answer.
type content struct {
	kind  string // what it was, in a word or two
	text  string
	links []page.Link
	notes []string
	image *tool.Part
}

// read makes content of a body, by its type. Secrets are taken out before any
// of it is cut: half of one would not be known for what it is.
func (f fetcher) read(ctx context.Context, p *place, got Kept, a fetchArgs) (content, error) {
	if err := p.turn(ctx); err != nil {
		return content{}, err
	}
	defer p.leave()
	kind := mediaType(got)
	c, err := f.readAs(ctx, kind, got, a)
	if !isHTML(kind) {
		c.clean()
	}
	c.text = f.mask(c.text)
	return c, err
}

func (f fetcher) readAs(ctx context.Context, kind string, got Kept, a fetchArgs) (content, error) {
	if a.Selector == "" && isFeed(kind, got.Body) {
		if c, ok := readFeed(ctx, got, a.Format); ok {
			return c, nil
		}
	}
	switch {
	case isHTML(kind):
		return readHTML(ctx, got, a)
	case a.Selector != "":
		return content{}, tool.Errorf(tool.Invalid, "a selector finds parts of HTML, and %q is %s", short(got.URL, 300), typeName(kind)).Try("leave the selector out")
	case strings.HasPrefix(kind, "image/") && kind != "image/svg+xml":
		return f.readImage(ctx, got, kind)
	case kind == "application/json", strings.HasSuffix(kind, "+json"):
		return readJSON(got.Body), nil
	}
	if isText(kind, got.Body) {
		return content{kind: typeName(kind), text: page.Decode(got.Body, got.Header["Content-Type"])}, nil
	}
	return content{}, notText(got, kind)
}

// mediaType is what a body is: what its server says, unless that is no type, or
// one that servers say of everything.
func mediaType(got Kept) string {
	kind, _, err := mime.ParseMediaType(got.Header["Content-Type"])
	kind = strings.ToLower(kind)
	if err == nil && kind != "application/octet-stream" && kind != "text/plain" && kind != "binary/octet-stream" {
		return kind
	}
	sniffed, _, _ := mime.ParseMediaType(http.DetectContentType(got.Body))
	if kind == "text/plain" && (sniffed == "text/html" || sniffed == "text/xml") {
		return kind // source code that somebody wants to read as it is
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
	case "application/xml", "application/javascript", "application/x-javascript", "application/ecmascript", "application/yaml", "application/x-yaml",
		"application/toml", "application/sql", "application/x-sh", "application/x-ndjson", "application/jsonl", "application/graphql", "application/x-www-form-urlencoded":
		return true
	}
	return len(body) == 0
}

func readHTML(ctx context.Context, got Kept, a fetchArgs) (content, error) {
	u, err := url.Parse(got.URL)
	if err != nil {
		return content{}, err
	}
	p, err := page.Read(ctx, got.Body, page.Options{
		URL: u, ContentType: got.Header["Content-Type"], Format: page.Format(a.Format), Selector: a.Selector, Links: a.Links,
	})
	if err != nil {
		return content{}, err
	}
	c := content{text: p.Text, links: p.Links, kind: kindOf(p)}
	if a.Format != "html" && a.Selector == "" {
		c.text = titled(p, a.Format, u) + p.Text
	}
	if note := takenOut(p.Hidden); note != "" {
		c.notes = append(c.notes, note)
	}
	if p.Script {
		c.notes = append(c.notes, "hardly any text without JavaScript: try browser")
	}
	if p.Cut {
		c.notes = append(c.notes, "it is longer than what is read of a page: the rest is missing")
	}
	return c, nil
}

// takenOut says what of a page nobody would have seen, "" for nothing.
func takenOut(h page.Hidden) string {
	var what []string
	if h.Elements > 0 {
		what = append(what, fmt.Sprintf("%s with %s", counted(h.Elements, "hidden element"), counted(h.Characters, "character")))
	}
	if h.Invisible > 0 {
		what = append(what, counted(h.Invisible, "invisible character"))
	}
	if len(what) == 0 {
		return ""
	}
	return strings.Join(what, " and ") + " taken out"
}

// clean takes out what nobody sees, and notes it. Of HTML, that was done where it
// was read.
func (c *content) clean() {
	text, removed := tool.Clean(c.text)
	if note := takenOut(page.Hidden{Invisible: removed}); note != "" {
		c.text, c.notes = text, append(c.notes, note)
	}
}

// kindOf says of a page what is not as it usually is.
func kindOf(p page.Page) string {
	if p.Language != "" && !strings.HasPrefix(strings.ToLower(p.Language), "en") {
		return "language " + line(p.Language, 20)
	}
	return ""
}

// mostJSON is how much JSON is made pretty; more is shown as it is.
const mostJSON = 8 << 20

func readJSON(body []byte) content {
	body = bytes.TrimPrefix(body, []byte("\xef\xbb\xbf"))
	var out bytes.Buffer
	if len(body) > mostJSON || prettySize(body) > 4*mostJSON || json.Indent(&out, body, "", "  ") != nil {
		return content{kind: "JSON, as it came", text: strings.ToValidUTF8(string(body), "\ufffd")}
	}
	return content{kind: "JSON", text: strings.ToValidUTF8(out.String(), "\ufffd")}
}

// prettySize is about how many bytes JSON has when it is made pretty. What is
// nested a thousand deep has a thousand times its length.
func prettySize(body []byte) (size int) {
	depth, quoted := 0, false
	for i := 0; i < len(body); i++ {
		size++
		switch b := body[i]; {
		case quoted && b == '\\':
			i++
			size++
		case b == '"':
			quoted = !quoted
		case quoted:
		case b == '{' || b == '[':
			depth++
			size += 2*depth + 1
		case b == '}' || b == ']':
			depth--
			size += 2*depth + 1
		case b == ',':
			size += 2*depth + 1
		case b == ':':
			size++
		}
	}
	return size
}

func (f fetcher) readImage(ctx context.Context, got Kept, kind string) (content, error) {
	select {
	case f.room.images <- struct{}{}:
	case <-ctx.Done():
		return content{}, ctx.Err()
	}
	defer func() { <-f.room.images }()
	p, err := picture.Load(ctx, bytes.NewReader(got.Body), int64(len(got.Body)))
	switch {
	case err == nil:
		return content{kind: fmt.Sprintf("%s image, %dx%d", p.FromFormat, p.FromWidth, p.FromHeight), image: &tool.Part{Data: p.Data, MIME: p.MIME}}, nil
	case errors.Is(err, picture.ErrTooLarge):
		return content{}, tool.Errorf(tool.TooLarge, "the image at %q cannot be shown: %v", short(got.URL, 300), err).Try("save it with http_request and download_path")
	case ctx.Err() != nil:
		return content{}, ctx.Err()
	}
	return content{}, notText(got, kind)
}

// notText says what a body is that nobody can read as text.
func notText(got Kept, kind string) error {
	return tool.Errorf(tool.Unavailable, "%q is %s of %s, which web_fetch does not read", short(got.URL, 300), typeName(kind), amount(int64(len(got.Body)))).
		Try("save it with http_request and download_path, and open the file with a command; or look for an HTML version")
}

// typeName says in our words what a type is: those of a server could say
// anything.
func typeName(kind string) string {
	for _, known := range []struct{ ending, name string }{
		{"/pdf", "a PDF document"}, {"msword", "a Word document"}, {"wordprocessingml.document", "a Word document"},
		{"ms-excel", "a spreadsheet"}, {"spreadsheetml.sheet", "a spreadsheet"}, {"opendocument.text", "an OpenDocument text"},
		{"presentationml.presentation", "a presentation"}, {"ms-powerpoint", "a presentation"}, {"epub+zip", "an e-book"}, {"zip", "an archive"},
		{"text/plain", "plain text"}, {"text/css", "CSS"}, {"text/csv", "CSV"}, {"text/markdown", "Markdown"}, {"javascript", "JavaScript"},
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
