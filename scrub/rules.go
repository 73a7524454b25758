package scrub

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// maxRuleLine is the length of a line that the operator's rules see, in bytes.
const maxRuleLine = 16 << 10

// rules finds the matches of the operator's rules from at on, line by line.
func (p *program) rules(s string, at int) (spans []span) {
	for at < len(s) {
		end := strings.IndexByte(s[at:], '\n')
		if end < 0 {
			end = len(s) - at
		}
		line := s[at : at+min(end, maxRuleLine)]
		lead := (&text{s: line}).skipLineMarks(0)
		for _, r := range p.extra {
			for _, m := range r.re.FindAllStringSubmatchIndex(line, -1) {
				spans = p.matched(spans, r.Name, s, at, m)
			}
			if lead == 0 || !strings.Contains(r.Pattern, "^") {
				continue
			}
			for _, m := range r.re.FindAllStringSubmatchIndex(line[lead:], -1) {
				spans = p.matched(spans, r.Name, s, at+lead, m)
			}
		}
		at += end + 1
	}
	return spans
}

func (p *program) matched(spans []span, kind, s string, at int, m []int) []span {
	from, to := m[0], m[1]
	if len(m) > 2 && m[2] >= 0 {
		from, to = m[2], m[3]
	}
	t := text{s: s}
	from, to = t.wholeEscapes(at+from, at+to)
	if from >= to || hasMask(s[from:to]) || p.allow.has(s[from:to]) {
		return spans
	}
	return append(spans, span{from: from, to: to, kind: kind})
}

// merge merges two lists of spans in order. Spans that overlap become one.
func merge(a, b []span) []span {
	all := slices.Concat(a, b)
	slices.SortStableFunc(all, func(x, y span) int { return cmp.Compare(x.from, y.from) })
	var out []span
	for _, s := range all {
		if n := len(out); n > 0 && s.from < out[n-1].to {
			out[n-1].to = max(out[n-1].to, s.to)
			continue
		}
		out = append(out, s)
	}
	return out
}

// An allow list has the values that only look like secrets.
type allow struct {
	values   map[string]bool
	patterns []*regexp.Regexp
}

func newAllow(entries []string) (allow, error) {
	a := allow{}
	for _, e := range entries {
		pattern, ok := strings.CutPrefix(e, "re:")
		if !ok {
			if a.values == nil {
				a.values = make(map[string]bool)
			}
			a.values[e] = true
			continue
		}
		re, err := regexp.Compile(`\A(?:` + pattern + `)\z`)
		if err != nil {
			return a, fmt.Errorf("allowed value %q: %w", e, err)
		}
		a.patterns = append(a.patterns, re)
	}
	return a, nil
}

func (a allow) has(s string) bool {
	if a.values[s] {
		return true
	}
	for _, re := range a.patterns {
		if re.MatchString(s) {
			return true
		}
	}
	return false
}
