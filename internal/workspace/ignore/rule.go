package ignore

import (
	"errors"
	"strings"
)

// Errors of invalid patterns.
var (
	errEmpty = errors.New("it is empty")
	errClass = errors.New("a [ has no closing ], or its class is unknown")
	errSlash = errors.New("it ends with a single \\")
	errSteps = errors.New("it has an empty step, as in a//b")
)

// A dialect selects how a pattern is matched. The zero dialect is git's.
type dialect struct {
	runes bool // ? and [...] match a character, not a byte
	fold  bool // names are folded, so the pattern must be, too
}

// A rule is one pattern of a list.
type rule struct {
	position int       // in the list, from 1
	keep     bool      // it began with "!"
	dirs     bool      // it matches directories only
	head     []segment // matches the directory of the name; a segment may match any number of steps
	last     segment   // matches the name
}

// parseRule parses a pattern in the syntax of ignore files.
func parseRule(pattern string, d dialect) (rule, error) {
	var r rule
	pattern, r.keep = strings.CutPrefix(pattern, "!")
	pattern, r.dirs = strings.CutSuffix(pattern, "/")
	rooted := strings.Contains(pattern, "/")
	err := r.parse(strings.TrimPrefix(pattern, "/"), rooted, d)
	return r, err
}

// parse parses the steps of a pattern. A pattern that is not rooted matches names in
// any directory.
func (r *rule) parse(pattern string, rooted bool, d dialect) error {
	if pattern == "" {
		return errEmpty
	}
	steps, err := steps(pattern)
	if err != nil {
		return err
	}
	if !rooted {
		r.head = append(r.head, segment{kind: anyDirs})
	}
	for i, step := range steps {
		seg, err := parseSegment(step, d)
		if err != nil {
			return err
		}
		if len(step) > 1 && strings.Trim(step, "*") == "" && seg.kind == every {
			r.addDirs()
			if i < len(steps)-1 {
				continue
			}
		}
		if i == len(steps)-1 {
			r.last = seg
		} else {
			r.head = append(r.head, seg)
		}
	}
	return nil
}

func (r *rule) addDirs() {
	if n := len(r.head); n == 0 || r.head[n-1].kind != anyDirs {
		r.head = append(r.head, segment{kind: anyDirs})
	}
}

// steps splits a pattern at its slashes, including escaped ones, but not at those in
// a class.
func steps(pattern string) ([]string, error) {
	var all []string
	from := 0
	cut := func(end, next int) error {
		if end == from {
			return errSteps
		}
		all = append(all, pattern[from:end])
		from = next
		return nil
	}
	for i := 0; i < len(pattern); i++ {
		var err error
		switch pattern[i] {
		case '/':
			err = cut(i, i+1)
		case '\\':
			if i++; i == len(pattern) {
				err = errSlash
			} else if pattern[i] == '/' {
				err = cut(i-1, i+1)
			}
		case '[':
			var size int
			_, size, err = parseClass(pattern[i:], dialect{})
			i += size - 1
		}
		if err != nil {
			return nil, err
		}
	}
	return all, cut(len(pattern), len(pattern))
}

// anywhere reports whether the rule applies in every directory.
func (r *rule) anywhere() bool { return len(r.head) == 1 && r.head[0].kind == anyDirs }

// literalHead returns the only directory in which the rule applies, if it has no
// wildcards.
func (r *rule) literalHead() (string, bool) {
	var dir strings.Builder
	for i, seg := range r.head {
		if seg.kind != exact {
			return "", false
		}
		if i > 0 {
			dir.WriteByte('/')
		}
		dir.WriteString(seg.text)
	}
	return dir.String(), true
}

// slow reports whether the rule cannot be indexed.
func (r *rule) slow() bool {
	if r.last.kind == general {
		return true
	}
	_, literal := r.literalHead()
	return !literal && !r.anywhere()
}

// within reports whether the rule applies to the names in dir; "" is the directory
// of the list.
func (r *rule) within(dir string) bool {
	star, retry := -1, ""
	for i := 0; ; {
		if i < len(r.head) && r.head[i].kind == anyDirs {
			star, retry = i, dir
			i++
			continue
		}
		if dir == "" {
			return i == len(r.head)
		}
		step, rest, _ := strings.Cut(dir, "/")
		if i < len(r.head) && r.head[i].match(step) {
			i, dir = i+1, rest
			continue
		}
		if star < 0 {
			return false
		}
		// Let ** match one more step.
		_, retry, _ = strings.Cut(retry, "/")
		i, dir = star+1, retry
	}
}

// mayContain reports whether the rule may match names at any depth below dir.
func (r *rule) mayContain(dir string) bool {
	for i := 0; dir != ""; i++ {
		var step string
		if i < len(r.head) && r.head[i].kind == anyDirs {
			return true
		}
		step, dir, _ = strings.Cut(dir, "/")
		if i >= len(r.head) || !r.head[i].match(step) {
			return false
		}
	}
	return true
}
