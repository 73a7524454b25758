package egress

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/outbound"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

const (
	maxRobots      = 500 << 10 // bytes of a robots.txt that are read
	maxRobotsCache = 4 << 20   // bytes of the rules of all origins
	maxRobotRules  = 4096
	robotsTimeout  = 10 * time.Second
	robotsAge      = time.Hour
	robotsRetry    = time.Minute // after a server error
	robotName      = "mcp-tools" // our name in a robots.txt
)

// robotRules are the rules of a robots.txt that apply to us. The zero robotRules allow
// everything.
type robotRules struct {
	rules   []robotRule
	expires time.Time
}

type robotRule struct {
	path  string // may contain * and $
	allow bool
}

// checkRobots returns an error if the robots.txt of an origin disallows a link.
func (c *Client) checkRobots(ctx context.Context, at link) error {
	if at.url.Path == "/robots.txt" {
		return nil
	}
	rules, ok := c.robots.Get(at.origin())
	if !ok || time.Now().After(rules.expires) {
		var err error
		if rules, err = c.fetchRobots(ctx, at); err != nil {
			return within(err, fmt.Sprintf("the robots.txt of %q cannot be read", at.site()))
		}
		c.robots.Put(at.origin(), rules)
	}
	if !rules.allow(at.url.RequestURI()) {
		return tool.Errorf(tool.Refused, "the robots.txt of %q disallows %q for programs", at.site(),
			short(at.url.EscapedPath())).
			Try("use another site, or ask the user to open the page")
	}
	return nil
}

// fetchRobots fetches the robots.txt of an origin. Without one everything is allowed; if
// the server fails, nothing is: RFC 9309, 2.3.1.
func (c *Client) fetchRobots(ctx context.Context, at link) (robotRules, error) {
	answer, err := c.Do(ctx, outbound.Request{URL: at.url.Scheme + "://" + at.url.Host + "/robots.txt", Redirects: 5,
		MaxBytes: maxRobots, Timeout: robotsTimeout})
	if err != nil {
		return robotRules{}, err
	}
	defer answer.Body.Close()
	switch {
	case answer.Status >= http.StatusInternalServerError:
		return robotRules{[]robotRule{{"/", false}}, time.Now().Add(robotsRetry)}, nil
	case answer.Status >= http.StatusMultipleChoices:
		return robotRules{expires: time.Now().Add(robotsAge)}, nil
	}
	text, err := io.ReadAll(answer.Body)
	if err != nil && len(text) < maxRobots {
		return robotRules{}, err
	}
	return robotRules{parseRobots(string(text)), time.Now().Add(robotsAge)}, nil
}

func (r robotRules) size() int64 {
	n := 100
	for _, rule := range r.rules {
		n += 40 + len(rule.path)
	}
	return int64(n)
}

// allow reports whether a path with its query may be requested. The longest rule that
// matches decides; of two with the same length, the one that allows.
func (r robotRules) allow(path string) bool {
	path = unescape(path)
	longest, allowed := -1, true
	for _, rule := range r.rules {
		n := len(rule.path)
		if (n > longest || n == longest && rule.allow) && matchesRule(rule.path, path) {
			longest, allowed = n, rule.allow
		}
	}
	return allowed
}

// matchesRule takes time in proportion to the path: it searches for each part between
// stars once, at its first occurrence.
func matchesRule(rule, path string) bool {
	rule, whole := strings.CutSuffix(rule, "$")
	parts := strings.Split(rule, "*")
	path, ok := strings.CutPrefix(path, parts[0])
	for i, part := range parts[1:] {
		if whole && i == len(parts)-2 {
			return ok && strings.HasSuffix(path, part)
		}
		_, rest, found := strings.Cut(path, part)
		path, ok = rest, ok && found
	}
	return ok && (!whole || path == "")
}

// parseRobots returns the rules of the groups for us, or else of the groups for all.
func parseRobots(text string) []robotRule {
	groups := map[string][]robotRule{} // rules by user agent, in lower case
	var agents []string                // of the current group
	inRules := false
	for line := range strings.FieldsFuncSeq(strings.TrimPrefix(text, "\ufeff"),
		func(r rune) bool { return r == '\n' || r == '\r' }) {
		line, _, _ = strings.Cut(line, "#")
		key, value, _ := strings.Cut(line, ":")
		key, value = strings.ToLower(strings.TrimSpace(key)), strings.TrimSpace(value)
		switch key {
		case "user-agent":
			if inRules {
				agents, inRules = nil, false
			}
			name, _, _ := strings.Cut(strings.ToLower(value), "/")
			if name != "*" && name != robotName {
				continue
			}
			agents = append(agents, name)
			groups[name] = append(groups[name], robotRule{"", true}) // a group without rules allows everything
		case "allow", "disallow":
			inRules = true
			for _, name := range agents {
				if value != "" && len(groups[name]) < maxRobotRules {
					value = "/" + strings.TrimPrefix(value, "/")
					groups[name] = append(groups[name], robotRule{unescape(value), key == "allow"})
				}
			}
		}
	}
	rules, ok := groups[robotName]
	if !ok {
		rules = groups["*"]
	}
	return rules
}

// unescape returns a path without percent signs, so that rules and paths can be compared.
func unescape(path string) string {
	if plain, err := url.PathUnescape(path); err == nil {
		return plain
	}
	return path
}
