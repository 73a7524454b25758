package egress

import (
	"context"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/outbound"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

const (
	maxRobots     = 500 << 10 // bytes of a robots.txt that are read
	maxOrigins    = 128       // whose robots.txt is kept
	maxKeptRobots = 64 << 10  // bytes of one that is kept
	robotsTime    = 10 * time.Second
	robotsAge     = time.Hour
	robotsRetry   = time.Minute // after an answer that it cannot be had
)

// robots are what origins want robots to leave alone, as far as it is known.
type robots struct {
	mu      sync.Mutex
	origins map[string]*wishes
}

// wishes are those of one origin.
type wishes struct {
	lock  chan struct{} // held by who reads or fetches them
	until time.Time     // they hold; zero: they are not known
	rules robotRules
}

func newRobots() *robots { return &robots{origins: map[string]*wishes{}} }

// allow says whether the robots.txt of an origin lets a link be asked.
func (r *robots) allow(ctx context.Context, c *Client, at link) error {
	if at.url.Path == "/robots.txt" {
		return nil
	}
	w := r.of(at.origin())
	select {
	case w.lock <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-w.lock }()
	rules := w.rules
	if !time.Now().Before(w.until) {
		var age time.Duration
		var err error
		if rules, age, err = fetchRobots(ctx, c, at); err != nil {
			return err
		}
		if rules.size <= maxKeptRobots {
			w.rules, w.until = rules, time.Now().Add(age)
		}
	}
	if !rules.allow(at.url.RequestURI()) {
		return tool.Errorf(tool.Refused, "the robots.txt of %q does not want %q to be fetched by programs", at.site(), short(at.url.EscapedPath())).
			Try("ask another site, or have a person open the page")
	}
	return nil
}

// of returns the wishes of an origin, known or not.
func (r *robots) of(origin string) *wishes {
	r.mu.Lock()
	defer r.mu.Unlock()
	if w := r.origins[origin]; w != nil {
		return w
	}
	for other := range r.origins { // whoever has one goes on with it
		if len(r.origins) < maxOrigins {
			break
		}
		delete(r.origins, other)
	}
	w := &wishes{lock: make(chan struct{}, 1)}
	r.origins[origin] = w
	return w
}

// fetchRobots asks an origin for its robots.txt. One that is not there allows
// everything, one that cannot be had nothing: RFC 9309, 2.3.1.
func fetchRobots(ctx context.Context, c *Client, at link) (rules robotRules, age time.Duration, err error) {
	answer, err := c.Do(ctx, outbound.Request{URL: at.url.Scheme + "://" + at.url.Host + "/robots.txt", Redirects: 5, MaxBytes: maxRobots, Timeout: robotsTime})
	if err != nil {
		return rules, 0, robotsUnread(at, err)
	}
	defer answer.Body.Close()
	switch {
	case answer.Status >= http.StatusInternalServerError:
		return robotRules{none: true}, robotsRetry, nil
	case answer.Status >= http.StatusMultipleChoices:
		return rules, robotsAge, nil
	}
	text, err := io.ReadAll(answer.Body)
	if err != nil && len(text) < maxRobots {
		return rules, 0, robotsUnread(at, err)
	}
	return readRobots(string(text)), robotsAge, nil
}

// robotsUnread says that it is robots.txt that could not be had.
func robotsUnread(at link, err error) error {
	e := tool.AsError(err)
	out := tool.Errorf(e.Kind, "the robots.txt of %q cannot be read: %s", at.site(), e.What).Because(err)
	out.Next = e.Next
	return out
}
