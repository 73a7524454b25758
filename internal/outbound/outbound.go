// Package outbound defines HTTP requests to the web and their responses. The web tools and
// package api use it; all services are reached over package api. Only package egress implements
// [Client]. This package knows no address rules and opens no connection.
//
// Begin with [Client].
package outbound

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// A Client sends requests to untrusted hosts. It checks for every connection whether
// the caller in ctx may reach the host. Its errors may be shown to a model.
type Client interface {
	// Do returns when the header of the last response is received, whatever its status.
	// The caller closes the body. The body returns an error when ctx or the time of the
	// request ends.
	Do(ctx context.Context, r Request) (*Answer, error)
	// Check returns the error if Do would refuse a request, as far as that is known without
	// resolving names, connecting or sending.
	Check(ctx context.Context, r Request) error
}

// A Request is an HTTP request.
type Request struct {
	Method string // "" is GET
	URL    string // http or https
	Header http.Header
	Body   []byte
	Secret Secret // nil for none
	// Redirects is the maximum number of redirects. A further one is an error; if it is
	// 0, the redirect itself is the response.
	Redirects int
	// MaxBytes is the maximum size of the decompressed body; 0 is 10 MiB. A larger body
	// ends with [ErrTooLong].
	MaxBytes int64
	Timeout  time.Duration // including redirects and body; 0 is 30 s
	// Raw requests an uncompressed body, so that ranges of it can be requested.
	Raw bool
	// Polite waits if the host receives too many requests.
	Polite bool
}

// ErrTooLong is the error of a body that is larger than Request.MaxBytes.
var ErrTooLong = errors.New("the body is larger than the limit of the request")

// A Secret adds a credential to a request.
type Secret interface {
	// Attach adds the credential if it may be sent with the request, and reports whether
	// it did. It is called again after every redirect.
	Attach(ctx context.Context, r *http.Request) (bool, error)
}

// A Credential is a [Secret] that the operator has configured.
type Credential interface {
	Secret
	// Within reports whether content contains the secret, as it is or in a common encoding.
	Within(content io.Reader) (bool, error)
}

// An Answer is an HTTP response.
type Answer struct {
	Status int
	Header http.Header
	URL    string   // after redirects
	Via    []string // the URLs that redirected, the first one first
	Body   io.ReadCloser
	Length int64 // of the body before decompression; -1 if unknown
	Own    bool  // it is of a command of the caller, not of another host
}

// maxRetryAfter replaces longer waiting times.
const maxRetryAfter = 24 * time.Hour

// RetryAfter parses the header Retry-After: seconds, also with a fraction, or a date.
// It reports false for other values. A date in the past is 0, and the maximum is a day.
func RetryAfter(header string, now time.Time) (time.Duration, bool) {
	header = strings.TrimSpace(header)
	if at, err := http.ParseTime(header); err == nil {
		return min(max(at.Sub(now), 0), maxRetryAfter), true
	}
	if strings.Trim(header, "0123456789.") != "" {
		return 0, false // ParseFloat also accepts signs, exponents, Inf and NaN
	}
	seconds, err := strconv.ParseFloat(header, 64)
	switch {
	case seconds > maxRetryAfter.Seconds(): // +Inf and an error if it is out of range
		return maxRetryAfter, true
	case err != nil:
		return 0, false
	}
	return time.Duration(seconds * float64(time.Second)), true
}
