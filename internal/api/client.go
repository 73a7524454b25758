package api

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/outbound"
)

// A Client sends the requests of one service that has no library. Its methods may be called concurrently.
type Client struct{ *Transport }

// A Call is a request to the API.
type Call struct {
	Method string // "" is POST
	Path   string // below the URL of the service, or a whole URL; other hosts do not get the credential
	Query  url.Values
	Header http.Header
	Body   any // becomes JSON; *outbound.Form, url.Values and []byte are sent as such; nil is none
	// Safe marks a call that may be repeated without harm, as GET and HEAD always may.
	Safe     bool
	Timeout  time.Duration // 0 is the limit of the options
	MaxBytes int64         // of the response; 0 is the maximum in the options
	// Redirects is the maximum number of redirects. Without, a redirect is an error.
	Redirects int
	// Check returns the error that a response with status 2xx describes. nil: it describes none.
	Check func(body []byte) *Error
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
		kind, _, _ := mime.ParseMediaType(answer.Header.Get("Content-Type"))
		return c.Invalid(ctx, "the response is not the expected JSON but "+cmp.Or(kind, "something else"), err)
	}
	return nil
}

// Do sends a call, again if it fails temporarily. Errors are a [*Error], or the cause of ctx.
func (c *Client) Do(ctx context.Context, call Call) (*Answer, error) {
	r, err := c.request(call)
	if err != nil {
		return nil, err
	}
	return c.exchange(ctx, call, r)
}

// Send is Do for a request that is not a Call.
func (c *Client) Send(ctx context.Context, r outbound.Request) (*Answer, error) {
	return c.exchange(ctx, Call{Method: cmp.Or(r.Method, http.MethodGet)}, r)
}

func (c *Client) exchange(ctx context.Context, call Call, r outbound.Request) (answer *Answer, err error) {
	err = c.attempt(ctx, call, func() error {
		res, err := c.open(ctx, r)
		if err != nil {
			return err
		}
		body, err := c.body(ctx, res, r.MaxBytes)
		if err != nil {
			return err
		}
		if call.Check != nil {
			if e := call.Check(body); e != nil {
				return e
			}
		}
		answer = &Answer{res.StatusCode, res.Header, body}
		return nil
	})
	return answer, err
}

// Open sends a call, again if it fails temporarily, and returns a response with status 2xx. The caller reads its body
// and closes it. Errors of the body are for [Transport.Failure].
func (c *Client) Open(ctx context.Context, call Call) (res *http.Response, err error) {
	r, err := c.request(call)
	if err != nil {
		return nil, err
	}
	err = c.attempt(ctx, call, func() (err error) {
		res, err = c.open(ctx, r)
		return err
	})
	return res, err
}

// open sends a request once and returns a response with status 2xx.
func (c *Client) open(ctx context.Context, r outbound.Request) (*http.Response, error) {
	res, err := c.send(ctx, r)
	if err != nil {
		return nil, err
	}
	e := c.status(res)
	if e == nil {
		return res, nil
	}
	defer res.Body.Close()
	body, _ := io.ReadAll(io.LimitReader(res.Body, maxErrorBody)) // the status is enough
	c.describe(ctx, e, body)
	return nil, e
}

// Resolve returns the URL of a path below the service, or of a link that it has named.
func (c *Client) Resolve(path string) (*url.URL, error) {
	if strings.Contains(path, "://") {
		return url.Parse(path)
	}
	return c.base.JoinPath(path), nil
}

func (c *Client) request(call Call) (outbound.Request, error) {
	r := outbound.Request{Method: cmp.Or(call.Method, http.MethodPost), Header: call.Header.Clone(),
		MaxBytes: call.MaxBytes, Timeout: call.Timeout, Redirects: call.Redirects}
	target, err := c.Resolve(call.Path)
	if err != nil {
		return r, c.Invalid(context.Background(), "it named an address that is not a URL", err)
	}
	if call.Query != nil {
		target.RawQuery = call.Query.Encode()
	}
	if r.URL = target.String(); r.Header == nil {
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
		if r.Body, err = json.Marshal(body); err != nil {
			return r, fmt.Errorf("a request to %s: %w", c.o.Name, err)
		}
		kind = "application/json"
	}
	if kind != "" && r.Header.Get("Content-Type") == "" {
		r.Header.Set("Content-Type", kind)
	}
	return r, nil
}
