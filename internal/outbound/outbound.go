// Package outbound has the words for a request that goes out to the web: what is
// asked, and what came back. The tools that fetch, the services that search and
// whoever calls a webhook speak them; package egress answers, and is the only one
// that does. It knows no address rules and opens no connection.
//
// Begin with [Client].
package outbound

import (
	"context"
	"io"
	"net/http"
	"time"
)

// A Client sends requests that strangers thought of to hosts that strangers
// name. Which hosts the caller of ctx may reach, it decides itself, for every
// connection that is made. Its errors are fit for a model.
type Client interface {
	// Do returns as soon as the head of the last answer is there, whatever its
	// status. Whoever gets an Answer closes its body. The body ends, with an
	// error, when ctx or the request's time does.
	Do(ctx context.Context, r Request) (*Answer, error)
	// Check says of a request why Do would refuse it, as far as that can be told
	// from its words: nothing is looked up, connected to or sent.
	Check(ctx context.Context, r Request) error
}

// A Request is one question. Zero values ask for the usual.
type Request struct {
	Method string // "" is GET
	URL    string // http or https
	Header http.Header
	Body   []byte
	Secret Secret // nil: none
	// Redirects is how many are followed. After the last one allowed the answer
	// that redirects further is an error; with none it is handed back.
	Redirects int
	// MaxBytes is the longest body, as it is after it was decompressed. A longer
	// one ends with [ErrTooLong]. 0: 10 MiB.
	MaxBytes int64
	Timeout  time.Duration // for all of it, body and redirects included; 0: 30 s
	Robots   bool          // ask robots.txt first
	// Raw asks for the body as the server has it, so that its parts can be asked
	// for: nothing is said of compression.
	Raw bool
	// Polite waits for its turn at a host that is asked too often.
	Polite bool
}

// A Secret puts a credential into a request on its way out.
type Secret interface {
	// Attach adds the credential where the request may have it, and reports
	// whether it did. It is asked again after every redirect.
	Attach(ctx context.Context, r *http.Request) (bool, error)
}

// An Answer is what came back.
type Answer struct {
	Status int
	Header http.Header
	URL    string   // that answered, after all redirects
	Via    []string // the URLs that redirected, the first one asked first
	Body   io.ReadCloser
	Length int64 // of the body before decompression, -1 when nobody said
}
