// Package api sends requests to the APIs of services: of models, media, chats, search engines and collectors. It has
// one [Transport], an http.RoundTripper over the egress rules of an [outbound.Client] that adds the credential,
// bounds bodies, tries again, and returns errors without the credential in them; and one [Client] for services
// without a library of their own; it sends and reads JSON.
//
// It knows no service: the packages that use it add the credential and interpret the errors of a service.
//
// Begin with [New]. A package without a library calls [Client.JSON]. A package with the library of a vendor gives it
// the HTTP client of the same Transport, any word as its key, no retries and no settings from the environment:
//
//	service, err := api.New(api.Options{Name: "slack", URL: "https://slack.com/api", HTTP: egress, Key: token})
//	...
//	library := slack.New("set by api", slack.OptionHTTPClient(service.HTTP()))
//	...
//	if status := (slack.StatusCodeError{}); !errors.As(err, &status) { // the errors of the service come first
//		err = service.Failure(ctx, err) // of the connection: a *Error without the credential, or the cause of ctx
//	}
//
// The Transport writes the real key over the word of the library, for hosts of the service only. Where a service has
// its key in the path, as Telegram, Options.Attach changes the path; the library's URL, and so its errors, have no
// key.
package api

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/clock"
	"github.com/mcp-tools/mcp-tools/internal/outbound"
)

const (
	maxResponse   = 4 << 20
	maxRequest    = 1 << 30
	callTimeout   = time.Minute
	uploadTimeout = 10 * time.Minute
	upload        = 1 << 20 // a request of more bytes gets uploadTimeout
)

// Options describe the API of a service.
type Options struct {
	Name string // of the service, for errors
	URL  string // such as https://slack.com/api
	HTTP outbound.Client
	// Domains are other domains of the service, whose hosts get the credential over https.
	Domains []string
	// Key returns the credential. nil: there is none.
	Key func(ctx context.Context) (string, error)
	// Attach adds the credential to a request: to its header or, as errors do not show URLs, to its path. nil: the header
	// Authorization: Bearer KEY.
	Attach func(r *http.Request, key string)
	// Scrub removes other credentials from errors. nil: there are none.
	Scrub func(text string) string

	MaxBytes int64         // of a response; 0 is 4 MiB
	Timeout  time.Duration // of a request with its response; 0 is a minute, or ten if more than 1 MiB is sent

	Attempts Attempts
	// Again reports whether a request that has failed is sent again. nil: if the failure is temporary, and the request is
	// Safe or the service has certainly not accepted it.
	Again func(call Call, e *Error) bool
	// Safe says that the requests of a library may be repeated without harm. GET and HEAD always may.
	Safe bool
}

// Key returns a credential that does not change as a Key of Options; nil if it is "".
func Key(key string) func(context.Context) (string, error) {
	if key == "" {
		return nil
	}
	return func(context.Context) (string, error) { return key, nil }
}

// Header returns an Attach of Options that adds the key to a header, after a prefix such as "Key ".
func Header(name, prefix string) func(r *http.Request, key string) {
	return func(r *http.Request, key string) { r.Header.Set(name, prefix+key) }
}

// A Transport is an http.RoundTripper for one service. Its methods may be called concurrently.
type Transport struct {
	o    Options
	base *url.URL
}

// New returns a Client. It sends nothing yet.
func New(o Options) (*Client, error) {
	base, err := url.Parse(strings.TrimSuffix(o.URL, "/"))
	if err != nil || base.Scheme == "" || base.Host == "" || base.User != nil || base.RawQuery != "" {
		return nil, fmt.Errorf("the URL of %s is not like https://example.com/v1", o.Name) // it may contain a key
	}
	if o.Attach == nil {
		o.Attach = Header("Authorization", "Bearer ")
	}
	if o.Scrub == nil {
		o.Scrub = func(text string) string { return text }
	}
	if o.Again == nil {
		o.Again = func(call Call, e *Error) bool { return e.Temporary && (call.Safe || e.Unaccepted) }
	}
	if o.Attempts.Wait == nil {
		o.Attempts.Wait = clock.Sleep
	}
	o.MaxBytes = cmp.Or(o.MaxBytes, maxResponse)
	return &Client{&Transport{o, base}}, nil
}

// HTTP returns an HTTP client for the library of a vendor. It follows no redirects: they could lead to another host.
func (t *Transport) HTTP() *http.Client {
	return &http.Client{
		Transport:     t,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// RoundTrip sends a request, again if it fails temporarily. The last response is returned whatever its status is. Errors
// are a [*Error], or the cause of the request's context.
func (t *Transport) RoundTrip(r *http.Request) (res *http.Response, err error) {
	ctx := r.Context()
	out := outbound.Request{Method: cmp.Or(r.Method, http.MethodGet), URL: r.URL.String(), Header: r.Header.Clone()}
	if r.Body != nil {
		out.Body, err = io.ReadAll(io.LimitReader(r.Body, maxRequest+1))
		if err = errors.Join(err, r.Body.Close()); err == nil && len(out.Body) > maxRequest {
			err = errors.New("it is too large")
		}
		if err != nil {
			return nil, fmt.Errorf("the body of a request to %s: %w", t.o.Name, err)
		}
	}
	call := Call{Method: out.Method, Safe: t.o.Safe}
	var last *Error
	err = t.attempt(ctx, call, func() error {
		if res != nil {
			_ = res.Body.Close()
			res = nil
		}
		if res, err = t.send(ctx, out); err != nil {
			return err
		}
		if last = t.status(res); last != nil {
			return last
		}
		return nil
	})
	if res != nil && (err == nil || errors.Is(err, last)) {
		res.Request = r
		return res, nil
	}
	if res != nil {
		_ = res.Body.Close()
	}
	return nil, err
}

// attempt calls once as often as the options say.
func (t *Transport) attempt(ctx context.Context, call Call, once func() error) error {
	call.Safe = call.Safe || call.Method == http.MethodGet || call.Method == http.MethodHead
	return t.o.Attempts.Do(ctx, func() (error, bool) {
		err := once()
		var e *Error
		return err, errors.As(err, &e) && t.o.Again(call, e)
	})
}

// send sends a request once, with the credential if it goes to the service.
func (t *Transport) send(ctx context.Context, r outbound.Request) (*http.Response, error) {
	r.MaxBytes = cmp.Or(r.MaxBytes, t.o.MaxBytes)
	if r.Timeout = cmp.Or(r.Timeout, t.o.Timeout, callTimeout); r.Timeout == callTimeout && len(r.Body) > upload {
		r.Timeout = uploadTimeout
	}
	if t.Owns(r.URL) {
		s := secret{t: t, header: r.Header}
		if t.o.Key != nil {
			var err error
			if s.key, err = t.o.Key(ctx); err == nil && (s.key == "" || strings.ContainsFunc(s.key, notInHeaders)) {
				err = errors.New("it is empty or has characters that are invalid in a request")
			}
			if err != nil {
				return nil, &Error{Service: t.o.Name, NoKey: true, Unaccepted: true, cause: err,
					Message: "its credential cannot be used"}
			}
		}
		r.Header, r.Secret = nil, s
	} else {
		r.Header = r.Header.Clone()
		for _, name := range []string{"Authorization", "Cookie"} {
			r.Header.Del(name)
		}
	}
	answer, err := t.o.HTTP.Do(ctx, r)
	if err != nil {
		return nil, t.Failure(ctx, err)
	}
	length := answer.Length
	if answer.Header.Get("Content-Length") == "" {
		length = -1 // unknown, or the length of a compressed body
	}
	return &http.Response{
		Status: fmt.Sprint(answer.Status, " ", http.StatusText(answer.Status)), StatusCode: answer.Status,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: answer.Header, Body: answer.Body, ContentLength: length,
	}, nil
}

func notInHeaders(c rune) bool { return c <= ' ' || c == 0x7f }

// A secret adds two things to requests to the service: the header of the call, perhaps with credentials, and
// the key.
type secret struct {
	t      *Transport
	header http.Header
	key    string
}

// Attach implements [outbound.Secret].
func (s secret) Attach(_ context.Context, r *http.Request) (bool, error) {
	if !s.t.Owns(r.URL.String()) {
		return false, nil
	}
	encoding := r.Header.Values("Accept-Encoding")
	maps.Copy(r.Header, s.header)
	if r.Header.Del("Accept-Encoding"); len(encoding) > 0 {
		r.Header["Accept-Encoding"] = encoding // the encodings that the outbound client decompresses
	}
	if s.key != "" {
		s.t.o.Attach(r, s.key)
	}
	return s.key != "", nil
}

// String keeps the key out of logs.
func (s secret) String() string { return "a key for " + s.t.o.Name }

// GoString keeps the key out of %#v as well.
func (s secret) GoString() string { return s.String() }

// Owns reports whether a URL is one of the service: at the host of its URL, or at one of its domains, encrypted and at
// the usual port. A WebSocket counts like HTTP.
func (t *Transport) Owns(target string) bool {
	u, err := url.Parse(target)
	if err != nil || u.User != nil || u.Host == "" {
		return false
	}
	scheme := strings.Replace(u.Scheme, "ws", "http", 1)
	if scheme == t.base.Scheme && strings.EqualFold(u.Host, t.base.Host) {
		return true
	}
	return scheme == "https" && u.Port() == "" && slices.ContainsFunc(t.o.Domains, func(domain string) bool {
		return strings.HasSuffix("."+strings.ToLower(u.Hostname()), "."+domain)
	})
}

// Base returns the URL of the service, without a slash at its end.
func (t *Transport) Base() *url.URL { u := *t.base; return &u }

// Clean returns a text of the service on one line, without the credential, and cut.
func (t *Transport) Clean(ctx context.Context, text string) string {
	if t.o.Key != nil {
		if key, err := t.o.Key(context.WithoutCancel(ctx)); err == nil && key != "" {
			text = strings.NewReplacer(key, "...", url.PathEscape(key), "...", url.QueryEscape(key), "...").Replace(text)
		}
	}
	return oneLine(t.o.Scrub(text))
}

// body reads a response that is not a stream.
func (t *Transport) body(ctx context.Context, res *http.Response, max int64) ([]byte, error) {
	defer res.Body.Close()
	if max = cmp.Or(max, t.o.MaxBytes); res.ContentLength > max {
		return nil, t.Failure(ctx, outbound.ErrTooLong)
	}
	var b bytes.Buffer
	if _, err := b.ReadFrom(res.Body); err != nil {
		return nil, t.Failure(ctx, err)
	}
	return b.Bytes(), nil
}
