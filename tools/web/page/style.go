package page

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html"
)

// A declaration is one of those that decide whether text is seen.
type declaration struct {
	property, value string
	important       bool
	varies          bool // there is a variable in the value
}

// deciding are the properties that are looked at.
var deciding = setOf("display visibility opacity font font-size color background background-color background-image background-clip " +
	"-webkit-background-clip overflow overflow-x overflow-y width height max-width max-height position left top right bottom margin-left margin-top " +
	"text-indent padding padding-top padding-bottom clip clip-path transform translate scale content-visibility filter -webkit-text-fill-color zoom " +
	"-webkit-clip-path rotate mask mask-image -webkit-mask -webkit-mask-image z-index inset margin float " +
	"isolation will-change contain mix-blend-mode perspective backdrop-filter container-type " +
	"transform-style -webkit-transform animation animation-name -webkit-animation " +
	"transition transition-property -webkit-transition")

// declarations reads the inside of a rule, or a style attribute.
func declarations(text string) []declaration {
	var all []declaration
	if strings.Contains(text, "/*") {
		text = withoutComments(text)
	}
	for part := range strings.SplitSeq(text, ";") {
		property, value, ok := strings.Cut(part, ":")
		property = strings.ToLower(strings.TrimSpace(property))
		if strings.Contains(property, `\`) {
			property = unescapeCSS(property)
		}
		if !ok || !deciding[property] || len(value) > 400 {
			continue
		}
		value = strings.ToLower(strings.TrimSpace(value))
		if strings.Contains(value, `\`) {
			value = unescapeCSS(value)
		}
		value, _, important := strings.Cut(value, "!")
		all = append(all, declaration{property, strings.TrimSpace(value), important, strings.Contains(value, "var(")})
	}
	return all
}

func withoutComments(text string) string {
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(text, "/*")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		_, text, _ = strings.Cut(rest, "*/")
	}
}

// unescapeCSS resolves the escapes with which a style may spell a word.
func unescapeCSS(text string) string {
	var b strings.Builder
	for text != "" {
		if text[0] != '\\' {
			b.WriteByte(text[0])
			text = text[1:]
			continue
		}
		r, rest := cssEscape(text[1:])
		b.WriteString(r)
		text = rest
	}
	return strings.ToLower(b.String())
}

// cssEscape is what a text behind a backslash stands for.
func cssEscape(text string) (char, rest string) {
	end := 0
	for end < len(text) && end < 6 && strings.IndexByte("0123456789abcdefABCDEF", text[end]) >= 0 {
		end++
	}
	if end == 0 {
		_, size := utf8.DecodeRuneInString(text)
		return text[:size], text[size:]
	}
	code, err := strconv.ParseUint(text[:end], 16, 32)
	if err != nil {
		return "", text[end:]
	}
	rest = text[end:]
	if rest != "" && blankByte(rest[0]) {
		rest = rest[1:]
	}
	return string(rune(code)), rest
}

// A compound is the part of a selector that is about one element.
type compound struct {
	tag, id string
	classes []string
	attrs   []attrTest
	child   bool // of the compound before it, and not just within it
}

// attrTest is a test of one attribute; op is 0 where it only has to be there.
type attrTest struct {
	key, value string
	op         byte // = ~ | ^ $ *
}

// rule is one selector with its declarations.
type rule struct {
	chain  []compound // the last is about the element itself
	says   []declaration
	weight int // specificity, then order
}

// sheet are the rules of a page, by what the element must have.
type sheet struct {
	byID, byClass, byTag map[string][]*rule
	any                  []*rule
	count                int
	custom               map[string]string        // custom properties, and what they stand for
	guesses              bool                     // what is not among them is nowhere
	frames               map[string][]declaration // where animations end, by their names
}

const maxRules = 20_000

func (s *sheet) add(chain []compound, says []declaration) {
	if s.count >= maxRules {
		return
	}
	s.count++
	r := &rule{chain: chain, says: says, weight: s.count}
	for _, c := range chain {
		if c.id != "" {
			r.weight += 1 << 40
		}
		r.weight += (len(c.classes) + len(c.attrs)) << 30
		if c.tag != "" {
			r.weight += 1 << 20
		}
	}
	switch last := chain[len(chain)-1]; {
	case last.id != "":
		s.byID[last.id] = append(s.byID[last.id], r)
	case len(last.classes) > 0:
		s.byClass[last.classes[0]] = append(s.byClass[last.classes[0]], r)
	case last.tag != "":
		s.byTag[last.tag] = append(s.byTag[last.tag], r)
	default:
		s.any = append(s.any, r)
	}
}

// rules are those that hold for an element, the weightiest last. checks counts
// what was compared.
func (s *sheet) rules(n *html.Node, id string, classes []string, checks *int) []*rule {
	if s.count == 0 {
		return nil
	}
	var all []*rule
	try := func(rules []*rule) {
		for _, r := range rules {
			if r.holds(n, checks) {
				all = append(all, r)
				*checks += 4 + len(r.says) // to sort and to apply it
			}
		}
	}
	if id != "" {
		try(s.byID[id])
	}
	for i, class := range classes {
		if !slices.Contains(classes[:i], class) {
			try(s.byClass[class])
		}
		if i == 50 {
			break
		}
	}
	try(s.byTag[n.Data])
	try(s.any)
	slices.SortFunc(all, func(a, b *rule) int { return a.weight - b.weight })
	return all
}

// holds reports whether a rule is about an element. An element without a parent,
// of which nothing else is known, is taken to be where the rule wants it.
func (r *rule) holds(n *html.Node, checks *int) bool {
	last := len(r.chain) - 1
	*checks++
	if !r.chain[last].matches(n) {
		return false
	}
	if n.Parent == nil {
		return true
	}
	child := r.chain[last].child
	for i := last - 1; i >= 0 && *checks <= maxChecks; i-- {
		n = n.Parent
		for *checks++; n != nil && !child && !r.chain[i].matches(n); *checks++ {
			n = n.Parent
		}
		if n == nil || !r.chain[i].matches(n) {
			return false
		}
		child = r.chain[i].child
	}
	return true
}

func (c compound) matches(n *html.Node) bool {
	if n.Type != html.ElementNode || c.tag != "" && c.tag != n.Data || c.id != "" && c.id != attr(n, "id") {
		return false
	}
	if len(c.classes) > 0 {
		have := attr(n, "class")
		for _, class := range c.classes {
			if !hasWord(have, class) {
				return false
			}
		}
	}
	for _, test := range c.attrs {
		if !test.holds(n) {
			return false
		}
	}
	return true
}

func (t attrTest) holds(n *html.Node) bool {
	for _, a := range n.Attr {
		if a.Key != t.key {
			continue
		}
		switch t.op {
		case 0:
			return true
		case '=':
			return a.Val == t.value
		case '~':
			return hasWord(a.Val, t.value)
		case '|':
			return a.Val == t.value || strings.HasPrefix(a.Val, t.value+"-")
		case '^':
			return t.value != "" && strings.HasPrefix(a.Val, t.value)
		case '$':
			return t.value != "" && strings.HasSuffix(a.Val, t.value)
		case '*':
			return t.value != "" && strings.Contains(a.Val, t.value)
		}
	}
	return false
}

// hasWord reports whether a list of words has one.
func hasWord(list, word string) bool {
	for rest := list; word != ""; {
		i := strings.Index(rest, word)
		if i < 0 {
			return false
		}
		end := i + len(word)
		if (i == 0 || blankByte(rest[i-1])) && (end == len(rest) || blankByte(rest[end])) {
			return true
		}
		rest = rest[i+1:]
	}
	return false
}

func blankByte(c byte) bool { return c == ' ' || c == '\n' || c == '\t' || c == '\r' || c == '\f' }

func attr(n *html.Node, key string) string { return valueOf(n.Attr, key) }
