package search

import (
	"regexp/syntax"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	mostTexts = 16
	// dearest is what a byte may cost to be passed over by needles before the
	// automaton is the better way.
	dearest = 1.3
	longest = 256 // bytes of a text that is put together
)

// texts are a set of which one must be there.
type texts struct {
	list []string
	fold bool // in whatever case
}

// A part is what is known of a part of a pattern.
type part struct {
	all  *texts // all it can match, when that is a few texts
	sure bool   // all is that exactly: no condition, no case mixed up
	need *texts // texts of which every match holds one; nil when nothing is known
}

// findsOf says how to look for a pattern that was trimmed. Line ends are bytes
// like others only when ends says so.
func findsOf(re *syntax.Regexp, ends bool) finds {
	p := partOf(re)
	sure := p.sure && p.all != nil && (ends || !slices.ContainsFunc(p.all.list, func(text string) bool { return strings.ContainsAny(text, "\r\n") }))
	if needles, cost := needlesOf(p.all); sure && needles != nil && cost <= dearest {
		return finds{needles: needles, sure: true}
	}
	if needles, cost := needlesOf(p.best()); needles != nil && cost <= dearest {
		return finds{needles: needles}
	}
	return finds{}
}

// best is the cheapest set to look for.
func (p part) best() *texts { return cheaper(p.all, p.need) }

func cheaper(a, b *texts) *texts {
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
func needlesOf(t *texts) (needles []needle, cost float64) {
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

func partOf(re *syntax.Regexp) part {
	nothing := &texts{list: []string{""}}
	switch re.Op {
	case syntax.OpCapture:
		return partOf(re.Sub[0])
	case syntax.OpEmptyMatch:
		return part{all: nothing, sure: true}
	case syntax.OpBeginLine, syntax.OpEndLine, syntax.OpBeginText, syntax.OpEndText, syntax.OpWordBoundary, syntax.OpNoWordBoundary:
		return part{all: nothing}
	case syntax.OpLiteral:
		return literalPart(re)
	case syntax.OpCharClass:
		if runes, ok := few(re.Rune, 8); ok && len(runes) > 0 && !slices.Contains(runes, utf8.RuneError) {
			t := &texts{}
			for _, r := range runes {
				t.list = append(t.list, string(r))
			}
			return part{all: t, sure: true}
		}
	case syntax.OpQuest:
		p := partOf(re.Sub[0])
		return part{all: union(p.all, nothing), sure: p.sure}
	case syntax.OpPlus:
		return part{need: partOf(re.Sub[0]).best()}
	case syntax.OpAlternate:
		return alternatives(re.Sub)
	case syntax.OpConcat:
		return sequence(re.Sub)
	}
	return part{}
}

func literalPart(re *syntax.Regexp) part {
	if slices.Contains(re.Rune, utf8.RuneError) { // which is in no file, but bad bytes are
		return part{}
	}
	t := &texts{list: []string{string(re.Rune)}}
	if re.Flags&syntax.FoldCase != 0 {
		t.fold = slices.ContainsFunc(re.Rune, func(r rune) bool { return unicode.SimpleFold(r) != r })
	}
	return part{all: t, sure: true}
}

func alternatives(subs []*syntax.Regexp) part {
	out := part{sure: true}
	for i, sub := range subs {
		p := partOf(sub)
		if i == 0 {
			out.all, out.sure, out.need = p.all, p.sure, p.best()
			continue
		}
		out.sure = out.sure && p.sure && out.all != nil && p.all != nil && out.all.fold == p.all.fold
		out.all, out.need = union(out.all, p.all), union(out.need, p.best())
	}
	return out
}

// sequence joins the texts of parts that stand side by side as long as they
// are few, and keeps the best that is found on the way.
func sequence(subs []*syntax.Regexp) part {
	empty := &texts{list: []string{""}}
	run, sure, whole := empty, true, true
	var need *texts
	for _, sub := range subs {
		p := partOf(sub)
		if joined := product(run, p.all); joined != nil {
			sure = sure && p.sure && (run.fold == p.all.fold || plain(run, p.all))
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
		return part{all: run, sure: sure, need: need}
	}
	return part{need: cheaper(need, run)}
}

// plain reports whether ignoring case for both sets makes no difference to the
// one that does not.
func plain(sets ...*texts) bool {
	for _, t := range sets {
		for _, text := range t.list {
			if !t.fold && strings.ContainsFunc(text, func(r rune) bool { return unicode.SimpleFold(r) != r }) {
				return false
			}
		}
	}
	return true
}

func union(a, b *texts) *texts {
	if a == nil || b == nil || len(a.list)+len(b.list) > mostTexts {
		return nil
	}
	out := &texts{fold: a.fold || b.fold, list: slices.Clone(a.list)}
	for _, text := range b.list {
		if !slices.Contains(out.list, text) {
			out.list = append(out.list, text)
		}
	}
	return out
}

func product(a, b *texts) *texts {
	if a == nil || b == nil || len(a.list)*len(b.list) > mostTexts {
		return nil
	}
	out := &texts{fold: a.fold || b.fold}
	for _, first := range a.list {
		for _, second := range b.list {
			if first != "" && len(first)+len(second) > longest {
				return nil
			}
			out.list = append(out.list, first+second)
		}
	}
	return out
}
