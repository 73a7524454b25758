package browser

import (
	"cmp"
	"errors"
	"net"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

const (
	// maxRefusals is the maximum number of hosts in refusals.
	maxRefusals = 64
	// maxRefusalAge is the maximum age of a refusal that explains why a page failed.
	maxRefusalAge = time.Minute
)

// refusals are the latest errors of the proxy by host and port. Browsers hide the text of
// a proxy's error response.
type refusals struct {
	mu     sync.Mutex
	latest map[string]refusal
}

type refusal struct {
	err error
	at  time.Time
}

// add stores an error of the proxy.
func (r *refusals) add(to string, err error) {
	if tool.AsError(err).Kind == tool.Cancelled { // the browser closed the connection
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.latest == nil || len(r.latest) >= maxRefusals {
		r.latest = make(map[string]refusal)
	}
	r.latest[to] = refusal{err, time.Now()}
}

// lookup returns the latest error for the host and port of a URL; nil if unknown.
func (r *refusals) lookup(address *url.URL) error {
	port := cmp.Or(address.Port(), map[string]string{"http": "80", "https": "443", "ws": "80",
		"wss": "443"}[strings.ToLower(address.Scheme)])
	r.mu.Lock()
	defer r.mu.Unlock()
	last, ok := r.latest[net.JoinHostPort(strings.ToLower(strings.TrimSuffix(address.Hostname(), ".")), port)]
	if !ok || time.Since(last.at) > maxRefusalAge {
		return nil
	}
	return last.err
}

// loadError returns the error for a page that was not loaded: the error of the proxy if there
// is one, else an error for why, the browser's name of the error.
func (r *refusals) loadError(address, why string) error {
	has := func(words ...string) bool {
		return slices.ContainsFunc(words, func(word string) bool { return strings.Contains(why, word) })
	}
	host := address
	if u, err := url.Parse(address); err == nil && u.Host != "" {
		if known := r.lookup(u); known != nil && (why == "" ||
			has("TUNNEL_CONNECTION_FAILED", "HTTP_RESPONSE_CODE_FAILURE")) {
			return known
		}
		host = u.Host
	}
	kind, what, next := tool.Unavailable, "could not be loaded", "check the address, or try again later"
	switch {
	case has("UNSAFE_PORT"):
		kind, what = tool.Refused, "has a port that browsers refuse, because other services use it"
		next = "use port 443 or 80; where the operator allows this host and port, web_fetch reads it"
	case has("HTTP_RESPONSE_CODE_FAILURE"):
		what, next = "returned an error without content", "check the address; web_fetch shows the status"
	case has("TUNNEL_CONNECTION_FAILED", "PROXY", "NAME_NOT_RESOLVED"):
		kind = tool.Refused
		what = "cannot be reached: it does not exist, does not answer, or may not be reached from here"
		next = "check the address; web_fetch reports which"
	case has("CERT", "SSL"):
		what, next = "has no trusted certificate", "check the address"
	case has("TIMED_OUT"):
		kind, what, next = tool.Timeout, "did not answer in time", "try again later"
	case has("TOO_MANY_REDIRECTS"):
		what, next = "redirects too often", "open the target page directly"
	case has("BLOCKED", "ACCESS_DENIED"):
		kind, what = tool.Refused, "may not be opened from the page that led there"
		next = "open it directly if you need it"
	case has("EMPTY_RESPONSE", "CONNECTION_"):
		what = "closed the connection without a response"
		next = "try again, or check whether the site uses https or http"
	}
	return tool.Errorf(kind, "%.200q %s", host, what).Try("%s", next).Because(errors.New(why))
}
