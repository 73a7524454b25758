// Package wire sends requests to the APIs of services of chats, over package api. It sends each request once, and
// turns failures into a [chat.Error]: it says whether a message was sent, was not, or may have been. It also compares
// the signatures of requests that services send.
//
// It knows no service. The packages beside it, one for each service, attach the credential and interpret the
// service's errors.
//
// Begin with [New].
package wire

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/api"
	"github.com/mcp-tools/mcp-tools/internal/outbound"
	"github.com/mcp-tools/mcp-tools/internal/text"
	"github.com/mcp-tools/mcp-tools/tools/messaging/chat"
)

const fetchTimeout = 10 * time.Minute

// Options describe the API of a service.
type Options struct {
	Name    string   // of the service, for errors
	Base    string   // such as https://slack.com/api
	Domains []string // other domains of the service, whose hosts get the credential over https
	HTTP    outbound.Client
	// Token returns the credential. nil: there is none.
	Token func(ctx context.Context) (string, error)
	// Attach adds the credential to a request: to its header or, as r.URL is not shown in
	// errors, to its path. nil: the header Authorization: Bearer TOKEN.
	Attach func(r *http.Request, token string)
	// Refused returns the error of a response with another status than 2xx, or a response with success if Call.Check is
	// set. Only Kind, After and Text count; a Kind or an After that is not set is derived from the status and
	// Retry-After. nil: Text is the beginning of the body.
	Refused func(status int, header http.Header, body []byte) chat.Error
	// Exhausted returns for how long the service takes no further request to the route of a response. nil: it
	// does not say so.
	Exhausted func(header http.Header) time.Duration
	Now       func() time.Time // nil: the system's clock
}

// A Client sends requests to one service. Its methods may be called concurrently.
type Client struct {
	o    Options
	api  *api.Client
	bare *api.Client // without the credential

	mu     sync.Mutex
	closed map[string]time.Time // until when routes take no requests
}

const (
	// shortWait is how long a request waits for its route. A longer wait is the error Busy.
	shortWait = 2 * time.Second
	maxClosed = 1000
)

// route returns the name by which a service counts requests: a method at a chat.
func (call Call) route() string {
	parts := strings.SplitN(strings.Trim(call.Path, "/"), "/", 4)
	return call.Method + " " + strings.Join(parts[:min(len(parts), 3)], "/")
}

// enter waits until the route of a call takes requests.
func (c *Client) enter(ctx context.Context, call Call) error {
	c.mu.Lock()
	wait := c.closed[call.route()].Sub(c.o.Now())
	c.mu.Unlock()
	if wait <= 0 {
		return nil
	}
	if wait > shortWait {
		return &chat.Error{Kind: chat.Busy, After: wait, Text: c.o.Name + " takes no more requests at present"}
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return c.failed(ctx, Call{Safe: true}, context.Cause(ctx)) // nothing was sent
	}
}

// heed notes the rate limit in a response.
func (c *Client) heed(call Call, header http.Header) {
	if c.o.Exhausted == nil {
		return
	}
	wait := c.o.Exhausted(header)
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case wait <= 0:
		delete(c.closed, call.route())
	case c.closed == nil || len(c.closed) >= maxClosed:
		c.closed = map[string]time.Time{call.route(): c.o.Now().Add(wait)}
	default:
		c.closed[call.route()] = c.o.Now().Add(wait)
	}
}

// New returns a Client. It sends nothing yet.
func New(o Options) (*Client, error) {
	if o.Refused == nil {
		o.Refused = func(_ int, _ http.Header, body []byte) chat.Error { return chat.Error{Text: string(body)} }
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	service := api.Options{Name: o.Name, URL: o.Base, Domains: o.Domains, HTTP: o.HTTP, Attach: o.Attach}
	bare, err := api.New(service)
	if err != nil {
		return nil, err
	}
	service.Key = o.Token
	keyed, err := api.New(service)
	return &Client{o: o, api: keyed, bare: bare}, err
}

// A Call is a request to the API.
type Call struct {
	Method string // "" is POST
	Path   string // below the base, or a whole URL of the service, checked by the caller
	Query  url.Values
	Header http.Header
	Body   any // becomes JSON; *outbound.Form, url.Values and []byte are sent as such; nil is none
	// Safe marks a call that may be repeated without harm. If the response to another one
	// is lost, the error is of kind Unknown.
	Safe    bool
	Bare    bool          // without the credential
	Timeout time.Duration // 0 depends on the size of the body
	Max     int64         // bytes of the response; 0 is 4 MiB
	// Check reports whether a response with status 2xx is a success. nil: it is.
	Check func(body []byte) bool
}

// JSON sends a call and decodes its response.
func (c *Client) JSON(ctx context.Context, call Call, into any) error {
	answer, err := c.Do(ctx, call)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(answer.Body, into); err != nil {
		return c.failed(ctx, call, c.api.Invalid(ctx, "the response is not the expected JSON", err))
	}
	return nil
}

// Do sends a call. Errors are of type [*chat.Error].
func (c *Client) Do(ctx context.Context, call Call) (*api.Answer, error) {
	if err := c.enter(ctx, call); err != nil {
		return nil, err
	}
	answer, err := c.to(call).Do(ctx, c.request(call))
	if err != nil {
		return nil, c.failed(ctx, call, err)
	}
	c.heed(call, answer.Header)
	if call.Check != nil && !call.Check(answer.Body) {
		return nil, c.refused(ctx, call, &api.Error{Status: answer.Status, Header: answer.Header, Body: answer.Body})
	}
	return answer, nil
}

// Fetch sends a GET call for a file and writes its response, of at most limit bytes.
func (c *Client) Fetch(ctx context.Context, call Call, limit int64, into io.Writer) error {
	call.Method, call.Safe, call.Max, call.Timeout = http.MethodGet, true, limit, fetchTimeout
	if err := c.enter(ctx, call); err != nil {
		return err
	}
	res, err := c.to(call).Open(ctx, c.request(call))
	if err != nil {
		return c.failed(ctx, call, err)
	}
	defer res.Body.Close()
	if res.ContentLength > limit {
		return c.failed(ctx, call, outbound.ErrTooLong)
	}
	var disk *writeError
	if _, err = io.Copy(writer{into}, res.Body); errors.As(err, &disk) {
		return disk.error
	}
	if err != nil {
		return c.failed(ctx, call, err)
	}
	return nil
}

// A writer marks its own errors, to distinguish them from errors of the service.
type writer struct{ io.Writer }

type writeError struct{ error }

func (w writer) Write(p []byte) (int, error) {
	n, err := w.Writer.Write(p)
	if err != nil {
		return n, &writeError{err}
	}
	return n, nil
}

func (c *Client) to(call Call) *api.Client {
	if call.Bare {
		return c.bare
	}
	return c.api
}

func (c *Client) request(call Call) api.Call {
	header := call.Header.Clone()
	switch call.Body.(type) {
	case nil, []byte, url.Values, *outbound.Form:
	default: // Lark requires the character set, and Slack warns without it
		if header == nil {
			header = http.Header{}
		}
		header.Set("Content-Type", "application/json; charset=utf-8")
	}
	return api.Call{Method: call.Method, Path: call.Path, Query: call.Query, Header: header, Body: call.Body,
		Timeout: call.Timeout, MaxBytes: call.Max}
}

// Owns reports whether a URL from a service is the service's. See [api.Transport.Owns].
func (c *Client) Owns(target string) bool { return c.api.Owns(target) }

// ReadFile returns the content of a file that is sent, of at most max bytes.
func ReadFile(f *chat.File, max int64) ([]byte, error) {
	large := &chat.Error{Kind: chat.Refused, Text: fmt.Sprintf("the file %q has more than %s", f.Name, text.Bytes(max))}
	if f.Size > max {
		return nil, large
	}
	r, err := f.Open()
	if err != nil {
		return nil, &chat.Error{Kind: chat.Refused, Text: fmt.Sprintf("the file %q cannot be read", f.Name), Cause: err}
	}
	defer r.Close()
	data, err := io.ReadAll(io.LimitReader(r, max+1))
	switch {
	case err != nil:
		return nil, &chat.Error{Kind: chat.Refused, Text: fmt.Sprintf("the file %q cannot be read", f.Name), Cause: err}
	case int64(len(data)) > max:
		return nil, large
	}
	return data, nil
}

// Fits returns an error if a file that has arrived has more bytes than a limit.
func Fits(f chat.Attachment, limit int64) error {
	if f.Size <= limit {
		return nil
	}
	return &chat.Error{Kind: chat.Refused,
		Text: fmt.Sprintf("the file has %s, the max is %s", text.Bytes(f.Size), text.Bytes(limit))}
}

// Decode decodes the body of an incoming request that is known to be the service's.
func Decode(body []byte, into any) error {
	if err := json.Unmarshal(body, into); err != nil {
		return &chat.Error{Kind: chat.Refused, Text: "the request is not the expected JSON", Cause: err}
	}
	return nil
}

// Forged returns the error for an incoming request that is not the service's.
func Forged(format string, args ...any) *chat.Error {
	return &chat.Error{Kind: chat.Forged, Text: fmt.Sprintf(format, args...)}
}

// Signed reports whether sum is the HMAC-SHA256 of the parts. An empty key signs nothing.
func Signed(key string, sum []byte, parts ...string) bool {
	mac := hmac.New(sha256.New, []byte(key))
	for _, part := range parts {
		mac.Write([]byte(part))
	}
	return key != "" && hmac.Equal(sum, mac.Sum(nil))
}

// Window is the largest difference between the time of an incoming request and now. Other
// requests are refused.
const Window = 5 * time.Minute

// Fresh returns the time of a request, from its seconds since 1970, and an error unless the request is new.
func Fresh(seconds string, now time.Time) (at time.Time, err error) {
	n, err := strconv.ParseInt(seconds, 10, 64)
	if at = time.Unix(n, 0); err != nil || at.Sub(now).Abs() >= Window {
		return at, Forged("the request is over %d minutes old", int(Window.Minutes()))
	}
	return at, nil
}
