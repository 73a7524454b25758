package page

import "strings"

const (
	maxCustom     = 2_000 // properties that a page gives names of its own
	maxCustomText = 100   // bytes of what one stands for
	maxVars       = 4     // in one value
)

// differs is what a custom property stands for that is not the same everywhere.
const differs = "\x00"

// pageWide are the selectors whose custom properties hold for the whole page.
var pageWide = setOf(":root html body :host")

// define notes the custom properties of a rule, and of those within it. Of one
// that has another value elsewhere it cannot be said what it stands for.
func (s *sheet) define(head, body string) {
	everywhere := !strings.Contains(body, "{")
	for one := range strings.SplitSeq(head, ",") {
		everywhere = everywhere && pageWide[strings.ToLower(strings.TrimSpace(one))]
	}
	s.note(body, everywhere)
}

// doubt notes custom properties that may hold at another time.
func (s *sheet) doubt(body string) {
	if strings.Contains(body, "--") {
		s.note(body, false)
	}
}

func (s *sheet) note(body string, everywhere bool) {
	for name, value := range customs(body) {
		known, ok := s.custom[name]
		switch {
		case !ok && len(s.custom) >= maxCustom:
			s.guesses = false
			return
		case ok && known == value:
		case !everywhere || ok:
			value = differs
		}
		s.custom[name] = value
	}
}

// customs are the custom properties that the inside of a rule or a style
// attribute sets.
func customs(text string) map[string]string {
	var all map[string]string
	for part := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == ';' || r == '{' || r == '}' }) {
		name, value, ok := strings.Cut(part, ":")
		if name = strings.ToLower(strings.TrimSpace(name)); !ok || !strings.HasPrefix(name, "--") {
			continue
		}
		value, _, _ = strings.Cut(strings.ToLower(value), "!")
		if value = strings.TrimSpace(value); len(value) > maxCustomText || strings.Contains(value, "var(") {
			value = differs
		}
		if all == nil {
			all = map[string]string{}
		}
		all[name] = value
	}
	return all
}

// A scope is the custom properties that style attributes set, of an element and
// of those that it is in.
type scope struct {
	says  map[string]string
	outer *scope
}

// inside is the scope of an element with a style in another.
func (s *scope) inside(style string) *scope {
	if !strings.Contains(style, "--") {
		return s
	}
	if strings.Contains(style, "/*") {
		style = withoutComments(style)
	}
	if says := customs(style); says != nil {
		return &scope{says, s}
	}
	return s
}

// resolve puts in what the variables of a value stand for, where that is certain.
// Otherwise the value stays as it is, which no property understands.
func (s *sheet) resolve(value string, own, outer *scope, checks *int) string {
	out := value
	for range maxVars {
		before, rest, found := strings.Cut(out, "var(")
		if !found {
			return out
		}
		inside, behind, closed := strings.Cut(rest, ")")
		name, instead, has := strings.Cut(inside, ",")
		said, known := s.lookUp(strings.TrimSpace(name), own, outer, checks)
		switch {
		case !closed || strings.Contains(inside, "(") || said == differs:
			return value
		case !known && has && s.guesses:
			said = strings.TrimSpace(instead)
		case !known:
			return value
		}
		out = before + said + behind
	}
	return value
}

// lookUp says what a custom property stands for. What the element itself says of
// it counts; what it hands down may be said otherwise by a rule in between.
func (s *sheet) lookUp(name string, own, outer *scope, checks *int) (value string, known bool) {
	if own != outer {
		if value, known = own.says[name]; known {
			return value, true
		}
	}
	everywhere, ruled := s.custom[name]
	if everywhere == differs {
		return differs, true
	}
	for at := outer; at != nil && *checks <= maxChecks; at = at.outer {
		*checks++
		if value, known = at.says[name]; known {
			return value, true
		}
	}
	return everywhere, ruled
}
