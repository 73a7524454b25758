// Package page converts the HTML of a web page to Markdown, plain text or cleaned
// HTML of its main part, together with its title, author and dates.
//
// It knows the encoding and structure of pages, the parts that a person at a screen would not
// see, and the parts that are navigation or advertising. It knows nothing of the network: it is
// given bytes and fetches nothing. Pages are untrusted, so the input, the tree, the style
// sheets and the output are bounded, and the time is linear in the size of the page. The result
// contains no invisible characters, but it is still untrusted text that the caller has to
// quote.
//
// Begin with [Read]. A page goes through
//   - charset.go: decode the bytes,
//   - parse.go: filter the tokens and build the tree,
//   - hidden.go, css.go: remove hidden parts,
//   - meta.go: read title, author and dates,
//   - content.go: find the main part,
//   - copy.go, blocks.go, inline.go, table.go, math.go: copy it, without the
//     elements that are only style,
//   - markdown.go: convert the copy with html-to-markdown and our rules for it.
//
// cleanhtml.go writes HTML instead; selector.go finds the matches of a CSS selector.
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

// A Format is an output format.
type Format string

// The formats; "" is Markdown.
const (
	Markdown Format = "markdown"
	Text     Format = "text"
	HTML     Format = "html" // without scripts, styles, event handlers and hidden parts
)

// Options for reading a page. The zero value returns the main part as Markdown and
// leaves relative links as they are.
type Options struct {
	URL         *url.URL // address of the page after redirects; resolves relative links
	ContentType string   // Content-Type header; its charset is used unless the bytes contradict it
	Format      Format
	Selector    string // CSS selector; return only its matches, in document order
	Links       bool   // fill Page.Links
	Whole       bool   // return the whole body instead of the main part
}

// A Page is the result of Read. It contains nothing that was hidden.
type Page struct {
	Meta
	Text   string
	Links  []Link // if Options.Links is set; each address once
	Hidden Hidden
	Main   bool // Text is the main part, not the whole body or the match of a selector
	Beside int  // characters of paragraphs beside the article; they are left out
	Script bool // the page has hardly any text, but scripts that probably load it
	Cut    bool // the page exceeds a limit, and its end is missing
}

// A Link is a link in the text. URL is absolute if Options.URL is set.
type Link struct{ Text, URL string }

// Hidden counts the parts that were removed because they are not visible.
type Hidden struct {
	Elements   int // elements with text, and comments
	Characters int // in these elements
	Invisible  int `json:",omitempty"` // invisible characters in visible text, except soft hyphens
}

// Limits of one page. Content beyond them is not read, and Page.Cut is set.
const (
	maxInput  = 10 << 20 // bytes
	maxNodes  = 400_000
	maxOutput = 16 << 20 // bytes; at most 4 times the input
)

// Read reads a page. It accepts any input; errors are an invalid selector, a
// selector without a match, nesting that is too deep, and the end of ctx.
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
	remover := &hiddenRemover{ctx: ctx, sheet: doc.sheet, onWhite: !doc.linksStyle, scripts: doc.scripts > 0}
	if err := remover.run(doc.root); err != nil {
		return Page{}, err
	}
	p.Hidden.Elements = remover.elements + doc.comments
	p.Hidden.Characters = remover.characters + doc.commentChars
	p.Hidden.Invisible = remover.invisible
	p.Cut = p.Cut || doc.cut || remover.exhausted
	p.Meta = readMeta(doc, base)

	r := &copier{ctx: ctx, base: base, format: o.Format, wantLinks: o.Links}
	r.limit = min(maxOutput, 4*len(source)+4096)
	roots, skip, err := p.choose(ctx, doc, match, o)
	if err != nil {
		return Page{}, err
	}
	r.skip = skip
	if p.Text, err = r.read(roots); err != nil {
		return Page{}, err
	}
	p.Script = characters(p.Text) < 200 && doc.scripts > 0 && match == nil
	if characters(p.Text) < 20 && doc.noscript.Len() > 0 && match == nil {
		return p.readNoscript(ctx, doc.noscript.String(), o)
	}
	p.Links, p.Cut = r.links, p.Cut || r.full
	return p, nil
}

// choose returns the elements to render and those within them to leave out.
func (p *Page) choose(
	ctx context.Context, doc document, match *selector, o Options,
) (roots []*html.Node, skip nodeSet, err error) {
	if match != nil {
		roots, err := match.find(ctx, doc.root)
		if err == nil && len(roots) == 0 {
			err = tool.Errorf(tool.NotFound, "nothing on the page matches the selector %q", o.Selector).
				Try("omit selector, or use a simpler one")
		}
		return roots, nil, err
	}
	body := bodyOf(doc.root)
	if o.Whole {
		return []*html.Node{body}, nil, nil
	}
	main, skip, beside := mainContent(body, doc.tags, p.isArticle)
	p.Beside = beside
	p.Main = main != body || len(skip) > 0
	return []*html.Node{main}, skip, nil
}

// readNoscript reads the content of noscript elements, for pages that are empty
// otherwise.
func (p *Page) readNoscript(ctx context.Context, noscript string, o Options) (Page, error) {
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

func characters(text string) int { return utf8.RuneCountInString(strings.TrimSpace(text)) }

// bodyOf returns the body element, the frameset in its place, or else root.
func bodyOf(root *html.Node) *html.Node {
	body := goquery.NewDocumentFromNode(root).FindMatcher(goquery.Single("html > body, html > frameset"))
	if body.Length() == 0 {
		return root
	}
	return body.Nodes[0]
}
