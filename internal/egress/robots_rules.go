package egress

import (
	"strings"
)

const (
	robotName     = "mcp-tools" // who we are in a robots.txt
	maxRobotRules = 4096
	maxRobotRule  = 2 << 10
)

// robotRules are what a robots.txt has for us. The zero robotRules allow
// everything.
type robotRules struct {
	none bool // nothing is allowed
	all  []robotRule
	size int
}

type robotRule struct {
	path  string // with * and $
	allow bool
}

// allow says whether the rules let a path, with its query, be asked: the longest
// rule that matches says so, and of two as long the one that allows.
func (r robotRules) allow(path string) bool {
	if r.none {
		return false
	}
	path = normalPath(path)
	longest, allowed := -1, true
	for _, rule := range r.all {
		n := len(rule.path)
		if n < longest || n == longest && (allowed || !rule.allow) || !matchesPath(rule.path, path) {
			continue
		}
		longest, allowed = n, rule.allow
	}
	return allowed
}

// matchesPath takes time in proportion to the path: each part between stars is
// looked for once, where it comes first.
func matchesPath(rule, path string) bool {
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

// readRobots reads the groups for us, or else those for everybody.
func readRobots(text string) robotRules {
	var ours, everybodys robotRules
	named, heading := false, false // ours are named somewhere; the line before named somebody
	var us, all bool               // whom the group is for
	for line := range strings.FieldsFuncSeq(strings.TrimPrefix(text, "\ufeff"), func(r rune) bool { return r == '\n' || r == '\r' }) {
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
			us, all = us || strings.EqualFold(product(value), robotName), all || strings.HasPrefix(value, "*")
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
	if path == "" || len(path) > maxRobotRule || len(r.all) >= maxRobotRules {
		return
	}
	if path[0] != '/' && path[0] != '*' {
		path = "/" + path
	}
	rule := robotRule{normalPath(path), allow}
	r.all = append(r.all, rule)
	r.size += len(rule.path)
}

// product is the name that a line for a robot begins with.
func product(value string) string {
	i := strings.IndexFunc(value, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r == '-' || r == '_')
	})
	if i >= 0 {
		return value[:i]
	}
	return value
}

// normalPath writes each character in one way, so that rules and paths compare:
// with a percent sign what needs one, and without what does not.
func normalPath(path string) string {
	const hex = "0123456789ABCDEF"
	var out strings.Builder
	for i := 0; i < len(path); i++ {
		b := path[i]
		coded := b == '%' && i+2 < len(path) && fromHex(path[i+1]) >= 0 && fromHex(path[i+2]) >= 0
		if coded {
			b = byte(fromHex(path[i+1])<<4 | fromHex(path[i+2]))
			i += 2
		}
		plain := b >= '0' && b <= '9' || b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || strings.IndexByte("-._~", b) >= 0
		if plain || !coded && b > ' ' && b < 0x7f {
			out.WriteByte(b)
		} else {
			out.Write([]byte{'%', hex[b>>4], hex[b&15]})
		}
	}
	return out.String()
}

func fromHex(b byte) int {
	switch {
	case b >= '0' && b <= '9':
		return int(b - '0')
	case b|0x20 >= 'a' && b|0x20 <= 'f':
		return int(b|0x20-'a') + 10
	}
	return -1
}
