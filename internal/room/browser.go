package room

import (
	"context"
	"net/url"
)

// ReturnPath is the path of the URLs to which other sites send people back. It is the same on all ports of a machine, so
// that people can register it with a provider in advance.
const ReturnPath = "/callback"

// A Browser is the browser of the person who calls a verb. A verb that sets Visits sends it to a page of another site,
// and waits until the person returns.
type Browser interface {
	// Return is the URL to which the other site sends the person back.
	Return() (string, error)
	// Visit sends the person to an address, whose query has a state as in OAuth. It returns the query of
	// the person's return, or an error when ctx ends first.
	Visit(ctx context.Context, address string) (url.Values, error)
}

type browserKey struct{}

// WithBrowser returns a context for calls of verbs that visit other sites.
func WithBrowser(ctx context.Context, b Browser) context.Context {
	return context.WithValue(ctx, browserKey{}, b)
}

// BrowserOf returns the browser of the caller, or nil.
func BrowserOf(ctx context.Context) Browser {
	b, _ := ctx.Value(browserKey{}).(Browser)
	return b
}
