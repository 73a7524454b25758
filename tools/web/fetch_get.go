package web

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/outbound"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// fetcher gets what URLs have, anew or as it was kept.
type fetcher struct {
	client outbound.Client
	cache  Cache
	marks  tool.Marks
	scope  func(context.Context) string
	limits func() Limits
	mask   func(string) string
	room   room
}

func newFetcher(o Options) fetcher {
	if o.Mask == nil {
		o.Mask = func(text string) string { return text }
	}
	return fetcher{
		client: o.Client, cache: o.Cache, marks: o.Marks, scope: o.Scope, limits: o.Limits, mask: o.Mask,
		room: newRoom(),
	}
}

const (
	fetchTime    = 30 * time.Second
	mostHops     = 5
	usuallyGood  = 5 * time.Minute  // an answer that does not say how long it is good
	readingTime  = 15 * time.Minute // who reads on gets the same page
	longestGood  = 24 * time.Hour
	acceptedText = "text/markdown, text/html;q=0.9, application/xhtml+xml;q=0.9, application/json;q=0.8, text/plain;q=0.8, */*;q=0.5"
)

// get returns what a URL has. Whoever reads on gets what was kept, if it is
// not too old.
func (f fetcher) get(ctx context.Context, p *place, address string, reading, fresh bool) (Kept, error) {
	address, _, _ = strings.Cut(address, "#")
	key := f.scope(ctx) + "\n" + address
	kept, have, err := f.recall(ctx, p, key)
	if err != nil {
		return Kept{}, err
	}
	age := time.Since(kept.Asked)
	if have && !fresh && (age < kept.good() || reading && age < readingTime) {
		return kept, nil
	}
	header := http.Header{"Accept": {acceptedText}, "Accept-Language": {"en, *;q=0.5"}}
	if have && !fresh {
		for ask, from := range map[string]string{"If-None-Match": "Etag", "If-Modified-Since": "Last-Modified"} {
			if value := kept.Header[from]; value != "" {
				header.Set(ask, value)
			}
		}
	}
	limits := f.limits()
	answer, err := f.client.Do(ctx, outbound.Request{
		URL: address, Header: header, Redirects: mostHops, MaxBytes: limits.Page, Timeout: fetchTime, Robots: limits.Robots, Polite: true,
	})
	if err != nil {
		return Kept{}, err
	}
	defer answer.Body.Close()
	if answer.Status == http.StatusNotModified && have {
		kept.Asked = time.Now()
		answer.Header.Del("Content-Type") // what it is has not changed, either
		kept.renew(answer.Header)
		f.cache.Put(key, kept)
		return kept, nil
	}
	got, err := p.receive(ctx, answer)
	if err != nil {
		return Kept{}, tooLong(err, address, limits.Page, "save it with http_request and download_path, and read parts of the file")
	}
	if got.Status == http.StatusOK {
		f.cache.Put(key, got)
	}
	return got, nil
}

// recall gets what was kept. There is room for what is large before it is in
// memory for longer than it takes to see that.
func (f fetcher) recall(ctx context.Context, p *place, key string) (Kept, bool, error) {
	kept, have := f.cache.Get(key)
	if len(kept.Body) < largeBody {
		return kept, have, nil
	}
	kept = Kept{}
	if err := p.grow(ctx); err != nil {
		return kept, false, err
	}
	kept, have = f.cache.Get(key)
	return kept, have, nil
}

// tooLong says what to do about an answer beyond a limit.
func tooLong(err error, address string, most int64, next string) error {
	if errors.Is(err, outbound.ErrTooLong) {
		return tool.Errorf(tool.TooLarge, "%q has more than %s", short(address, 500), amount(most)).Try("%s", next)
	}
	return err
}

// receive reads an answer to its end.
func (p *place) receive(ctx context.Context, a *outbound.Answer) (Kept, error) {
	body, err := p.whole(ctx, a)
	if err != nil {
		return Kept{}, err
	}
	k := Kept{URL: withoutUser(a.URL), Via: a.Via, Status: a.Status, Body: body, Asked: time.Now(), Header: make(map[string]string)}
	k.renew(a.Header)
	return k, nil
}

// mostFact is how long what a header says of an answer may be.
const mostFact = 1024

// renew takes over what a newer answer says of itself.
func (k *Kept) renew(h http.Header) {
	header := make(map[string]string, len(k.Header))
	for name, value := range k.Header {
		header[name] = value
	}
	for _, name := range []string{"Content-Type", "Etag", "Last-Modified", "Cache-Control", "Expires", "Date", "Age", "Retry-After"} {
		if value := strings.Join(h.Values(name), ", "); value != "" && len(value) <= mostFact {
			header[name] = value
		}
	}
	k.Header = header
	k.Passing = k.says("no-store") || strings.TrimSpace(h.Get("Vary")) == "*"
}

// says reports whether Cache-Control has a word.
func (k Kept) says(word string) bool {
	_, ok := k.directive(word)
	return ok
}

func (k Kept) directive(word string) (value string, ok bool) {
	for part := range strings.SplitSeq(k.Header["Cache-Control"], ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(part), "=")
		if strings.EqualFold(name, word) {
			return strings.Trim(value, `" `), true
		}
	}
	return "", false
}

// good is how long an answer may be used without asking again: as it says of
// itself, else a tenth of its age, else as usual.
func (k Kept) good() time.Duration {
	if k.Passing || k.says("no-cache") {
		return 0
	}
	date, err := http.ParseTime(k.Header["Date"])
	if err != nil {
		date = k.Asked
	}
	good := usuallyGood
	if text, ok := k.directive("max-age"); ok {
		seconds, err := strconv.ParseInt(text, 10, 32)
		if err != nil {
			return 0
		}
		good = time.Duration(seconds) * time.Second
	} else if text := k.Header["Expires"]; text != "" {
		until, err := http.ParseTime(text)
		if err != nil {
			return 0 // 0 and -1 are in use, and mean that it was over before
		}
		good = until.Sub(date)
	} else if changed, err := http.ParseTime(k.Header["Last-Modified"]); err == nil {
		good = date.Sub(changed) / 10
	}
	if age, err := strconv.ParseInt(k.Header["Age"], 10, 32); err == nil {
		good -= time.Duration(age) * time.Second
	}
	return min(max(good, 0), longestGood)
}

// withoutUser takes a name and password out of a URL that is shown.
func withoutUser(text string) string {
	u, err := url.Parse(text)
	if err != nil || u.User == nil {
		return text
	}
	u.User = nil
	return u.String()
}
