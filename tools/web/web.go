// Package web holds the tools that reach the web: fetching a page as a model
// reads it, searching, asking an interface, and driving a browser.
//
// It knows what a model is asked for and told, what of an answer is content, and
// that all of it was written by strangers: whatever comes from a page is cleaned
// and quoted. It does not know which hosts may be reached or how: that is
// [outbound.Client]'s part, and there is no other way out. Nor does it know how
// the engines of a search or a browser are spoken to.
//
// Begin with fetch.go; package page turns HTML into text.
package web

import (
	"context"

	"github.com/mcp-tools/mcp-tools/internal/outbound"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

const group = "web"

// Options are what the tools need. Without them they can be listed only.
type Options struct {
	Client   outbound.Client
	Marks    tool.Marks
	Cache    Cache
	Searcher Searcher
	Secrets  Secrets
	Files    Files
	Browser  Browser
	// NoBrowser leaves the browser out of the list: the operator wants none.
	NoBrowser bool
	Spool     Spool
	// Mask takes secrets out of a text. What leaves is masked anyway, but what is
	// cut before has to be masked whole. nil: there are none.
	Mask func(string) string
	// Scope names the caller and the rules it is under: what one scope fetched,
	// no other is shown.
	Scope  func(context.Context) string
	Limits func() Limits
}

// Limits may change while the server runs.
type Limits struct {
	Page     int64 // bytes of one that is fetched
	Download int64 // bytes of a file that is saved
	Robots   bool  // whether robots.txt is heeded when a page is fetched
	// Methods are those that the caller of ctx may use with http_request.
	Methods func(context.Context) []string
}

// Tools lists the group.
func Tools(o Options) []tool.Tool {
	f := newFetcher(o)
	all := []tool.Tool{
		tool.New(webFetch{f}),
		tool.New(webSearch{o.Searcher, o.Marks}),
		tool.Prepared(httpRequest{fetcher: f, secrets: o.Secrets, files: o.Files, spool: o.Spool}),
	}
	if o.NoBrowser {
		return all
	}
	return append(all, tool.Prepared(browserTool{o.Browser, o.Marks}))
}
