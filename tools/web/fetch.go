package web

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/outbound"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/tools/web/page"
)

// webFetch shows what a URL has, as a model reads it.
type webFetch struct{ fetcher }

type fetchArgs struct {
	URL      string `json:"url" jsonschema:"http or https" alias:"uri,link,href" maxlen:"8192"`
	Format   string `json:"format,omitempty" jsonschema:"markdown, text or html" alias:"extractMode,extract_mode,mode" default:"markdown" enum:"markdown,text,html"`
	MaxChars int    `json:"max_chars,omitempty" jsonschema:"default 16000" alias:"maxChars,max_length,max_bytes,maxSize,max_size"`
	Offset   int    `json:"offset,omitempty" jsonschema:"characters to skip, to read on" alias:"start,start_index"`
	Selector string `json:"selector,omitempty" jsonschema:"CSS: only what matches" alias:"css,css_selector" maxlen:"1024"`
	Links    bool   `json:"links,omitempty" jsonschema:"list its links too" alias:"include_links"`
	Fresh    bool   `json:"fresh,omitempty" jsonschema:"not from the cache" hidden:"true" alias:"no_cache"`
}

const (
	usualChars = 16_000
	mostChars  = 80_000
	leastChars = 100
	// failedChars is what is shown of an answer that tells of a failure.
	failedChars = 2_000
)

func (webFetch) Spec() tool.Spec {
	return tool.Spec{
		Name: "web_fetch", Group: group, Title: "Fetch a web page", Risk: tool.Reads, Timeout: fetchTime + 10*time.Second, Core: true,
		Hints: tool.Hints{Idempotent: true, OpenWorld: true},
		Doc: `Returns the main content of a page as Markdown; JSON and feeds readable, images to look at.
To send data or headers, or to save a file, use http_request; when a page needs JavaScript or a login, browser.`,
		Also:     []string{"WebFetch", "web_fetch_tool", "fetch", "fetch_url", "read_url", "tool::web_fetch"},
		Keywords: "http url page article read download website",
	}
}

func (t webFetch) Do(ctx context.Context, a fetchArgs) (tool.Result, error) {
	if err := a.check(); err != nil {
		return tool.Result{}, err
	}
	p := &place{room: t.room}
	defer p.leave()
	got, err := t.get(ctx, p, address(a.URL), a.Offset > 0, a.Fresh)
	if err != nil {
		return tool.Result{}, err
	}
	c, err := t.read(ctx, p, got, a)
	if err != nil {
		return tool.Result{}, err
	}
	if got.Status >= http.StatusBadRequest {
		return t.failed(got, c), nil
	}
	if c.image != nil {
		return tool.Text(t.head(got, c)).Add(*c.image), nil
	}
	return t.show(got, c, a)
}

// check sets what is usual, and refuses what cannot be done.
func (a *fetchArgs) check() error {
	if a.MaxChars == 0 {
		a.MaxChars = usualChars
	}
	if a.MaxChars < leastChars || a.MaxChars > mostChars {
		return tool.Errorf(tool.Invalid, "max_chars is %d, it must be from %d to %d", a.MaxChars, leastChars, mostChars).
			Try("leave it out, and read on with offset")
	}
	if a.Offset < 0 {
		return tool.Errorf(tool.Invalid, "offset is %d, it counts characters from 0", a.Offset)
	}
	return nil
}

// address adds what people leave out of a URL.
func address(text string) string {
	text = strings.TrimSpace(text)
	scheme, rest, found := strings.Cut(text, ":")
	port, _, _ := strings.Cut(rest, "/")
	_, err := strconv.ParseUint(port, 10, 16) // of a host without a dot
	if found && err != nil && strings.Trim(scheme, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") == "" {
		return text
	}
	if strings.HasPrefix(text, "//") {
		return "https:" + text
	}
	return "https://" + text
}

// head says what came back, in a line or two that are ours.
func (t webFetch) head(got Kept, c content) string {
	var b strings.Builder
	b.WriteString("[" + line(got.URL, 500))
	if len(got.Via) > 0 {
		b.WriteString(", redirected from " + line(got.Via[0], 300))
	}
	if got.Status != http.StatusOK {
		fmt.Fprintf(&b, ", status %d", got.Status)
	}
	if c.kind != "" {
		b.WriteString(", " + c.kind)
	}
	if age := time.Since(got.Asked); age >= time.Minute { // in minutes: equal answers are to look equal
		fmt.Fprintf(&b, ", from the cache, %d min old", int(age.Minutes()))
	}
	for _, note := range c.notes {
		b.WriteString("; " + note)
	}
	b.WriteString("]")
	return b.String()
}

// show shows a part of the text.
func (t webFetch) show(got Kept, c content, a fetchArgs) (tool.Result, error) {
	part, end, total := window(c.text, a.Offset, a.MaxChars)
	if a.Offset > 0 && a.Offset >= total {
		return tool.Result{}, tool.Errorf(tool.Invalid, "offset is %d, and the page has %d characters", a.Offset, total).
			Try("the end was reached before")
	}
	if strings.TrimSpace(part) == "" && total == 0 {
		part = "(no text)"
	}
	text := t.head(got, c) + "\n" + t.marks.Quote(got.URL, part)
	if end < total {
		text += fmt.Sprintf("\n[characters %d to %d of %d; go on with offset %d", a.Offset, end, total, end)
		if a.Links && len(c.links) > 0 {
			text += "; the links come with the last part"
		}
		text += "]"
	}
	if a.Links && end >= total {
		if list := linkList(c.links); list != "" {
			text += "\nLinks:\n" + t.marks.Quote("links of "+got.URL, list)
		}
	}
	return tool.Text(text), nil
}

const mostLinks = 200

// linkList is the links of a page, one a line.
func linkList(links []page.Link) string {
	var b strings.Builder
	for i, l := range links {
		if i == mostLinks {
			fmt.Fprintf(&b, "and %d more", len(links)-i)
			break
		}
		fmt.Fprintf(&b, "- [%s](%s)\n", line(l.Text, 100), line(l.URL, 500))
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// failed tells of an answer that says that there is nothing, and of its text as
// much as may explain it.
func (t webFetch) failed(got Kept, c content) tool.Result {
	err := statusError(got.Status, got.URL, got.Header["Retry-After"])
	r := tool.Failure(err)
	part, _, _ := window(c.text, 0, failedChars)
	if strings.TrimSpace(part) != "" {
		r = r.Add(tool.Part{Text: t.marks.Quote(got.URL, part)})
	}
	return r
}

// statusError says what a status means for who asked.
func statusError(status int, url, after string) *tool.Error {
	said := func(kind tool.Kind) *tool.Error {
		return tool.Errorf(kind, "%q answered %s", short(url, 500), strings.TrimSpace(fmt.Sprintf("%d %s", status, http.StatusText(status))))
	}
	switch status {
	case http.StatusNotFound, http.StatusGone:
		return said(tool.NotFound).Try("check the address, or find another with web_search")
	case http.StatusUnauthorized, http.StatusProxyAuthRequired:
		return said(tool.Refused).Try("it wants a login; http_request can send an auth_profile, if the operator has set one up for that host")
	case http.StatusForbidden, http.StatusUnavailableForLegalReasons:
		return said(tool.Refused).Try("the site turns away programs, or you; find the content elsewhere, or try browser")
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		wait := "wait a minute before you ask that host again"
		if asked, _ := outbound.RetryAfter(after, time.Now()); asked > 0 {
			wait = fmt.Sprintf("it asks you to wait %d s", (asked+time.Second-1)/time.Second)
		}
		return said(tool.Busy).Try("%s", wait)
	case http.StatusRequestTimeout, http.StatusGatewayTimeout:
		return said(tool.Timeout).Try("try again later")
	}
	if status >= http.StatusInternalServerError {
		return said(tool.Unavailable).Try("the fault is on that side; try again later")
	}
	return said(tool.Invalid).Try("see what it says, and change the request")
}
