package web

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/document"
	"github.com/mcp-tools/mcp-tools/internal/netaddr"
	"github.com/mcp-tools/mcp-tools/internal/outbound"
	"github.com/mcp-tools/mcp-tools/internal/page"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/tools/web/cache"
)

// webFetch returns the content of a URL as text.
type webFetch struct{ fetcher }

type fetchArgs struct {
	URL      string `json:"url" jsonschema:"http or https URL; localhost: servers of exec" alias:"uri,link,href" maxlen:"8192"`
	Format   string `json:"format,omitempty" jsonschema:"format of the text" alias:"extractMode,extract_mode,mode" default:"markdown" enum:"markdown,text,html"`
	MaxChars int    `json:"max_chars,omitempty" jsonschema:"characters to return" alias:"maxChars,max_length,max_bytes,maxSize,max_size"`
	Offset   int    `json:"offset,omitempty" jsonschema:"characters to skip" alias:"start,start_index"`
	Selector string `json:"selector,omitempty" jsonschema:"CSS selector of the parts to return" alias:"css,css_selector" maxlen:"1024"`
	Links    bool   `json:"links,omitempty" jsonschema:"also list the links" alias:"include_links"`
	Fresh    bool   `json:"fresh,omitempty" jsonschema:"do not use the cache" hidden:"true" alias:"no_cache"`
	Prompt   string `json:"prompt,omitempty" jsonschema:"ignored: the caller reads the page" hidden:"true"`
}

const (
	defaultChars = 16_000
	minChars     = 100
	maxFetch     = 80_000
	// errorChars is the max number of characters of an error page that are
	// returned.
	errorChars = 2_000
	maxLinks   = 200
)

func (webFetch) Spec() tool.Spec {
	return tool.Spec{
		Name: "web_fetch", Group: group, Title: "Fetch a web page", Risk: tool.Reads,
		Timeout: fetchTimeout + 2*time.Minute, Core: true,
		Hints: tool.Hints{Idempotent: true, OpenWorld: true},
		Doc: `Returns the main content of a web page as Markdown, JSON and feeds as text, images, documents.
To send data or save files use http_request; for JavaScript or logins use browser.`,
		Also: []string{"WebFetch", "web_fetch_tool", "fetch", "fetch_url", "read_url", "tool::web_fetch"},
		Keywords: "http https url link page article documentation blog read open summarise summarize download " +
			"website site",
	}
}

func (t webFetch) Do(ctx context.Context, a fetchArgs) (tool.Result, error) {
	if err := a.check(); err != nil {
		return tool.Result{}, err
	}
	admitted := &admission{semaphores: t.semaphores}
	defer admitted.release()
	got, err := t.get(ctx, admitted, completeURL(a.URL), a.Offset > 0, a.Fresh)
	if err != nil {
		return tool.Result{}, err
	}
	if got.Status == http.StatusOK && a.Selector == "" && t.documents.Takes(got.Body) {
		res, err := t.readDocument(ctx, got, completeURL(a.URL))
		if !errors.Is(err, document.ErrNoReader) {
			return res, err
		}
	}
	c, err := t.read(ctx, admitted, got, a)
	if err != nil {
		return tool.Result{}, err
	}
	if got.Status >= http.StatusBadRequest {
		return t.failure(got, c.text), nil
	}
	if c.image != nil {
		return tool.Text("[" + line(got.URL, 500) + "]\n" + strings.TrimSpace(header(got, c))).Add(*c.image), nil
	}
	return t.show(got, c, a)
}

// check sets defaults and checks limits.
func (a *fetchArgs) check() error {
	a.MaxChars = cmp.Or(a.MaxChars, defaultChars)
	if a.MaxChars < minChars || a.MaxChars > maxFetch {
		return tool.Errorf(tool.Invalid, "max_chars is %d, it must be from %d to %d", a.MaxChars, minChars, maxFetch).
			Try("omit max_chars, and continue reading with offset")
	}
	if a.Offset < 0 {
		return tool.Errorf(tool.Invalid, "offset is %d, but it must not be negative", a.Offset).
			Try("omit offset to read from the beginning")
	}
	return nil
}

// completeURL adds the scheme to a URL if it is missing.
func completeURL(text string) string {
	text = strings.TrimSpace(text)
	scheme, rest, found := strings.Cut(text, ":")
	port, _, _ := strings.Cut(rest, "/")
	_, err := strconv.ParseUint(port, 10, 16) // "localhost:8080" has no scheme
	isPort := err == nil
	if found && !isPort && strings.Trim(scheme, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") == "" {
		return text
	}
	text = strings.TrimPrefix(text, "//")
	host, _, _ := strings.Cut(text, "/")
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	if netaddr.IsThisMachine(host) {
		return "http://" + text
	}
	return "https://" + text
}

// header describes a response in one line, without the URL that is beside the mark; "" if
// there is nothing to say.
func header(got cache.Entry, c content) string {
	var facts []string
	if got.Own { // no mark names it
		facts = append(facts, line(got.URL, 500))
	}
	if len(got.Via) > 0 {
		facts = append(facts, "redirected from "+line(got.Via[0], 300))
	}
	if got.Status != http.StatusOK {
		facts = append(facts, fmt.Sprintf("status %d", got.Status))
	}
	if c.kind != "" {
		facts = append(facts, c.kind)
	}
	if age := time.Since(got.Asked); age >= time.Minute { // in minutes, so that equal results look equal
		facts = append(facts, fmt.Sprintf("from the cache, %d min old", int(age.Minutes())))
	}
	if facts = append(facts, c.notes...); len(facts) == 0 {
		return ""
	}
	return "[" + strings.Join(facts, "; ") + "]\n"
}

// show returns the requested part of the text.
func (t webFetch) show(got cache.Entry, c content, a fetchArgs) (tool.Result, error) {
	part, end, total := window(c.text, a.Offset, a.MaxChars)
	if a.Offset > 0 && a.Offset >= total {
		return tool.Result{}, tool.Errorf(tool.Invalid,
			"offset is %d, but the page has %d characters", a.Offset, total).
			Try("do not continue: the end of the page was reached")
	}
	if strings.TrimSpace(part) == "" && total == 0 {
		part = "(no text)"
	}
	text := header(got, c) + t.quote(got, got.URL, part)
	if end < total {
		text += fmt.Sprintf("\n[characters %d to %d of %d; continue with offset %d", a.Offset, end, total, end)
		if a.Links && len(c.links) > 0 {
			text += "; the links are listed after the last part"
		}
		text += "]"
	}
	if a.Links && end >= total {
		if list := listLinks(c.links); list != "" {
			text += "\nLinks:\n" + t.quote(got, "its links", list)
		}
	}
	return tool.Text(text), nil
}

func listLinks(links []page.Link) string {
	var b strings.Builder
	for i, l := range links {
		if i == maxLinks {
			fmt.Fprintf(&b, "and %d more", len(links)-i)
			break
		}
		fmt.Fprintf(&b, "- [%s](%s)\n", line(l.Text, 100), line(l.URL, 500))
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// quote quotes a text from another host. A page served by commands of the caller is as trusted
// as their output.
func (f fetcher) quote(got cache.Entry, source, text string) string {
	if got.Own {
		return text
	}
	return f.marks.Quote(source, text)
}

// failure returns the error for a status, and the beginning of the error page.
func (f fetcher) failure(got cache.Entry, text string) tool.Result {
	r := tool.Failure(statusError(got.Status, got.URL, got.Header["Retry-After"]))
	part, _, _ := window(text, 0, errorChars)
	if strings.TrimSpace(part) != "" {
		r = r.Add(tool.Part{Text: f.quote(got, got.URL, part)})
	}
	return r
}

// statusError returns the error for a status of at least 400.
func statusError(status int, url, retryAfter string) *tool.Error {
	fail := func(kind tool.Kind) *tool.Error {
		name := strings.TrimSpace(fmt.Sprintf("%d %s", status, http.StatusText(status)))
		return tool.Errorf(kind, "%q responded with %s", short(url, 500), name)
	}
	switch status {
	case http.StatusNotFound, http.StatusGone:
		return fail(tool.NotFound).Try("check the URL, or find another one with web_search")
	case http.StatusUnauthorized, http.StatusProxyAuthRequired:
		return fail(tool.Refused).Try("the page needs a login: use http_request with auth_profile, " +
			"if the operator has configured a credential for that host")
	case http.StatusForbidden, http.StatusUnavailableForLegalReasons:
		return fail(tool.Refused).
			Try("the site does not allow this request: find the content elsewhere, or try browser")
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		next := "wait a minute before the next request to that host"
		if wait, _ := outbound.RetryAfter(retryAfter, time.Now()); wait > 0 {
			next = fmt.Sprintf("wait %d s, as the host requests", (wait+time.Second-1)/time.Second)
		}
		return fail(tool.Busy).Try("%s", next)
	case http.StatusRequestTimeout, http.StatusGatewayTimeout:
		return fail(tool.Timeout).Try("try again later")
	case http.StatusNotImplemented:
		return fail(tool.Unavailable).Try("the host does not support this method")
	}
	if status >= http.StatusInternalServerError {
		return fail(tool.Unavailable).Try("the host has an internal error: try again later")
	}
	return fail(tool.Invalid).Try("read the response, and change the request")
}

// fetcher fetches URLs through the cache.
type fetcher struct {
	client    outbound.Client
	isOwn     func(ctx context.Context, url string) bool
	cache     *cache.Cache
	marks     tool.Marks
	scope     func(context.Context) string
	limits    func() Limits
	mask      func(string) string
	documents *document.Service
	semaphores
}

func newFetcher(o Options) fetcher {
	if o.Mask == nil {
		o.Mask = func(text string) string { return text }
	}
	if o.IsOwn == nil {
		o.IsOwn = func(context.Context, string) bool { return false }
	}
	return fetcher{
		client: o.Client, isOwn: o.IsOwn, cache: o.Cache, marks: o.Marks, scope: o.Scope, limits: o.Limits, mask: o.Mask,
		documents: o.Documents, semaphores: newSemaphores(),
	}
}

const (
	fetchTimeout = 30 * time.Second
	maxRedirects = 5
	// continueTime is the time that a page stays the same while a caller continues to read.
	continueTime = 15 * time.Minute
	acceptText   = "text/markdown, text/html;q=0.9, application/xhtml+xml;q=0.9, application/json;q=0.8, " +
		"text/plain;q=0.8, */*;q=0.5"
)

// get fetches a URL, or returns it from the cache if it is fresh. continues is set for
// a page that was read before in part.
func (f fetcher) get(ctx context.Context, a *admission, address string, continues, fresh bool) (cache.Entry, error) {
	address, _, _ = strings.Cut(address, "#")
	key := f.scope(ctx) + "\n" + address
	cached, found, err := f.fromCache(ctx, a, key)
	if err != nil {
		return cache.Entry{}, err
	}
	age := time.Since(cached.Asked)
	if found && !fresh && (age < cached.Lifetime() || continues && age < continueTime) {
		return cached, nil
	}
	header := http.Header{"Accept": {acceptText}, "Accept-Language": {"en, *;q=0.5"}}
	if found && !fresh {
		for condition, from := range map[string]string{"If-None-Match": "Etag", "If-Modified-Since": "Last-Modified"} {
			if value := cached.Header[from]; value != "" {
				header.Set(condition, value)
			}
		}
	}
	limits := f.limits()
	answer, err := f.client.Do(ctx, outbound.Request{
		URL: address, Header: header, Redirects: maxRedirects, MaxBytes: limits.Page, Timeout: fetchTimeout,
		Polite: true,
	})
	if err != nil {
		return cache.Entry{}, err
	}
	defer answer.Body.Close()
	if answer.Status == http.StatusNotModified && found {
		cached.Asked = time.Now()
		answer.Header.Del("Content-Type") // the cached type is the right one
		cached.Update(answer.Header)
		f.cache.Put(key, cached)
		return cached, nil
	}
	body, err := a.readBody(ctx, answer)
	if err != nil {
		return cache.Entry{}, tooLarge(err, address, limits.Page,
			"if it is a document use read_document; save other files with http_request and download_path")
	}
	got := newEntry(answer, body)
	if got.Status == http.StatusOK && !got.Own { // own pages change, and belong to the session
		f.cache.Put(key, got)
	}
	return got, nil
}

// fromCache returns a cached entry. A large one is read again once it is admitted, so
// that its first copy is not held in memory while it waits.
func (f fetcher) fromCache(ctx context.Context, a *admission, key string) (cache.Entry, bool, error) {
	entry, found := f.cache.Get(key)
	if len(entry.Body) < largeBody {
		return entry, found, nil
	}
	entry = cache.Entry{}
	if err := a.admitLarge(ctx); err != nil {
		return entry, false, err
	}
	entry, found = f.cache.Get(key)
	return entry, found, nil
}

func newEntry(a *outbound.Answer, body []byte) cache.Entry {
	e := cache.Entry{URL: withoutUser(a.URL), Via: a.Via, Status: a.Status, Body: body, Asked: time.Now(), Own: a.Own}
	e.Update(a.Header)
	return e
}

// tooLarge replaces the error for a body beyond a limit by one with the next step.
func tooLarge(err error, address string, limit int64, next string) error {
	if errors.Is(err, outbound.ErrTooLong) {
		return tool.Errorf(tool.TooLarge, "%q has more than %s", short(address, 500), formatBytes(limit)).
			Try("%s", next)
	}
	return err
}

// withoutUser removes user name and password from a URL.
func withoutUser(text string) string {
	u, err := url.Parse(text)
	if err != nil || u.User == nil {
		return text
	}
	u.User = nil
	return u.String()
}
