package websearch

import (
	"bytes"
	"slices"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"github.com/mcp-tools/mcp-tools/tools/web"
)

// duckRead is what a page of DuckDuckGo holds, and how far it was read.
type duckRead struct {
	hits      []web.Hit
	none      bool // it says that nothing was found
	challenge bool // it wants to know whether we are a person

	ad      bool // the result that is being read is one
	taking  part
	element atom.Atom // that is being taken the text of
	depth   int       // of elements of the same name in it
	text    strings.Builder
}

// part is what is being taken the text of.
type part int

const (
	nothing part = iota
	title
	snippet
	extras // where a date may be
)

// readDuck reads a page by its tags, without making a tree: whatever comes, it
// takes time and memory as the page is long.
func readDuck(body []byte) *duckRead {
	p := &duckRead{}
	z := html.NewTokenizer(bytes.NewReader(body))
	for {
		kind := z.Next()
		switch kind {
		case html.ErrorToken:
			p.finish()
			return p
		case html.TextToken:
			if p.taking != nothing && p.text.Len() < longestText {
				p.text.Write(z.Raw()) // tidy decodes it
			}
		case html.StartTagToken, html.SelfClosingTagToken:
			p.start(z.Token())
		case html.EndTagToken:
			p.end(z.Token())
		}
		if len(p.hits) >= mostItems && p.taking == nothing {
			return p
		}
	}
}

func (p *duckRead) start(t html.Token) {
	classes := strings.Fields(attribute(t, "class"))
	has := func(class string) bool { return slices.Contains(classes, class) }
	if attribute(t, "id") == "challenge-form" || slices.ContainsFunc(classes, func(c string) bool { return strings.HasPrefix(c, "anomaly-modal") }) ||
		strings.Contains(attribute(t, "action"), "/anomaly.js") {
		p.challenge = true
	}
	if p.taking != nothing {
		if t.DataAtom == p.element && t.DataAtom != 0 {
			p.depth++
		}
		if t.DataAtom == atom.Br || t.DataAtom == atom.Span {
			p.text.WriteByte(' ')
		}
		if !has("result") && !has("result__a") { // else the end of what was taken is missing
			return
		}
		p.finish()
	}
	switch {
	case has("no-results"), has("result--no-result"):
		p.none, p.ad = true, true // it has the shape of a result
	case has("result"):
		p.ad = has("result--ad") || has("result--sponsored")
	case has("result__a") && t.DataAtom == atom.A && !p.ad:
		p.link(attribute(t, "href"))
		p.take(title, t)
	case has("result__snippet"):
		p.take(snippet, t)
	case has("result__extras__url"), has("result__extras"):
		p.take(extras, t)
	}
}

// link begins a result, unless it is an advertisement in disguise.
func (p *duckRead) link(href string) {
	to := target(href)
	if to == "" {
		p.ad = true // what follows belongs to it
		return
	}
	p.hits = append(p.hits, web.Hit{URL: to})
}

func (p *duckRead) take(what part, t html.Token) {
	if p.ad || len(p.hits) == 0 || t.Type == html.SelfClosingTagToken || t.DataAtom == 0 {
		return
	}
	p.taking, p.element, p.depth = what, t.DataAtom, 1
	p.text.Reset()
}

func (p *duckRead) end(t html.Token) {
	if p.taking == nothing || t.DataAtom != p.element {
		return
	}
	if p.depth--; p.depth == 0 {
		p.finish()
	}
}

// finish gives the result what was taken.
func (p *duckRead) finish() {
	if p.taking == nothing || len(p.hits) == 0 {
		return
	}
	text := strings.Join(strings.Fields(p.text.String()), " ")
	hit := &p.hits[len(p.hits)-1]
	switch {
	case p.taking == title:
		hit.Title = text
	case p.taking == snippet && hit.Snippet == "":
		hit.Snippet = text
	case p.taking == extras && hit.Date == "":
		hit.Date = dateIn(text)
	}
	p.taking = nothing
}

func attribute(t html.Token, name string) string {
	for _, a := range t.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}
