// Package page turns the HTML of a web page into what a model reads: Markdown,
// plain text or cleaned HTML of its main part, with its title, author and dates.
//
// It knows how pages are encoded and built, what of them a person at a screen
// would not see, and what is not what the page is about. It knows nothing of the
// network: it is given bytes and fetches nothing. Pages are written by strangers,
// so input, tree, styles and output are bounded, and time is linear in the size;
// what comes back is clean of invisible characters, but still a stranger's text
// that whoever passes it on has to quote.
//
// Begin with [Read]. A page goes through charset.go, tame.go (before the parser),
// style.go and visible.go (what is hidden), meta.go, content.go (what is the
// main part) and render.go, which makes a draft of it: a small, flat tree of what
// there is to read (draft.go). That is what html-to-markdown makes text of, with
// renderers of ours for what it has no form for (convert.go, escape.go).
// goquery selects, here and for callers (selector.go).
package page

import (
	"context"
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/PuerkitoBio/goquery"
	"golang.org/x/net/html"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// A Format is what a page becomes.
type Format string

// The formats; "" is Markdown.
const (
	Markdown Format = "markdown"
	Text     Format = "text"
	HTML     Format = "html" // without scripts, styles, events and what is hidden
)

// Options say what is wanted of a page. The zero value is its main part in
// Markdown, with the links as they stand.
type Options struct {
	URL         *url.URL // the page came from in the end; without it relative links stay
	ContentType string   // as the server said it; its charset is believed unless the bytes say otherwise
	Format      Format
	Selector    string // CSS; only what it matches, in the page's order
	Links       bool   // list the links of the text, too
	Whole       bool   // the whole body; without it the main part, if there is one
}

// A Page is what was read. Nothing in it was hidden.
type Page struct {
	Meta
	Text   string
	Links  []Link // only if wanted; no address twice
	Hidden Hidden
	Main   bool // Text is the main part, not the whole body or what a selector matched
	Script bool // there is hardly any text, and scripts that would bring it
	Cut    bool // the page is larger than what is read of one
}

// A Link is one that the text has. Its address is absolute if the page's is.
type Link struct{ Text, URL string }

// Hidden is what was taken away because nobody would see it.
type Hidden struct {
	Elements   int // with text in them, and comments
	Characters int // of them
	Invisible  int `json:",omitempty"` // characters that nobody sees wherever they are, but for hyphens where words may break
}

// Limits of one page. What is beyond them is not read, and the page is Cut.
const (
	maxInput  = 10 << 20 // bytes
	maxNodes  = 400_000
	maxOutput = 16 << 20 // bytes, and 4 times the input
)

// Read reads a page. Every input is one; only a selector can be wrong or match
// nothing, and a context end.
func Read(ctx context.Context, body []byte, o Options) (Page, error) {
	match, err := parseSelector(o.Selector)
	if err != nil {
		return Page{}, err
	}
	var p Page
	if len(body) > maxInput {
		body, p.Cut = body[:maxInput], true
	}
	source := Decode(body, o.ContentType)
	doc, err := parse(ctx, source)
	if err != nil {
		return Page{}, err
	}
	base := baseURL(doc.base, o.URL)
	eye := &viewer{ctx: ctx, sheet: doc.sheet, plainWhite: !doc.linksStyle}
	if err := eye.view(doc.root); err != nil {
		return Page{}, err
	}
	p.Hidden.Elements = eye.elements + doc.comments
	p.Hidden.Characters = eye.characters + doc.commentChars
	p.Hidden.Invisible = eye.invisible
	p.Cut = p.Cut || doc.cut || eye.tired
	p.Meta = readMeta(doc, base)

	r := &renderer{ctx: ctx, base: base, format: o.Format, wantLinks: o.Links}
	r.limit = min(maxOutput, 4*len(source)+4096)
	roots, skip, err := p.choose(ctx, doc, match, o)
	if err != nil {
		return Page{}, err
	}
	r.skip = skip
	p.Text, err = r.render(roots)
	if err != nil {
		return Page{}, err
	}
	p.Script = letters(p.Text) < 200 && doc.scripts > 0 && match == nil
	if letters(p.Text) < 20 && doc.noscript.Len() > 0 && match == nil {
		return p.withoutScript(ctx, doc.noscript.String(), o)
	}
	p.Links, p.Cut = r.links, p.Cut || r.full
	return p, nil
}

// choose finds what of a page is to be written, and what in it is not.
func (p *Page) choose(ctx context.Context, doc document, match *selector, o Options) ([]*html.Node, nodeSet, error) {
	if match != nil {
		roots, err := match.find(ctx, doc.root)
		if err == nil && len(roots) == 0 {
			err = tool.Errorf(tool.NotFound, "nothing on the page matches %q", o.Selector).
				Try("leave the selector out, or take a simpler one")
		}
		return roots, nil, err
	}
	body := bodyOf(doc.root)
	if o.Whole {
		return []*html.Node{body}, nil, nil
	}
	main, skip := mainContent(body, doc.tags)
	p.Main = main != body || len(skip) > 0
	return []*html.Node{main}, skip, nil
}

// withoutScript reads what a page has for those who run no scripts. It is only
// asked for pages that are empty otherwise.
func (p *Page) withoutScript(ctx context.Context, noscript string, o Options) (Page, error) {
	o.ContentType, o.Whole = "text/html; charset=utf-8", true
	inner, err := Read(ctx, []byte("<body>"+noscript), o)
	if err != nil {
		return Page{}, err
	}
	p.Text, p.Links, p.Main = inner.Text, inner.Links, false
	p.Hidden.Elements += inner.Hidden.Elements
	p.Hidden.Characters += inner.Hidden.Characters
	p.Hidden.Invisible += inner.Hidden.Invisible
	return *p, nil
}

func letters(text string) int { return utf8.RuneCountInString(strings.TrimSpace(text)) }

// bodyOf is the body, or the frames in its place.
func bodyOf(root *html.Node) *html.Node {
	body := goquery.NewDocumentFromNode(root).FindMatcher(goquery.Single("html > body, html > frameset"))
	if body.Length() == 0 {
		return root
	}
	return body.Nodes[0]
}
