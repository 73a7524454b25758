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

// A selector is a CSS selector that finds its matches in time linear in the size of the page.
// Cascadia walks back and forth for each element and takes forever on a page made for it; so it
// only matches single elements here. Goquery selects elsewhere; it reports neither an invalid
// selector nor the weight of a style rule.
type selector struct {
	groups [][]step // of a list with commas
}

// A step is a compound of a selector, and how it relates to the one before it.
type step struct {
	text     string
	match    cascadia.Sel
	relation byte // space, >, + or ~; 0 for the first
}

const (
	maxSelector = 500 // bytes
	maxSteps    = 16
)

// parseSelector parses a selector; nil for "".
func parseSelector(text string) (*selector, error) {
	text = strings.TrimSpace(text)
	if text == "" {
		return nil, nil
	}
	if len(text) <= maxSelector {
		if groups := parseSteps(text); groups != nil {
			return &selector{groups}, nil
		}
	}
	return nil, tool.Errorf(tool.Invalid, "%q is not a supported CSS selector", cutText(text, 100)).
		Try("use tags, #id, .class, [attribute=value], :first-child, :last-child and :not(), " +
			"combined with blanks, >, + or ~")
}

// parseSteps parses a list of selectors; nil if it is invalid or not supported.
func parseSteps(text string) [][]step {
	var groups [][]step
	var steps []step
	for part, relation := range compounds(text) {
		if relation == ',' {
			if len(steps) == 0 {
				return nil
			}
			groups, steps, relation = append(groups, steps), nil, 0
		}
		match, err := cascadia.Parse(part)
		if err != nil || len(steps) == maxSteps || isCostly(part) {
			return nil
		}
		steps = append(steps, step{part, match, relation})
	}
	if len(steps) == 0 || len(groups) > maxSteps {
		return nil
	}
	return append(groups, steps)
}

// isCostly reports whether matching a compound may look at more than the element,
// its attributes and its nearest siblings.
func isCostly(part string) bool {
	if strings.Contains(part, "#=") { // a regular expression
		return true
	}
	if strings.IndexByte(part, ':') < 0 {
		return false
	}
	part = strings.ToLower(part)
	for _, pseudo := range []string{
		":has", ":contains", ":matches", ":haschild", ":nth", ":only", "-of-type", ":input", ":lang", ":empty",
	} {
		if strings.Contains(part, pseudo) {
			return true
		}
	}
	return strings.Count(part, ":not") > 2 ||
		strings.Contains(part, ":not(") && strings.ContainsAny(part, " >+\t\n")
}

// compounds yields the compounds of a selector, each with its relation to the one
// before it; after a comma the relation is a comma.
func compounds(text string) func(yield func(string, byte) bool) {
	return func(yield func(string, byte) bool) {
		relation, from, depth := byte(0), 0, 0
		quote := byte(0)
		emit := func(to int) bool {
			if from == to {
				return true
			}
			ok := yield(text[from:to], relation)
			relation = ' '
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
			case depth == 0 && (isBlank(c) || strings.IndexByte(">+~,", c) >= 0):
				if !emit(i) {
					return
				}
				if from = i + 1; !isBlank(c) {
					relation = c
				}
			}
		}
		emit(len(text))
	}
}

// find returns the matches of a selector, in document order, without matches within other
// matches.
func (s *selector) find(ctx context.Context, root *html.Node) ([]*html.Node, error) {
	f := &finder{selector: s, ctx: ctx}
	return goquery.NewDocumentFromNode(root).FindMatcher(f).Nodes, f.err
}

// finder is one search. It implements [goquery.Matcher].
type finder struct {
	*selector
	ctx     context.Context
	found   []*html.Node
	visited int
	err     error
}

// matchedSteps are the steps of one group that an element matches, as bits.
type matchedSteps uint32

// MatchAll returns the matches in an element and its descendants.
func (f *finder) MatchAll(n *html.Node) []*html.Node {
	none := make([]matchedSteps, len(f.groups))
	f.found = nil
	f.siblings(n, n.NextSibling, none, none)
	return f.found
}

// Match reports whether an element matches, regardless of its ancestors.
func (f *finder) Match(n *html.Node) bool { return slices.Contains(f.MatchAll(n), n) }

// Filter returns the elements that match.
func (f *finder) Filter(all []*html.Node) []*html.Node {
	return slices.DeleteFunc(slices.Clone(all), func(n *html.Node) bool { return !f.Match(n) })
}

// siblings matches consecutive elements from first to before end. ancestors are the steps that
// any ancestor matches, parent the steps that the parent matches.
func (f *finder) siblings(first, end *html.Node, ancestors, parent []matchedSteps) {
	before := make([]matchedSteps, len(f.groups))   // of any earlier sibling
	previous := make([]matchedSteps, len(f.groups)) // of the sibling right before
	own := make([]matchedSteps, len(f.groups))
	around := make([]matchedSteps, len(f.groups))
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
				var related matchedSteps
				switch step.relation {
				case ' ':
					related = ancestors[g]
				case '>':
					related = parent[g]
				case '+':
					related = previous[g]
				case '~':
					related = before[g]
				}
				if (i == 0 || related&(1<<(i-1)) != 0) && step.match.Match(c) {
					own[g] |= 1 << i
					hit = hit || i == len(steps)-1
				}
			}
			before[g] |= own[g]
			around[g] = ancestors[g] | own[g]
		}
		copy(previous, own)
		if hit {
			f.found = append(f.found, c)
		} else if c.FirstChild != nil {
			f.siblings(c.FirstChild, nil, slices.Clone(around), slices.Clone(own))
		}
	}
}
