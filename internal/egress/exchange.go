package egress

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"slices"
	"strings"
	"time"

	"golang.org/x/net/http/httpguts"
	"golang.org/x/net/publicsuffix"

	"github.com/mcp-tools/mcp-tools/internal/outbound"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

const (
	defaultBytes = 10 << 20
	maxBytes     = 1 << 40
	maxRedirects = 20
	maxCookies   = 8 << 10 // bytes of cookies in one request
)

// An exchange is a request and its redirects.
type exchange struct {
	client *Client
	r      outbound.Request
	cancel func(cause error) // ends the exchange

	at           link // the next URL
	method       string
	header       http.Header
	body         []byte
	jar          http.CookieJar // nil: no host has set a cookie
	from         link           // the URL that redirected to at
	via          []string
	own          bool            // it is with the caller's commands
	crossedHosts bool            // a redirect led to another host: AllowPrivate does not apply
	requested    map[string]bool // method, URL and cookies of the requests so far
}

func newExchange(c *Client, r outbound.Request) (*exchange, error) {
	at, err := parseLink(r.URL)
	if err != nil {
		return nil, err
	}
	method, err := parseMethod(r.Method)
	if err != nil {
		return nil, err
	}
	header, err := checkHeader(r.Header)
	if err != nil {
		return nil, err
	}
	if r.MaxBytes <= 0 {
		r.MaxBytes = defaultBytes
	}
	r.MaxBytes, r.Redirects = min(r.MaxBytes, maxBytes), min(r.Redirects, maxRedirects)
	return &exchange{client: c, r: r, at: at, method: method, header: header, body: r.Body,
		requested: map[string]bool{}}, nil
}

// follow sends requests until a response is not a redirect.
func (x *exchange) follow(ctx context.Context) (*outbound.Answer, error) {
	for {
		res, err := x.send(ctx)
		if err != nil {
			return nil, err
		}
		if !isRedirect(res.StatusCode) || x.r.Redirects == 0 {
			return x.response(ctx, res)
		}
		err = x.redirect(res)
		discard(res.Body)
		if err != nil {
			return nil, err
		}
	}
}

// send sends one request.
func (x *exchange) send(ctx context.Context) (*http.Response, error) {
	p, err := x.client.pool(ctx)
	if err != nil {
		return nil, err
	}
	own := x.client.own(ctx, p.rules, x.at)
	if err := x.checkOwnStep(own != nil); err != nil {
		return nil, err
	}
	if own != nil {
		return x.sendOwn(ctx, p.rules, own)
	}
	if err := p.rules.checkLink(x.at); err != nil {
		return nil, err
	}
	if x.crossedHosts && p.rules.isPrivate(x.at.target) {
		return nil, tool.Errorf(tool.Refused,
			"%q is not on the public internet, and redirects from other hosts may not lead to it", x.at.site()).
			Try("request this URL itself: the operator allows it")
	}
	if x.r.Polite {
		if err := x.client.pauses.wait(ctx, x.at); err != nil {
			return nil, err
		}
	}
	out, err := x.newRequest(ctx)
	if err != nil {
		return nil, err
	}
	res, err := x.roundTrip(p.transport, out)
	if err == nil {
		x.client.pauses.note(ctx, x.at, res)
	}
	return res, err
}

// sendOwn sends one request to a port of the caller's commands. They get no credentials of the
// operator.
func (x *exchange) sendOwn(ctx context.Context, r *rules, dial OwnDial) (*http.Response, error) {
	if err := r.checkOwn(x.at.target); err != nil {
		return nil, err
	}
	if x.r.Secret != nil {
		return nil, tool.Errorf(tool.Refused, "%q belongs to this session, which gets no credentials", x.at.site()).
			Try("leave out auth_profile")
	}
	out, err := x.newRequest(ctx)
	if err != nil {
		return nil, err
	}
	return x.roundTrip(x.client.ownTransport(dial), out)
}

func (x *exchange) roundTrip(t *http.Transport, out *http.Request) (*http.Response, error) {
	res, err := t.RoundTrip(out)
	if err != nil {
		return nil, &transportError{err}
	}
	if res.StatusCode == http.StatusSwitchingProtocols {
		return nil, errors.Join(tool.Errorf(tool.Unavailable, "%q switched to another protocol",
			x.at.site()), res.Body.Close())
	}
	return res, nil
}

// newRequest returns the next request with the headers, cookies and credential for its host.
func (x *exchange) newRequest(ctx context.Context) (*http.Request, error) {
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
	if x.requested[key] {
		return nil, tool.Errorf(tool.Unavailable, "%q redirects in a loop", x.at.site()).
			Try("use another URL")
	}
	x.requested[key] = true
	if x.r.Secret == nil {
		return out, nil
	}
	if _, err := x.r.Secret.Attach(ctx, out); err != nil {
		return nil, err
	}
	if out.URL.Scheme != x.at.url.Scheme || out.URL.Host != x.at.url.Host || out.Host != x.at.url.Host {
		return nil, errors.New("a credential has changed the URL of a request")
	}
	return out, nil
}

// addCookies adds the cookies that hosts have set in this exchange.
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

// keepCookies keeps the cookies of a response until the exchange ends.
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

// response returns the last response. Closing its body ends the exchange.
func (x *exchange) response(ctx context.Context, res *http.Response) (*outbound.Answer, error) {
	b := &body{ctx: ctx, at: x.at, raw: res.Body, left: x.r.MaxBytes, stall: x.client.o.Limits.Stall, cancel: x.cancel}
	bare := x.method == http.MethodHead || res.StatusCode == http.StatusNoContent ||
		res.StatusCode == http.StatusNotModified
	decoded, err := b.open(res.Header, x.r.Raw || bare)
	if err != nil {
		_ = res.Body.Close()
		return nil, err
	}
	b.timer = time.AfterFunc(b.stall, func() { b.cancel(errStalled) })
	b.timer.Stop()
	a := &outbound.Answer{Status: res.StatusCode, Header: res.Header, URL: x.at.String(), Via: x.via, Body: b,
		Length: res.ContentLength, Own: x.own}
	if decoded {
		a.Header.Del("Content-Encoding")
		a.Header.Del("Content-Length")
	}
	return a, nil
}

// maxDiscarded is how much of the body of a redirect is read, so that its connection can
// be reused.
const maxDiscarded = 4 << 10

func isRedirect(status int) bool {
	switch status {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect,
		http.StatusPermanentRedirect:
		return true
	}
	return false
}

func discard(body io.ReadCloser) {
	_, _ = io.CopyN(io.Discard, body, maxDiscarded) // if there is more, the connection is closed
	_ = body.Close()
}

// redirect prepares the next request from a response that redirects.
func (x *exchange) redirect(res *http.Response) error {
	from := x.at
	if len(x.via) >= x.r.Redirects {
		return tool.Errorf(tool.Unavailable, "%q redirects more than %d times", from.site(),
			x.r.Redirects).Try("request the final URL")
	}
	location := res.Header.Get("Location")
	if location == "" {
		return tool.Errorf(tool.Unavailable, "%q redirects without a Location", from.site()).
			Try("use another URL")
	}
	to, err := from.resolve(location)
	if err != nil {
		return redirectError(from, err)
	}
	if from.url.Scheme == "https" && to.url.Scheme == "http" {
		return tool.Errorf(tool.Refused, "%q redirects to %q, which is not encrypted", from.site(),
			to.site()).Try("request it with https")
	}
	if err := x.keepCookies(res); err != nil {
		return err
	}
	if err := x.adapt(res.StatusCode, to); err != nil {
		return err
	}
	x.via = append(x.via, from.String())
	x.crossedHosts = x.crossedHosts || from.target != to.target
	x.from, x.at = from, to
	return nil
}

// adapt removes the parts that the next request must not have.
func (x *exchange) adapt(status int, to link) error {
	repeats := status == http.StatusTemporaryRedirect || status == http.StatusPermanentRedirect
	reads := x.method == http.MethodGet || x.method == http.MethodHead
	x.header.Del("Referer")
	if !repeats {
		if !reads {
			x.method = http.MethodGet
		}
		x.body = nil
		dropBodyHeaders(x.header)
	}
	if x.at.origin() == to.origin() {
		return nil
	}
	if repeats && (len(x.body) > 0 || !reads && x.method != http.MethodOptions) {
		return tool.Errorf(tool.Refused, "%q redirects the %s to %q", x.at.site(), x.method, to.site()).
			Try("send it to that URL, if this is intended")
	}
	x.body = nil
	dropForOtherOrigin(x.header)
	return nil
}

// redirectError adds to an error the URL that redirected.
func redirectError(from link, err error) error {
	return within(err, fmt.Sprintf("%q redirects, and then", from.site()))
}

// within returns an error with a prefix that describes the failed step.
func within(err error, step string) error {
	e := tool.AsError(err)
	out := tool.Errorf(e.Kind, "%s: %s", step, e.What).Because(err)
	out.Next = e.Next
	return out
}

const (
	maxHeaders     = 64
	maxHeaderBytes = 16 << 10
	maxMethod      = 20
)

// parseMethod returns a method in upper case. "" is GET.
func parseMethod(text string) (string, error) {
	method := strings.ToUpper(text)
	switch method {
	case "":
		return http.MethodGet, nil
	case http.MethodConnect, http.MethodTrace, "TRACK":
		return "", tool.Errorf(tool.Refused, "the method %s is not allowed", method).
			Try("use GET or POST")
	}
	if len(method) > maxMethod || !httpguts.ValidHeaderFieldName(method) {
		return "", tool.Errorf(tool.Invalid, "%q is not a method", short(text)).
			Try("use GET, HEAD, POST, PUT, PATCH or DELETE")
	}
	return method, nil
}

// checkHeader returns a copy of the caller's header. It refuses fields that the client sets
// itself and fields that claim the sender of the request.
func checkHeader(from http.Header) (http.Header, error) {
	out := make(http.Header, len(from)+3)
	count, size := 0, 0
	for name, values := range from {
		if !httpguts.ValidHeaderFieldName(name) {
			return nil, tool.Errorf(tool.Invalid, "%q is not a name of a header", short(name)).
				Try("use letters, digits and dashes")
		}
		if why := reservedHeader(name); why != "" {
			return nil, tool.Errorf(tool.Refused, "the header %s cannot be set", short(name)).
				Try("%s", why)
		}
		for _, value := range values {
			if !httpguts.ValidHeaderFieldValue(value) {
				return nil, tool.Errorf(tool.Invalid, "the value of the header %s contains a control character",
					short(name)).
					Try("remove it")
			}
			count, size = count+1, size+len(name)+len(value)
			out.Add(name, strings.TrimSpace(value))
		}
	}
	if count > maxHeaders || size > maxHeaderBytes {
		return nil, tool.Errorf(tool.TooLarge, "the request has %d headers with %d bytes, the maximum is %d with %d",
			count, size, maxHeaders, maxHeaderBytes).
			Try("send fewer")
	}
	return out, nil
}

// reservedHeader returns advice for a header field that may not be set, or "". It treats _ as
// -, as some servers do.
func reservedHeader(name string) string {
	name = strings.ReplaceAll(strings.ToLower(name), "_", "-")
	switch name {
	case "authorization", "cookie", "cookie2", "set-cookie", "set-cookie2", "authentication-info", "www-authenticate":
		return "use auth_profile, which names a credential of the operator"
	case "host", "content-length", "expect", "date", "connection", "keep-alive", "te", "trailer", "transfer-encoding",
		"upgrade", "http2-settings", "sec-websocket-key":
		return "omit it; it is set automatically"
	case "forwarded", "via", "x-real-ip", "x-client-ip", "true-client-ip", "cf-connecting-ip", "x-cluster-client-ip",
		"x-original-url", "x-rewrite-url", "x-original-host", "x-host":
		return "omit it; requests are not forwarded"
	case "x-http-method-override", "x-http-method", "x-method-override":
		return "set method instead"
	}
	if strings.HasPrefix(name, "proxy-") || strings.HasPrefix(name, "x-forwarded") {
		return "omit it; requests are not forwarded"
	}
	return ""
}

// dropForOtherOrigin removes the fields that must not be sent to another origin.
func dropForOtherOrigin(h http.Header) {
	for name := range h {
		if !slices.Contains([]string{"Accept", "Accept-Language", "User-Agent"}, name) {
			delete(h, name)
		}
	}
}

// dropBodyHeaders removes the fields about a body.
func dropBodyHeaders(h http.Header) {
	for name := range h {
		if strings.HasPrefix(name, "Content-") || name == "Digest" {
			delete(h, name)
		}
	}
}
