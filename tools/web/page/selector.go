package page

import (
	"context"
	"slices"
	"strings"

	"github.com/PuerkitoBio/goquery"
	"github.com/andybalholm/cascadia"
	"golang.org/x/net/html"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// A selector is a CSS selector that finds what it matches in time linear in the
// size of the page. What goquery searches with goes back and forth for each
// element, and a page can be built so that it never ends; here it only judges
// one element at a time.
type selector struct {
	groups [][]step
}

// step is one compound of a selector, and how it stands to the one before it.
type step struct {
	match cascadia.Sel
	join  byte // space, >, + or ~; 0 for the first
}

const (
	maxSelector = 500
	maxSteps    = 16
)

// parseSelector reads a selector; "" is none.
func parseSelector(text string) (*selector, error) {
	text = strings.TrimSpace(text)
	if text == "" {
		return nil, nil
	}
	wrong := tool.Errorf(tool.Invalid, "%q is no CSS selector that is understood here", cutText(text, 100)).
		Try("use tags, #id, .class, [attribute=value], :first-child, :last-child and :not() with blanks, >, + or ~ between them")
	if len(text) > maxSelector {
		return nil, wrong
	}
	var s selector
	var steps []step
	for part, join := range compounds(text) {
		if join == ',' {
			if len(steps) == 0 {
				return nil, wrong
			}
			s.groups, steps, join = append(s.groups, steps), nil, 0
		}
		match, err := cascadia.Parse(part)
		if err != nil || len(steps) == maxSteps || costly(part) {
			return nil, wrong
		}
		steps = append(steps, step{match, join})
	}
	if len(steps) == 0 || len(s.groups) > maxSteps {
		return nil, wrong
	}
	s.groups = append(s.groups, steps)
	return &s, nil
}

// costly reports whether a compound looks at more than the element, its
// attributes and its nearest neighbours.
func costly(part string) bool {
	for _, pseudo := range []string{":has", ":contains", ":matches", ":haschild", ":nth", ":only", "-of-type", ":input", ":lang", ":empty"} {
		if strings.Contains(strings.ToLower(part), pseudo) {
			return true
		}
	}
	return strings.Count(part, ":not") > 2 || strings.Contains(part, "#=") ||
		strings.Contains(part, ":not(") && strings.ContainsAny(part, " >+\t\n")
}

// compounds yields the compounds of a selector with what joins each to the one
// before; a comma begins another selector.
func compounds(text string) func(yield func(string, byte) bool) {
	return func(yield func(string, byte) bool) {
		join, from, depth := byte(0), 0, 0
		quote := byte(0)
		emit := func(to int) bool {
			if from == to {
				return true
			}
			ok := yield(text[from:to], join)
			join = ' '
			return ok
		}
		for i := 0; i < len(text); i++ {
			c := text[i]
			switch {
			case c == '\\':
				i++
			case quote != 0:
				if c == quote {
					quote = 0
				}
			case c == '"' || c == '\'':
				quote = c
			case c == '[' || c == '(':
				depth++
			case c == ']' || c == ')':
				depth--
			case depth == 0 && (blankByte(c) || strings.IndexByte(">+~,", c) >= 0):
				if !emit(i) {
					return
				}
				if from = i + 1; !blankByte(c) {
					join = c
				}
			}
		}
		emit(len(text))
	}
}

// places are the steps of one selector that something matches, as bits.
type places uint32

// find returns what a selector matches, in the order of the page, without what
// is within another match.
func (s *selector) find(ctx context.Context, root *html.Node) ([]*html.Node, error) {
	f := &finder{selector: s, ctx: ctx}
	return goquery.NewDocumentFromNode(root).FindMatcher(f).Nodes, f.err
}

// finder is one search. It is a [goquery.Matcher].
type finder struct {
	*selector
	ctx     context.Context
	found   []*html.Node
	visited int
	err     error
}

// MatchAll returns what is matched of an element and what is in it.
func (f *finder) MatchAll(n *html.Node) []*html.Node {
	none := make([]places, len(f.groups))
	f.found = nil
	f.siblings(n, n.NextSibling, none, none)
	return f.found
}

// Match reports whether an element is matched, whatever it is in.
func (f *finder) Match(n *html.Node) bool { return slices.Contains(f.MatchAll(n), n) }

// Filter returns those of some elements that are matched.
func (f *finder) Filter(all []*html.Node) []*html.Node {
	return slices.DeleteFunc(slices.Clone(all), func(n *html.Node) bool { return !f.Match(n) })
}

// siblings looks at elements that follow each other, up to an end. above is what
// the elements around them match, parent what the nearest of these does.
func (f *finder) siblings(first, end *html.Node, above, parent []places) {
	before := make([]places, len(f.groups)) // what any sibling before matches
	last := make([]places, len(f.groups))   // what the one right before matches
	own := make([]places, len(f.groups))
	around := make([]places, len(f.groups))
	for c := first; c != end && f.err == nil; c = c.NextSibling {
		if c.Type != html.ElementNode {
			continue
		}
		if f.visited++; f.visited%256 == 0 {
			f.err = f.ctx.Err()
		}
		hit := false
		for g, steps := range f.groups {
			own[g] = 0
			for i, step := range steps {
				var prior places
				switch step.join {
				case ' ':
					prior = above[g]
				case '>':
					prior = parent[g]
				case '+':
					prior = last[g]
				case '~':
					prior = before[g]
				}
				if (i == 0 || prior&(1<<(i-1)) != 0) && step.match.Match(c) {
					own[g] |= 1 << i
					hit = hit || i == len(steps)-1
				}
			}
			before[g] |= own[g]
			around[g] = above[g] | own[g]
		}
		copy(last, own)
		if hit {
			f.found = append(f.found, c)
		} else if c.FirstChild != nil {
			f.siblings(c.FirstChild, nil, slices.Clone(around), slices.Clone(own))
		}
	}
}
