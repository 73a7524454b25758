package egress

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/outbound"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

const (
	maxRobots     = 500 << 10 // bytes of a robots.txt that are read
	maxOrigins    = 128       // with a cached robots.txt
	maxKeptRobots = 64 << 10  // bytes of rules that are cached
	robotsTimeout = 10 * time.Second
	robotsAge     = time.Hour
	robotsRetry   = time.Minute // after a server error
)

// robotsCache caches the robots.txt of origins.
type robotsCache struct {
	mu      sync.Mutex
	origins map[string]*robotsEntry
}

// robotsEntry is the robots.txt of one origin.
type robotsEntry struct {
	lock    chan struct{} // held while the rules are read or fetched
	expires time.Time     // zero: not fetched yet
	rules   robotRules
}

func newRobotsCache() *robotsCache { return &robotsCache{origins: map[string]*robotsEntry{}} }

// allow returns an error if the robots.txt of an origin disallows a link.
func (r *robotsCache) allow(ctx context.Context, c *Client, at link) error {
	if at.url.Path == "/robots.txt" {
		return nil
	}
	w := r.entry(at.origin())
	select {
	case w.lock <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-w.lock }()
	rules := w.rules
	if !time.Now().Before(w.expires) {
		var age time.Duration
		var err error
		if rules, age, err = fetchRobots(ctx, c, at); err != nil {
			return err
		}
		if rules.size <= maxKeptRobots {
			w.rules, w.expires = rules, time.Now().Add(age)
		}
	}
	if !rules.allow(at.url.RequestURI()) {
		return tool.Errorf(tool.Refused, "the robots.txt of %q disallows %q for programs", at.site(),
			short(at.url.EscapedPath())).
			Try("use another site, or ask the user to open the page")
	}
	return nil
}

// entry returns the entry of an origin, and creates it if necessary.
func (r *robotsCache) entry(origin string) *robotsEntry {
	r.mu.Lock()
	defer r.mu.Unlock()
	if w := r.origins[origin]; w != nil {
		return w
	}
	for other := range r.origins { // requests that use an evicted entry are not affected
		if len(r.origins) < maxOrigins {
			break
		}
		delete(r.origins, other)
	}
	w := &robotsEntry{lock: make(chan struct{}, 1)}
	r.origins[origin] = w
	return w
}

// fetchRobots fetches the robots.txt of an origin. Without one everything is allowed; if
// the server fails, nothing is: RFC 9309, 2.3.1.
func fetchRobots(ctx context.Context, c *Client, at link) (rules robotRules, age time.Duration, err error) {
	answer, err := c.Do(ctx, outbound.Request{URL: at.url.Scheme + "://" + at.url.Host + "/robots.txt", Redirects: 5,
		MaxBytes: maxRobots, Timeout: robotsTimeout})
	if err != nil {
		return rules, 0, robotsError(at, err)
	}
	defer answer.Body.Close()
	switch {
	case answer.Status >= http.StatusInternalServerError:
		return robotRules{denyAll: true}, robotsRetry, nil
	case answer.Status >= http.StatusMultipleChoices:
		return rules, robotsAge, nil
	}
	text, err := io.ReadAll(answer.Body)
	if err != nil && len(text) < maxRobots {
		return rules, 0, robotsError(at, err)
	}
	return parseRobots(string(text)), robotsAge, nil
}

// robotsError adds to an error that it is about robots.txt.
func robotsError(at link, err error) error {
	return within(err, fmt.Sprintf("the robots.txt of %q cannot be read", at.site()))
}

const (
	robotName     = "mcp-tools" // our name in a robots.txt
	maxRobotRules = 4096
	maxRobotRule  = 2 << 10
)

// robotRules are the rules of a robots.txt that apply to us. The zero robotRules allow
// everything.
type robotRules struct {
	denyAll bool // disallows everything
	rules   []robotRule
	size    int
}

type robotRule struct {
	path  string // may contain * and $
	allow bool
}

// allow reports whether a path with its query may be requested. The longest rule that
// matches decides; of two with the same length, the one that allows.
func (r robotRules) allow(path string) bool {
	if r.denyAll {
		return false
	}
	path = normalizePath(path)
	longest, allowed := -1, true
	for _, rule := range r.rules {
		n := len(rule.path)
		if n < longest || n == longest && (allowed || !rule.allow) || !matchesRule(rule.path, path) {
			continue
		}
		longest, allowed = n, rule.allow
	}
	return allowed
}

// matchesRule takes time in proportion to the path: it searches for each part between
// stars once, at its first occurrence.
func matchesRule(rule, path string) bool {
	rule, whole := strings.CutSuffix(rule, "$")
	first, rest, stars := strings.Cut(rule, "*")
	path, ok := strings.CutPrefix(path, first)
	if !ok || !stars {
		return ok && (!whole || path == "")
	}
	for {
		part, more, again := strings.Cut(rest, "*")
		if !again && whole {
			return strings.HasSuffix(path, part)
		}
		i := strings.Index(path, part)
		if i < 0 {
			return false
		}
		if !again {
			return true
		}
		path, rest = path[i+len(part):], more
	}
}

// parseRobots returns the rules of the groups for us, or else of the groups for all.
func parseRobots(text string) robotRules {
	var ours, everybodys robotRules
	named, heading := false, false // named: a group is for us; heading: the last line was a user-agent
	var us, all bool               // the current group is for us, for all
	for line := range strings.FieldsFuncSeq(strings.TrimPrefix(text, "\ufeff"),
		func(r rune) bool { return r == '\n' || r == '\r' }) {
		line, _, _ = strings.Cut(line, "#")
		key, value, ok := strings.Cut(line, ":")
		if !ok {
			continue
		}
		key, value = strings.ToLower(strings.TrimSpace(key)), strings.TrimSpace(value)
		switch key {
		case "user-agent":
			if !heading {
				us, all = false, false
			}
			heading = true
			us, all = us || strings.EqualFold(productToken(value), robotName), all || strings.HasPrefix(value, "*")
			named = named || us
		case "allow", "disallow":
			heading = false
			if us {
				ours.add(value, key == "allow")
			}
			if all {
				everybodys.add(value, key == "allow")
			}
		}
	}
	if named {
		return ours
	}
	return everybodys
}

func (r *robotRules) add(path string, allow bool) {
	if path == "" || len(path) > maxRobotRule || len(r.rules) >= maxRobotRules {
		return
	}
	if path[0] != '/' && path[0] != '*' {
		path = "/" + path
	}
	rule := robotRule{normalizePath(path), allow}
	r.rules = append(r.rules, rule)
	r.size += len(rule.path)
}

// productToken returns the product name at the beginning of a user-agent line.
func productToken(value string) string {
	i := strings.IndexFunc(value, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r == '-' || r == '_')
	})
	if i >= 0 {
		return value[:i]
	}
	return value
}

// normalizePath escapes each character in one way, so that rules and paths can be
// compared.
func normalizePath(path string) string {
	const hex = "0123456789ABCDEF"
	var out strings.Builder
	for i := 0; i < len(path); i++ {
		b := path[i]
		coded := b == '%' && i+2 < len(path) && hexDigit(path[i+1]) >= 0 && hexDigit(path[i+2]) >= 0
		if coded {
			b = byte(hexDigit(path[i+1])<<4 | hexDigit(path[i+2]))
			i += 2
		}
		plain := b >= '0' && b <= '9' || b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' ||
			strings.IndexByte("-._~", b) >= 0
		if plain || !coded && b > ' ' && b < 0x7f {
			out.WriteByte(b)
		} else {
			out.Write([]byte{'%', hex[b>>4], hex[b&15]})
		}
	}
	return out.String()
}

func hexDigit(b byte) int {
	switch {
	case b >= '0' && b <= '9':
		return int(b - '0')
	case b|0x20 >= 'a' && b|0x20 <= 'f':
		return int(b|0x20-'a') + 10
	}
	return -1
}
