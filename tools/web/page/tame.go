package page

import (
	"bytes"
	"context"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// document is a page with its tree, and what was taken out before there was one.
type document struct {
	root *html.Node
	*tamed
	sheet *sheet
}

// tamed is a page that the parser can do no harm with: it has nothing in it that
// is not content, and what would cost more than its length is gone.
type tamed struct {
	html         []byte
	title        string
	styles       []string
	linksStyle   bool     // it has style sheets that we do not see
	base         string   // what it says that its addresses are relative to
	based        bool     // it says so
	data         []string // JSON-LD
	tags         int      // that begin an element
	noscript     strings.Builder
	styleSize    int
	dataSize     int
	scripts      int
	comments     int
	commentChars int
	cut          bool
}

// Limits of what is kept of a page beside its content.
const (
	maxStyles   = 1 << 20
	maxData     = 256 << 10
	maxNoscript = 128 << 10
	maxAttrs    = 32
	maxAttr     = 4096 // bytes of a value
	openFormats = 8    // that the parser may open again in each block
)

// parse makes a tree of a page. The parser refuses what is nested too deep; such
// a page is flattened: beyond a depth, elements that cannot hide anything are
// left out, and the others go with what is in them.
func parse(ctx context.Context, source string) (document, error) {
	doc := document{}
	for _, deepest := range []int{0, 200, 20} {
		t := tamer{ctx: ctx, deepest: deepest, look: doc.sheet}
		t.run(source)
		if err := ctx.Err(); err != nil {
			return doc, err
		}
		doc.tamed = &t.tamed
		if doc.sheet == nil {
			doc.sheet = readSheet(t.styles)
			doc.sheet.guesses = doc.sheet.guesses && !t.linksStyle
		}
		root, err := html.Parse(&patient{ctx, bytes.NewReader(t.html)})
		if err == nil {
			doc.root = root
			if t.formats.renamed {
				rename(root)
			}
			return doc, nil
		}
	}
	if err := ctx.Err(); err != nil {
		return doc, err
	}
	return doc, tool.Errorf(tool.Invalid, "the page is nested too deep to be read").
		Try("fetch it with http_request to see its source")
}

// patient reads until a context ends.
type patient struct {
	ctx context.Context
	*bytes.Reader
}

func (p *patient) Read(b []byte) (int, error) {
	if err := p.ctx.Err(); err != nil {
		return 0, err
	}
	return p.Reader.Read(b)
}

// tamer goes over the tokens of a page.
type tamer struct {
	tamed
	ctx     context.Context
	z       *html.Tokenizer
	deepest int    // beyond which is flattened; 0 is nowhere
	look    *sheet // that says what is hidden beyond it

	raw     []byte // the tag that is looked at
	nodes   int
	formats formats
	foreign int  // math that is open
	open    nest // only where the page is flattened
}

func (t *tamer) run(source string) {
	t.z = html.NewTokenizer(strings.NewReader(source))
	t.html = make([]byte, 0, len(source)+64)
	for i := 0; ; i++ {
		if i%1024 == 0 && t.ctx.Err() != nil {
			return
		}
		kind := t.z.Next()
		if kind == html.ErrorToken {
			return
		}
		if t.nodes > maxNodes {
			t.cut = true
			return
		}
		switch kind {
		case html.TextToken:
			t.nodes++
			t.html = append(t.html, t.z.Raw()...)
		case html.CommentToken:
			if text := strings.TrimSpace(string(t.z.Text())); text != "" {
				t.comments++
				t.commentChars += utf8.RuneCountInString(text)
			}
		case html.DoctypeToken:
			t.html = append(t.html, t.z.Raw()[:min(len(t.z.Raw()), 300)]...)
			if t.html[len(t.html)-1] != '>' {
				t.html = append(t.html, '>')
			}
		case html.StartTagToken, html.SelfClosingTagToken:
			t.start(kind)
		case html.EndTagToken:
			t.end(tagIn(t.z))
		}
	}
}

// start takes a start tag. Those that the tokenizer reads raw text behind never
// reach the parser: so the two cannot disagree about where that ends.
func (t *tamer) start(kind html.TokenType) {
	raw := t.z.Raw()
	simple := len(raw) < 300
	if simple {
		t.raw = append(t.raw[:0], raw...)
		raw = t.raw
	}
	tag := tagIn(t.z)
	name := tag.name
	if len(name) > 60 {
		return
	}
	if t.foreign > 0 && tag.has(isRaw) {
		t.z.NextIsNotRawText()
		return
	}
	if tag.has(isRaw) {
		t.rawText(name, t.attrs())
		return
	}
	switch name {
	case "svg":
		if kind == html.StartTagToken {
			t.skipSVG()
		}
		return
	case "math":
		if kind == html.StartTagToken {
			t.foreign++
		}
	}
	var attrs []html.Attribute
	if !simple || t.deepest > 0 || name == "link" || name == "base" {
		attrs = t.attrs()
		t.header(name, attrs)
	}
	if t.deepest > 0 && kind == html.StartTagToken && !t.descend(name, attrs) {
		return
	}
	if tag.has(endsForeign) {
		t.foreign = 0
	}
	t.nodes++
	t.tags++
	if !tag.has(isInline) {
		t.nodes += t.formats.open
	}
	as := t.formats.start(tag)
	if simple && as == name {
		t.html = append(t.html, raw...)
		return
	}
	if attrs == nil {
		attrs = t.attrs()
	}
	t.write(as, attrs, kind == html.SelfClosingTagToken)
}

// header notes what a page says of itself in tags that have nothing in them.
func (t *tamer) header(name string, attrs []html.Attribute) {
	switch name {
	case "link":
		if strings.Contains(strings.ToLower(valueOf(attrs, "rel")), "stylesheet") {
			t.linksStyle = true
		}
	case "base":
		for _, a := range attrs {
			if a.Key == "href" && !t.based {
				t.base, t.based = a.Val, true
			}
		}
	}
}

func (t *tamer) end(tag tag) {
	name := tag.name
	if tag.has(isRaw) || name == "svg" || len(name) > 60 {
		return
	}
	if name == "math" && t.foreign > 0 {
		t.foreign--
	}
	if t.deepest > 0 && !t.ascend(name) {
		return
	}
	if !tag.has(isInline) {
		t.nodes += 1 + t.formats.open
	}
	if as := t.formats.end(tag); as != "" {
		t.html = append(append(append(t.html, "</"...), as...), '>')
	}
}

// attrs reads the attributes of a tag, as many and as long as are sensible.
func (t *tamer) attrs() []html.Attribute {
	attrs := []html.Attribute{}
	for len(attrs) < maxAttrs {
		key, value, _ := t.z.TagAttr()
		if key == nil {
			break
		}
		if len(key) > 60 || len(value) > maxAttr && string(key) != "style" && string(key) != "class" {
			continue
		}
		value = value[:min(len(value), 16*maxAttr)]
		attrs = append(attrs, html.Attribute{Key: string(key), Val: string(value)})
	}
	return attrs
}

func (t *tamer) write(name string, attrs []html.Attribute, closed bool) {
	t.html = append(append(t.html, '<'), name...)
	for _, a := range attrs {
		if strings.ContainsAny(a.Key, "\"'<>=` \t\n\f\r/") || a.Key == "" {
			continue
		}
		t.html = append(append(append(t.html, ' '), a.Key...), `="`...)
		t.html = append(append(t.html, html.EscapeString(a.Val)...), '"')
	}
	if closed {
		t.html = append(t.html, '/')
	}
	t.html = append(t.html, '>')
}

func valueOf(attrs []html.Attribute, key string) string {
	for _, a := range attrs {
		if a.Key == key {
			return a.Val
		}
	}
	return ""
}
