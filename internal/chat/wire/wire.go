// Package wire sends requests to the APIs of services of chats. It sends each request
// once, bounds the response, and turns what goes wrong into a [chat.Error] that has no
// credentials in it. It also compares the signatures of requests that services send.
//
// It knows no service. The packages beside it, one for each service, say how the
// credential is attached and what the service's errors mean.
//
// Begin with [New].
package wire

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/chat"
	"github.com/mcp-tools/mcp-tools/internal/outbound"
	"github.com/mcp-tools/mcp-tools/internal/text"
)

const (
	maxResponse   = 4 << 20
	callTimeout   = time.Minute
	uploadTimeout = 10 * time.Minute
	upload        = 1 << 20 // a body of more bytes gets uploadTimeout
	maxText       = 500
)

// Options describe the API of a service.
type Options struct {
	Name string // of the service, for errors
	Base string // such as https://slack.com/api
	HTTP outbound.Client
	// Token returns the credential. nil: there is none.
	Token func(ctx context.Context) (string, error)
	// Attach adds the credential to a request: to its header or, as r.URL is not shown in
	// errors, to its path. nil: the header Authorization: Bearer TOKEN.
	Attach func(r *http.Request, token string)
	// Refused returns what a response with another status than 2xx means, or a response
	// with success if Call.Check is set. Only Kind, After and Text count; a Kind or an
	// After that is not set is derived from the status and Retry-After. nil: Text is the
	// beginning of the body.
	Refused func(status int, header http.Header, body []byte) chat.Error
	// Exhausted returns for how long the service takes no further request to the route of a response. nil: it
	// does not say so.
	Exhausted func(header http.Header) time.Duration
	Now       func() time.Time // nil: the system's clock
}

// A Client sends requests to one service. Its methods may be called concurrently.
type Client struct {
	o    Options
	base *url.URL

	mu     sync.Mutex
	closed map[string]time.Time // until when routes take no requests
}

const (
	// shortWait is how long a request waits for its route. A longer wait is the error Busy.
	shortWait = 2 * time.Second
	maxClosed = 1000
)

// route returns the name of what a service counts requests of: a method at a chat.
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
		return c.broken(ctx, Call{Safe: true}, context.Cause(ctx)) // nothing was sent
	}
}

// heed notes what a response says about further requests.
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
	base, err := url.Parse(strings.TrimSuffix(o.Base, "/"))
	if err != nil || base.Host == "" || base.User != nil || base.RawQuery != "" {
		return nil, fmt.Errorf("the address of %s is not a URL with a host", o.Name) // it may contain a secret
	}
	if o.Attach == nil {
		o.Attach = func(r *http.Request, token string) { r.Header.Set("Authorization", "Bearer "+token) }
	}
	if o.Refused == nil {
		o.Refused = func(_ int, _ http.Header, body []byte) chat.Error { return chat.Error{Text: string(body)} }
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Client{o: o, base: base}, nil
}

// A Call is a request to the API.
type Call struct {
	Method string // "" is POST
	Path   string // below the base
	URL    string // instead of Path: another address of the service, which the caller has checked
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

// An Answer is the response to a call that succeeded.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte
}

// JSON sends a call and decodes its response.
func (c *Client) JSON(ctx context.Context, call Call, into any) error {
	answer, err := c.Do(ctx, call)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(answer.Body, into); err != nil {
		return c.lost(call, "the response of %s is not the expected JSON", err)
	}
	return nil
}

// Do sends a call. Errors are of type [*chat.Error].
func (c *Client) Do(ctx context.Context, call Call) (*Answer, error) {
	body, err := c.open(ctx, call)
	if err != nil {
		return nil, err
	}
	defer body.Body.Close()
	data, err := io.ReadAll(body.Body)
	if err != nil {
		return nil, c.broken(ctx, call, err)
	}
	if call.Check != nil && !call.Check(data) {
		return nil, c.refused(ctx, call, body.Status, body.Header, data)
	}
	return &Answer{body.Status, body.Header, data}, nil
}

// Fetch sends a GET call and writes its response, of at most limit bytes.
func (c *Client) Fetch(ctx context.Context, call Call, limit int64, into io.Writer) error {
	call.Method, call.Safe, call.Max, call.Timeout = http.MethodGet, true, limit, uploadTimeout
	body, err := c.open(ctx, call)
	if err != nil {
		return err
	}
	defer body.Body.Close()
	if body.Length > limit {
		return c.broken(ctx, call, outbound.ErrTooLong)
	}
	var disk *writeError
	if _, err = io.Copy(writer{into}, body.Body); errors.As(err, &disk) {
		return disk.error
	}
	if err != nil {
		return c.broken(ctx, call, err)
	}
	return nil
}

// A writer marks its own errors, which are not those of the service.
type writer struct{ io.Writer }

type writeError struct{ error }

func (w writer) Write(p []byte) (int, error) {
	n, err := w.Writer.Write(p)
	if err != nil {
		return n, &writeError{err}
	}
	return n, nil
}

// open sends a call and returns a response with status 2xx.
func (c *Client) open(ctx context.Context, call Call) (*outbound.Answer, error) {
	r, err := c.request(ctx, call)
	if err != nil {
		return nil, err
	}
	if err := c.enter(ctx, call); err != nil {
		return nil, err
	}
	answer, err := c.o.HTTP.Do(ctx, r)
	if err != nil {
		return nil, c.broken(ctx, call, err)
	}
	c.heed(call, answer.Header)
	if answer.Status >= 200 && answer.Status <= 299 {
		return answer, nil
	}
	defer answer.Body.Close()
	data, _ := io.ReadAll(io.LimitReader(answer.Body, 64<<10)) // the status is enough
	return nil, c.refused(ctx, call, answer.Status, answer.Header, data)
}

func (c *Client) request(ctx context.Context, call Call) (outbound.Request, error) {
	target := c.base.JoinPath(call.Path)
	if call.URL != "" {
		var err error
		if target, err = url.Parse(call.URL); err != nil {
			return outbound.Request{}, c.lost(call, "%s named an address that is not a URL", nil)
		}
	}
	if call.Query != nil {
		target.RawQuery = call.Query.Encode()
	}
	r := outbound.Request{Method: cmp.Or(call.Method, http.MethodPost), URL: target.String(),
		Header: call.Header.Clone(), MaxBytes: cmp.Or(call.Max, maxResponse)}
	if r.Header == nil {
		r.Header = http.Header{}
	}
	kind := ""
	switch body := call.Body.(type) {
	case nil:
	case []byte:
		r.Body = body
	case url.Values:
		kind, r.Body = "application/x-www-form-urlencoded", []byte(body.Encode())
	case *outbound.Form:
		kind, r.Body = body.Encode()
	default:
		encoded, err := json.Marshal(body)
		if err != nil {
			return r, &chat.Error{Kind: chat.Refused, Text: "the message cannot be written as JSON", Cause: err}
		}
		kind, r.Body = "application/json; charset=utf-8", encoded
	}
	if kind != "" {
		r.Header.Set("Content-Type", kind)
	}
	r.Timeout = cmp.Or(call.Timeout, callTimeout)
	if call.Timeout == 0 && len(r.Body) > upload {
		r.Timeout = uploadTimeout
	}
	if call.Bare || c.o.Token == nil {
		return r, nil
	}
	token, err := c.o.Token(ctx)
	if err == nil && (token == "" || strings.ContainsFunc(token, func(c rune) bool { return c <= ' ' || c == 0x7f })) {
		err = errors.New("it is empty or has characters that are invalid in a request")
	}
	if err != nil {
		return r, &chat.Error{Kind: chat.Denied, Text: "the credential for " + c.o.Name + " cannot be used", Cause: err}
	}
	r.Secret = secret{c, token}
	return r, nil
}

// A secret adds the credential to a request.
type secret struct {
	c     *Client
	token string
}

// Attach implements [outbound.Secret].
func (s secret) Attach(_ context.Context, r *http.Request) (bool, error) {
	s.c.o.Attach(r, s.token)
	return true, nil
}

// Owns reports whether a URL, which a service has named, is at its base, or at one of its
// domains, encrypted and at the usual port. A WebSocket counts like HTTP.
func (c *Client) Owns(target string, domains ...string) bool {
	u, err := url.Parse(target)
	if err != nil || u.User != nil || u.Host == "" {
		return false
	}
	scheme := strings.Replace(u.Scheme, "ws", "http", 1)
	if scheme == c.base.Scheme && strings.EqualFold(u.Host, c.base.Host) {
		return true
	}
	return scheme == "https" && u.Port() == "" && slices.ContainsFunc(domains, func(domain string) bool {
		return strings.HasSuffix("."+strings.ToLower(u.Hostname()), "."+domain)
	})
}

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

// MaxHook is the size of the largest incoming request, in bytes.
const MaxHook = 1 << 20

// Decode decodes the body of an incoming request that is known to be the service's.
func Decode(body []byte, into any) error {
	if len(body) > MaxHook {
		return Forged("the request has more than %s", text.Bytes(MaxHook))
	}
	if err := json.Unmarshal(body, into); err != nil {
		return Forged("the request is not the expected JSON")
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

// Fresh reports whether a time is less than window before or after now.
func Fresh(at, now time.Time, window time.Duration) bool { return at.Sub(now).Abs() < window }

// clean returns a text of the service on one line, without the credential.
func (c *Client) clean(ctx context.Context, message string) string {
	if c.o.Token != nil {
		if token, err := c.o.Token(context.WithoutCancel(ctx)); err == nil && token != "" {
			message = strings.ReplaceAll(message, token, "...")
		}
	}
	return text.Clip(strings.Join(strings.Fields(strings.ToValidUTF8(message, "?")), " "), maxText)
}
