package search

import (
	"regexp/syntax"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	maxTexts = 16
	// maxCost is what a byte may cost to be passed over by needles before the
	// automaton is the better way.
	maxCost = 1.3
	maxText = 256 // emitBytes of a text that is put together
)

// textSet are a set of which one must be there.
type textSet struct {
	list []string
	fold bool // in whatever case
}

// A patternInfo is what is known of a part of a pattern.
type patternInfo struct {
	all     *textSet // all it can match, when that is a few texts
	certain bool     // all is that exactly: no condition, no case mixed up
	need    *textSet // textSet of which every match holds one; nil when nothing is known
}

// prefilterFor says how to look for a pattern that was trimmed. Line ends are bytes
// like others only when ends says so.
func prefilterFor(re *syntax.Regexp, ends bool) prefilter {
	p := infoOfPattern(re)
	sure := p.certain && p.all != nil && (ends || !slices.ContainsFunc(p.all.list, func(text string) bool { return strings.ContainsAny(text, "\r\n") }))
	if needles, cost := needlesOf(p.all); sure && needles != nil && cost <= maxCost {
		return prefilter{needles: needles, certain: true}
	}
	if needles, cost := needlesOf(p.cheapest()); needles != nil && cost <= maxCost {
		return prefilter{needles: needles}
	}
	return prefilter{}
}

// cheapest is the cheapest set to look for.
func (p patternInfo) cheapest() *textSet { return cheaper(p.all, p.need) }

func cheaper(a, b *textSet) *textSet {
	_, costA := needlesOf(a)
	_, costB := needlesOf(b)
	switch {
	case costA < 0:
		if costB < 0 {
			return nil
		}
		return b
	case costB < 0 || costA <= costB:
		return a
	}
	return b
}

// needlesOf makes needles of a set; the cost is negative when there are none.
func needlesOf(t *textSet) (needles []needle, cost float64) {
	if t == nil || len(t.list) == 0 {
		return nil, -1
	}
	for _, text := range t.list {
		if text == "" {
			return nil, -1
		}
		n, ok := newNeedle(text), true
		if t.fold {
			if n, ok = newFolded(text); !ok {
				return nil, -1
			}
		}
		needles, cost = append(needles, n), cost+n.cost()
	}
	return needles, cost
}

func infoOfPattern(re *syntax.Regexp) patternInfo {
	nothing := &textSet{list: []string{""}}
	switch re.Op {
	case syntax.OpCapture:
		return infoOfPattern(re.Sub[0])
	case syntax.OpEmptyMatch:
		return patternInfo{all: nothing, certain: true}
	case syntax.OpBeginLine, syntax.OpEndLine, syntax.OpBeginText, syntax.OpEndText, syntax.OpWordBoundary, syntax.OpNoWordBoundary:
		return patternInfo{all: nothing}
	case syntax.OpLiteral:
		return literalInfo(re)
	case syntax.OpCharClass:
		if runes, ok := expandRunes(re.Rune, 8); ok && len(runes) > 0 && !slices.Contains(runes, utf8.RuneError) {
			t := &textSet{}
			for _, r := range runes {
				t.list = append(t.list, string(r))
			}
			return patternInfo{all: t, certain: true}
		}
	case syntax.OpQuest:
		p := infoOfPattern(re.Sub[0])
		return patternInfo{all: union(p.all, nothing), certain: p.certain}
	case syntax.OpPlus:
		return patternInfo{need: infoOfPattern(re.Sub[0]).cheapest()}
	case syntax.OpAlternate:
		return alternatives(re.Sub)
	case syntax.OpConcat:
		return sequence(re.Sub)
	}
	return patternInfo{}
}

func literalInfo(re *syntax.Regexp) patternInfo {
	if slices.Contains(re.Rune, utf8.RuneError) { // which is in no file, but bad bytes are
		return patternInfo{}
	}
	t := &textSet{list: []string{string(re.Rune)}}
	if re.Flags&syntax.FoldCase != 0 {
		t.fold = slices.ContainsFunc(re.Rune, func(r rune) bool { return unicode.SimpleFold(r) != r })
	}
	return patternInfo{all: t, certain: true}
}

func alternatives(subs []*syntax.Regexp) patternInfo {
	out := patternInfo{certain: true}
	for i, sub := range subs {
		p := infoOfPattern(sub)
		if i == 0 {
			out.all, out.certain, out.need = p.all, p.certain, p.cheapest()
			continue
		}
		out.certain = out.certain && p.certain && out.all != nil && p.all != nil && out.all.fold == p.all.fold
		out.all, out.need = union(out.all, p.all), union(out.need, p.cheapest())
	}
	return out
}

// emitSequence joins the texts of parts that stand side by side as long as they
// are few, and keeps the best that is found on the way.
func sequence(subs []*syntax.Regexp) patternInfo {
	empty := &textSet{list: []string{""}}
	run, sure, whole := empty, true, true
	var need *textSet
	for _, sub := range subs {
		p := infoOfPattern(sub)
		if joined := product(run, p.all); joined != nil {
			sure = sure && p.certain && (run.fold == p.all.fold || caseless(run, p.all))
			run = joined
			continue
		}
		whole = false
		need = cheaper(need, cheaper(run, p.need))
		run = empty
		if p.all != nil {
			run = p.all
		}
	}
	if whole {
		return patternInfo{all: run, certain: sure, need: need}
	}
	return patternInfo{need: cheaper(need, run)}
}

// caseless reports whether ignoring case for both sets makes no difference to the
// one that does not.
func caseless(sets ...*textSet) bool {
	for _, t := range sets {
		for _, text := range t.list {
			if !t.fold && strings.ContainsFunc(text, func(r rune) bool { return unicode.SimpleFold(r) != r }) {
				return false
			}
		}
	}
	return true
}

func union(a, b *textSet) *textSet {
	if a == nil || b == nil || len(a.list)+len(b.list) > maxTexts {
		return nil
	}
	out := &textSet{fold: a.fold || b.fold, list: slices.Clone(a.list)}
	for _, text := range b.list {
		if !slices.Contains(out.list, text) {
			out.list = append(out.list, text)
		}
	}
	return out
}

func product(a, b *textSet) *textSet {
	if a == nil || b == nil || len(a.list)*len(b.list) > maxTexts {
		return nil
	}
	out := &textSet{fold: a.fold || b.fold}
	for _, first := range a.list {
		for _, second := range b.list {
			if first != "" && len(first)+len(second) > maxText {
				return nil
			}
			out.list = append(out.list, first+second)
		}
	}
	return out
}
