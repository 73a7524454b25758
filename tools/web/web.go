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
	"github.com/mcp-tools/mcp-tools/internal/outbound"
	"github.com/mcp-tools/mcp-tools/tools"
)

const group = "web"

// Options are what the tools need. Without them they can be listed only.
type Options struct {
	Client   outbound.Client
	Marks    tools.Marks
	Cache    Cache
	Searcher Searcher
	Secrets  Secrets
	Files    Files
}
