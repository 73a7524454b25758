package websearch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/mcp-tools/mcp-tools/internal/outbound"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/tools/web"
)

// mostBody is the longest answer of an engine that is read.
const mostBody = 2 << 20

// An engine is one that can be asked.
type engine struct {
	name    string
	client  outbound.Client
	wire    wire
	longest int // characters of a search; 0: any
	origin  string
	key     func() (string, error)
	header  string // that the key goes into
	form    string // of its value, with {key} in it
}

// A wire is the way one engine is spoken to.
type wire interface {
	// request makes a request of a query, and names the filters that the engine
	// does not know.
	request(q web.Query) (r outbound.Request, unheeded []string, err error)
	// read reads an answer. Its hits are as the engine wrote them.
	read(a answer) ([]web.Hit, *failure)
}

// An answer is what an engine sent back.
type answer struct {
	status int
	header http.Header
	body   []byte
	keyed  bool // the request had a key
}

func newEngine(one Engine, o Options) (*engine, error) {
	e := &engine{name: one.name(), client: o.Client, key: one.Key}
	if e.name == "" || len(e.name) > 40 || strings.Trim(strings.ToLower(e.name), "abcdefghijklmnopqrstuvwxyz0123456789_.-") != "" {
		return nil, errors.New("its name must be of letters, digits, dots and dashes")
	}
	if one.URL != "" && one.Kind != SearXNG {
		return nil, fmt.Errorf("only %s has a URL of its own here; one of %s stands in its endpoint", SearXNG, JSON)
	}
	if one.Kind == DuckDuckGo {
		if one.Key != nil {
			return nil, errors.New("it takes no key")
		}
		e.wire, e.longest = duck{}, 499
		return e, nil
	}
	described, err := one.describe()
	if err != nil {
		return nil, err
	}
	if one.Kind == SearXNG || one.Kind == JSON {
		e.client = o.Trusted
	}
	at, err := described.check()
	if err != nil {
		return nil, err
	}
	e.origin, e.longest, e.wire = origin(at), described.longest, described
	e.header, e.form = described.keyHeader()
	switch {
	case e.key != nil && e.header == "":
		return nil, errors.New("no header of its endpoint holds {key}, so its key would not be sent")
	case e.key == nil && one.Kind == SearXNG: // the header is there for those who need it
		e.header = ""
	case e.key == nil && e.header != "":
		return nil, errors.New("it needs a key")
	}
	return e, nil
}

// ask asks the engine, within its time.
func (e *engine) ask(ctx context.Context, q web.Query) (web.Hits, *failure) {
	if e.longest > 0 && utf8.RuneCountInString(q.Text) > e.longest {
		return web.Hits{}, failed(tool.Invalid, 0, "takes at most %d characters", e.longest)
	}
	r, unheeded, err := e.wire.request(q)
	if err != nil {
		return web.Hits{}, failed(tool.Invalid, 0, "cannot be asked for this")
	}
	if r.Secret, err = e.secret(); err != nil {
		return web.Hits{}, &failure{kind: tool.Unavailable, what: "has no key that can be used; the operator has to see to it", left: keyRest, cause: err}
	}
	r.MaxBytes, r.Timeout = mostBody, longest
	ctx, cancel := context.WithTimeout(ctx, longest)
	defer cancel()
	a, why := send(ctx, e.client, r)
	if why != nil {
		return web.Hits{}, why
	}
	found, why := e.wire.read(a)
	if why != nil {
		return web.Hits{}, why
	}
	hits := web.Hits{Provider: e.name, Hits: tidy(found, q.Count)}
	if len(found) > 0 && len(hits.Hits) == 0 {
		return web.Hits{}, unreadable("none of its results leads to a page")
	}
	if len(unheeded) > 0 {
		hits.Notes = []string{fmt.Sprintf("%s cannot filter by %s: the results are of any", e.name, strings.Join(unheeded, " or "))}
	}
	return hits, nil
}

// send returns the whole answer.
func send(ctx context.Context, client outbound.Client, r outbound.Request) (answer, *failure) {
	got, err := client.Do(ctx, r)
	if err != nil {
		return answer{}, unsent(err)
	}
	defer got.Body.Close()
	body, err := io.ReadAll(io.LimitReader(got.Body, mostBody+1))
	if err == nil && len(body) > mostBody {
		err = outbound.ErrTooLong
	}
	if err != nil && got.Status == http.StatusOK { // a failure says enough by its status
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		return answer{}, unsent(err)
	}
	return answer{got.Status, got.Header, body, r.Secret != nil}, nil
}

// secret is the key as it is sent, or nil.
func (e *engine) secret() (outbound.Secret, error) {
	if e.key == nil {
		return nil, nil
	}
	key, err := e.key()
	if err != nil {
		return nil, err
	}
	key = strings.TrimSpace(key)
	if key == "" || strings.ContainsFunc(key, unicode.IsControl) {
		return nil, errors.New("the key is empty, or no text of one line")
	}
	return bound{e.origin, e.header, strings.ReplaceAll(e.form, "{key}", key)}, nil
}

// bound is a key for one origin.
type bound struct{ origin, header, value string }

// Attach adds the key to requests to the engine itself.
func (b bound) Attach(_ context.Context, r *http.Request) (bool, error) {
	if origin(r.URL) != b.origin {
		return false, nil
	}
	r.Header.Set(b.header, b.value)
	return true, nil
}

// String keeps the key out of logs.
func (b bound) String() string { return "a key for " + b.origin }

// GoString keeps it out of %#v as well.
func (b bound) GoString() string { return b.String() }

func origin(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[strings.ToLower(u.Scheme)]
	}
	return strings.ToLower(u.Scheme + "://" + u.Hostname() + ":" + port)
}
