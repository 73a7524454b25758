// Package web holds the tools for the web: fetching a page as Markdown, searching,
// sending HTTP requests, and driving a browser.
//
// It knows the arguments and results of these tools, and the content of responses. Everything
// from the web is untrusted: it is cleaned and quoted. All requests go through
// [outbound.Client]: it decides about the hosts. Package page converts HTML to text, package
// search queries search engines, package cache keeps responses and interrupted downloads.
//
// Begin with fetch.go.
package web

import (
	"context"

	"github.com/mcp-tools/mcp-tools/internal/document"
	"github.com/mcp-tools/mcp-tools/internal/outbound"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/tools/web/cache"
	"github.com/mcp-tools/mcp-tools/tools/web/search"
)

const group = "web"

// Options are the dependencies of the tools. Without them the tools can only be
// listed.
type Options struct {
	Client outbound.Client
	// IsOwn reports whether a URL leads to a port of commands of the caller in ctx. nil: no URL does.
	IsOwn     func(ctx context.Context, url string) bool
	Marks     tool.Marks
	Documents *document.Service // nil: documents are not read
	Cache     *cache.Cache
	Searcher  Searcher
	Secrets   Secrets
	Files     Files
	Browser   Browser
	Scratch   string // a private directory for unfinished downloads
	// Mask removes secrets from a text. Results are masked later as well, but text that
	// is cut has to be masked before, when secrets are complete. nil removes nothing.
	Mask func(string) string
	// Scope names the caller and the rules that apply to it. Pages fetched in one scope
	// are not returned in another.
	Scope  func(context.Context) string
	Limits func() Limits
}

// Limits may change while the server runs.
type Limits struct {
	Page     int64 // bytes of a page
	Download int64 // bytes of a download
}

// A Searcher searches the web. Its errors may be shown to a model.
type Searcher interface {
	Search(ctx context.Context, q search.Query) (search.Response, error)
}

// Secrets are the credentials that requests may be sent with. The model only knows
// their names.
type Secrets interface {
	// Find returns a credential, if the caller in ctx may send it with this method to
	// this URL. The credential itself checks the URLs of redirects.
	Find(ctx context.Context, name, method, url string) (outbound.Credential, error)
}

// Tools returns the tools of the group.
func Tools(o Options) []tool.Tool {
	f := newFetcher(o)
	return []tool.Tool{
		tool.New(webFetch{f}),
		tool.New(webSearch{o.Searcher, o.Marks}),
		tool.Prepared(httpRequest{fetcher: f, secrets: o.Secrets, files: o.Files, scratch: o.Scratch}),
		tool.Prepared(browserTool{o.Browser, o.Marks}),
	}
}
