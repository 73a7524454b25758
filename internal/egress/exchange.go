package egress

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/cookiejar"
	"strings"
	"sync"

	"golang.org/x/net/publicsuffix"

	"github.com/mcp-tools/mcp-tools/internal/outbound"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

const (
	usualBytes   = 10 << 20
	mostBytes    = 1 << 40
	maxRedirects = 20
	maxCookies   = 8 << 10 // bytes of cookies in one request
)

// An exchange is one request and those that it is redirected to.
type exchange struct {
	client *Client
	r      outbound.Request
	cancel func(cause error) // ends all of it

	at     link // what is asked next
	method string
	header http.Header
	body   []byte
	jar    http.CookieJar // nil: no host has set a cookie
	from   link           // what has redirected to it
	via    []string
	moved  bool            // a host has said what to ask: what the operator allows is not for it to use
	seen   map[string]bool // what was asked
	taken  []func()        // give back what a request took of what others want, too
}

func newExchange(c *Client, r outbound.Request) (*exchange, error) {
	at, err := readLink(r.URL)
	if err != nil {
		return nil, err
	}
	method, err := readMethod(r.Method)
	if err != nil {
		return nil, err
	}
	header, err := readHeader(r.Header)
	if err != nil {
		return nil, err
	}
	if r.MaxBytes <= 0 {
		r.MaxBytes = usualBytes
	}
	r.MaxBytes, r.Redirects = min(r.MaxBytes, mostBytes), min(r.Redirects, maxRedirects)
	return &exchange{client: c, r: r, at: at, method: method, header: header, body: r.Body, seen: map[string]bool{}}, nil
}

// follow asks until an answer does not redirect.
func (x *exchange) follow(ctx context.Context) (*outbound.Answer, error) {
	for {
		res, err := x.ask(ctx)
		if err != nil {
			x.release()
			return nil, err
		}
		if !redirects(res.StatusCode) || x.r.Redirects == 0 {
			return x.answer(ctx, res)
		}
		err = x.redirect(res)
		discard(res.Body)
		x.release()
		if err != nil {
			return nil, err
		}
	}
}

// ask sends one request. What it takes for that is released by whoever has done
// with its answer.
func (x *exchange) ask(ctx context.Context) (*http.Response, error) {
	p, err := x.client.pool(ctx)
	if err != nil {
		return nil, err
	}
	x.taken = append(x.taken, func() { x.client.release(p) })
	if err := p.rules.asked(x.at); err != nil {
		return nil, err
	}
	if x.moved && p.rules.isPrivate(x.at.target) {
		return nil, tool.Errorf(tool.Refused, "%q is not on the public internet, and other hosts lead nobody there", x.at.site()).
			Try("ask for that address itself, if it is meant: the operator allows it")
	}
	if x.r.Robots {
		if err := p.robots.allow(ctx, x.client, x.at); err != nil {
			return nil, err
		}
	}
	if x.r.Polite {
		leave, err := x.client.turns.take(ctx, x.at)
		if err != nil {
			return nil, err
		}
		x.taken = append(x.taken, leave)
	}
	out, err := x.outgoing(ctx)
	if err != nil {
		return nil, err
	}
	res, err := p.transport.RoundTrip(out)
	if err != nil {
		return nil, &wireError{err}
	}
	if res.StatusCode == http.StatusSwitchingProtocols {
		return nil, errors.Join(tool.Errorf(tool.Unavailable, "%q speaks another protocol than HTTP from here on", x.at.site()), res.Body.Close())
	}
	x.client.turns.heed(ctx, x.at, res)
	return res, nil
}

func (x *exchange) release() {
	for _, give := range x.taken {
		give()
	}
	x.taken = nil
}

// outgoing is the request as the host gets it.
func (x *exchange) outgoing(ctx context.Context) (*http.Request, error) {
	u := *x.at.url
	out := (&http.Request{Method: x.method, URL: &u, Host: u.Host, Header: x.header.Clone()}).WithContext(ctx)
	if len(x.body) > 0 {
		out.ContentLength = int64(len(x.body))
		out.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(x.body)), nil }
		out.Body, _ = out.GetBody()
	}
	out.Header.Del("Accept-Encoding")
	if !x.r.Raw && out.Header.Get("Range") == "" {
		out.Header.Set("Accept-Encoding", "gzip, deflate")
	}
	if out.Header.Get("Accept") == "" {
		out.Header.Set("Accept", "*/*")
	}
	if out.Header.Get("User-Agent") == "" {
		out.Header.Set("User-Agent", x.client.o.Agent)
	}
	x.addCookies(out)
	key := x.method + " " + x.at.String() + " " + out.Header.Get("Cookie")
	if x.seen[key] {
		return nil, tool.Errorf(tool.Unavailable, "%q redirects in a circle", x.at.site()).Try("ask for another page")
	}
	x.seen[key] = true
	if x.r.Secret == nil {
		return out, nil
	}
	if _, err := x.r.Secret.Attach(ctx, out); err != nil {
		return nil, err
	}
	if out.URL.Scheme != x.at.url.Scheme || out.URL.Host != x.at.url.Host || out.Host != x.at.url.Host {
		return nil, errors.New("a credential has changed where a request goes")
	}
	return out, nil
}

// addCookies adds what hosts have set on the way here.
func (x *exchange) addCookies(out *http.Request) {
	if x.jar == nil {
		return
	}
	var all []string
	size := 0
	for _, c := range x.jar.Cookies(out.URL) {
		pair := c.Name + "=" + c.Value
		if size += len(pair) + 2; size > maxCookies {
			break
		}
		all = append(all, pair)
	}
	if len(all) > 0 {
		out.Header.Set("Cookie", strings.Join(all, "; "))
	}
}

// keepCookies keeps what a host sets, until this exchange ends.
func (x *exchange) keepCookies(res *http.Response) error {
	cookies := res.Cookies()
	if len(cookies) == 0 {
		return nil
	}
	if x.jar == nil {
		jar, err := cookiejar.New(&cookiejar.Options{PublicSuffixList: publicsuffix.List})
		if err != nil {
			return err
		}
		x.jar = jar
	}
	x.jar.SetCookies(x.at.url, cookies)
	return nil
}

// answer hands the last answer to whoever asked. Its body ends what is left.
func (x *exchange) answer(ctx context.Context, res *http.Response) (*outbound.Answer, error) {
	b := &body{ctx: ctx, at: x.at, raw: res.Body, left: x.r.MaxBytes, stall: x.client.o.Limits.Stall, cancel: x.cancel}
	b.done = sync.OnceFunc(x.release)
	bare := x.method == http.MethodHead || res.StatusCode == http.StatusNoContent || res.StatusCode == http.StatusNotModified
	decoded, err := b.open(res.Header, x.r.Raw || bare)
	if err != nil {
		_ = res.Body.Close()
		x.release()
		return nil, err
	}
	b.watch()
	a := &outbound.Answer{Status: res.StatusCode, Header: res.Header, URL: x.at.String(), Via: x.via, Body: b, Length: res.ContentLength}
	if decoded {
		a.Header.Del("Content-Encoding")
		a.Header.Del("Content-Length")
	}
	return a, nil
}
