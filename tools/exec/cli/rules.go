package cli

import (
	"fmt"
	"slices"
	"strings"
)

// A rule is a pattern for commands: words that they begin with, and flags that
// are among their arguments. A word has alternatives (pods|po) and wildcards
// (describe-*), and so has the value of a flag (--output|-o=json|yaml).
type rule struct {
	words [][]string
	flags []flagRule
	why   string
}

type flagRule struct {
	names  []string
	values []string // nil: any value
}

// parseRule reads one pattern.
func parseRule(text, why string) (rule, error) {
	r := rule{why: why}
	for part := range strings.FieldsSeq(text) {
		if !strings.HasPrefix(part, "-") {
			if len(r.flags) > 0 {
				return r, fmt.Errorf("%q: write the words of a command before its flags", text)
			}
			r.words = append(r.words, strings.Split(part, "|"))
			continue
		}
		names, values, given := strings.Cut(part, "=")
		f := flagRule{names: strings.Split(names, "|")}
		if given {
			f.values = strings.Split(values, "|")
		}
		r.flags = append(r.flags, f)
	}
	if len(r.words)+len(r.flags) == 0 {
		return r, fmt.Errorf("an empty pattern allows or denies nothing")
	}
	return r, nil
}

// parseRules reads patterns.
func parseRules(patterns []string, why string) []rule {
	var rules []rule
	for _, one := range patterns {
		if r, err := parseRule(one, why); err == nil { // a test reads all that are built in
			rules = append(rules, r)
		}
	}
	return rules
}

// allows reports whether a command certainly begins with the words and has the
// flags.
func (r rule) allows(l line) bool {
	for i, alternatives := range r.words {
		if i >= len(l.words) || !l.words[i].sure || !matches(alternatives, l.words[i].text) {
			return false
		}
	}
	return r.flagged(l, grammar{})
}

// denies reports whether a command may be one that the rule is about. Where a
// word may be the value of a flag, those after it are tried as well.
func (r rule) denies(l line, g grammar) bool {
	return denied(r.words, l.words) && r.flagged(l, g)
}

func denied(words [][]string, given []word) bool {
	if len(words) == 0 {
		return true
	}
	for i, w := range given {
		if matches(words[0], strings.ToLower(w.text)) { // the first that fits leaves the most after it
			return denied(words[1:], given[i+1:])
		}
		if w.sure {
			return false
		}
	}
	return false
}

// flagged reports whether all flags of the rule are there.
func (r rule) flagged(l line, g grammar) bool {
	for _, want := range r.flags {
		if !slices.ContainsFunc(l.flags, func(f flag) bool { return want.matches(f, g) }) {
			return false
		}
	}
	return true
}

// matches reports whether f is the flag, by its name or by the beginning of it. Many programs
// accept such a beginning unless it is the name of another flag.
func (want flagRule) matches(f flag, g grammar) bool {
	named := slices.ContainsFunc(want.names, func(name string) bool {
		short := len(f.name) > 2 && strings.HasPrefix(f.name, "--") && !has(g.values+" "+g.plain+" "+g.others, f.name)
		return f.name == name || short && strings.HasPrefix(name, f.name)
	})
	if !named || want.values == nil {
		return named
	}
	return slices.ContainsFunc(f.values, func(v string) bool { return matches(want.values, strings.ToLower(v)) })
}

func matches(patterns []string, text string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return glob(p, text) })
}

// glob matches text. * stands for anything.
func glob(pattern, text string) bool {
	parts := strings.Split(pattern, "*")
	if len(parts) == 1 {
		return pattern == text
	}
	last := len(parts) - 1
	if !strings.HasPrefix(text, parts[0]) {
		return false
	}
	text = text[len(parts[0]):]
	for _, part := range parts[1:last] {
		i := strings.Index(text, part)
		if i < 0 {
			return false
		}
		text = text[i+len(part):]
	}
	return strings.HasSuffix(text, parts[last])
}

func first(rules []rule, fits func(rule) bool) (rule, bool) {
	i := slices.IndexFunc(rules, fits)
	if i < 0 {
		return rule{}, false
	}
	return rules[i], true
}
