// Package literal finds the texts that the matches of a regular expression contain.
//
// It knows expressions. It knows neither the use of the texts nor how selective they are: its
// callers do. The analysis comes from Russ Cox's google/codesearch (see
// https://swtch.com/~rsc/regexp/regexp4.html); the code is our own. Begin with [Analyzer.Info].
package literal

import (
	"regexp/syntax"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A Set is a set of texts.
type Set struct {
	Texts []string
	Fold  bool // they match in any case
}

// An Info has the known properties of the matches of a part of an expression.
type Info struct {
	All     *Set   // all matches, if they are few
	Certain bool   // All is exact: no conditions, no mix of cases
	Need    []*Set // every match contains a text of each of these sets
}

// Sets returns sets of texts. Every match contains a text of each set.
func (i Info) Sets() []*Set {
	if i.All == nil {
		return i.Need
	}
	return append([]*Set{i.All}, i.Need...)
}

// maxText is the maximum number of bytes of a text that is joined from several parts.
const maxText = 256

// An Analyzer analyzes expressions that package syntax has simplified.
type Analyzer struct {
	MaxTexts int // in a set
	MaxClass int // characters of a class that become texts
	// Pick returns the set that selects most, or nil if none selects anything.
	Pick func(sets []*Set) *Set
}

// Info returns the facts about the matches of re.
func (a Analyzer) Info(re *syntax.Regexp) Info {
	switch re.Op {
	case syntax.OpNoMatch:
		return Info{All: &Set{}}
	case syntax.OpCapture:
		return a.Info(re.Sub[0])
	case syntax.OpEmptyMatch:
		return Info{All: empty(), Certain: true}
	case syntax.OpBeginLine, syntax.OpEndLine, syntax.OpBeginText, syntax.OpEndText,
		syntax.OpWordBoundary, syntax.OpNoWordBoundary:
		return Info{All: empty()}
	case syntax.OpLiteral:
		return literal(re)
	case syntax.OpCharClass:
		return a.class(re)
	case syntax.OpQuest:
		sub := a.Info(re.Sub[0])
		return Info{All: a.union(sub.All, empty()), Certain: sub.Certain}
	case syntax.OpPlus:
		return Info{Need: a.Info(re.Sub[0]).Sets()}
	case syntax.OpAlternate:
		return a.alternatives(re.Sub)
	case syntax.OpConcat:
		return a.sequence(re.Sub)
	}
	return Info{} // any character, or a star
}

// empty returns the set of the empty text.
func empty() *Set { return &Set{Texts: []string{""}} }

// literal splits a text at the character that matches invalid bytes as well.
func literal(re *syntax.Regexp) Info {
	fold := re.Flags&syntax.FoldCase != 0 && slices.ContainsFunc(re.Rune, hasCases)
	if !slices.Contains(re.Rune, utf8.RuneError) {
		return Info{All: &Set{[]string{string(re.Rune)}, fold}, Certain: true}
	}
	var known Info
	for part := range strings.SplitSeq(string(re.Rune), string(utf8.RuneError)) {
		known.Need = append(known.Need, &Set{[]string{part}, fold})
	}
	return known
}

func hasCases(r rune) bool { return unicode.SimpleFold(r) != r }

func (a Analyzer) class(re *syntax.Regexp) Info {
	set := &Set{}
	for i := 0; i < len(re.Rune); i += 2 {
		for r := re.Rune[i]; r <= re.Rune[i+1]; r++ {
			if len(set.Texts) == a.MaxClass || r == utf8.RuneError {
				return Info{}
			}
			set.Texts = append(set.Texts, string(r))
		}
	}
	return Info{All: set, Certain: true}
}

// alternatives returns all texts if they are few, or else the best set of each part.
func (a Analyzer) alternatives(subs []*syntax.Regexp) Info {
	out, need := Info{All: &Set{}, Certain: true}, &Set{}
	for i, sub := range subs {
		p := a.Info(sub)
		out.Certain = out.Certain && p.Certain && p.All != nil && out.All != nil &&
			(i == 0 || out.All.Fold == p.All.Fold)
		out.All = a.union(out.All, p.All)
		need = a.union(need, a.Pick(p.Sets()))
	}
	if out.All == nil && need != nil {
		out.Need = []*Set{need}
	}
	return out
}

// sequence concatenates the texts of adjacent parts as long as they are few.
func (a Analyzer) sequence(subs []*syntax.Regexp) Info {
	run, certain := empty(), true
	var need []*Set
	for _, sub := range subs {
		p := a.Info(sub)
		if joined := a.product(run, p.All); joined != nil {
			certain = certain && p.Certain && (run.Fold == p.All.Fold || caseless(run) && caseless(p.All))
			run = joined
			continue
		}
		if need = append(append(need, run), p.Need...); p.All != nil {
			run = p.All
		} else {
			run = empty()
		}
	}
	if need == nil {
		return Info{All: run, Certain: certain}
	}
	return Info{Need: append(need, run)}
}

// caseless reports whether matching a set in any case makes no difference.
func caseless(s *Set) bool {
	return s.Fold || !strings.ContainsFunc(strings.Join(s.Texts, ""), hasCases)
}

func (a Analyzer) union(x, y *Set) *Set {
	if x == nil || y == nil || len(x.Texts)+len(y.Texts) > a.MaxTexts {
		return nil
	}
	out := &Set{slices.Concat(x.Texts, y.Texts), x.Fold || y.Fold}
	slices.Sort(out.Texts)
	out.Texts = slices.Compact(out.Texts)
	return out
}

func (a Analyzer) product(x, y *Set) *Set {
	if x == nil || y == nil || len(x.Texts)*len(y.Texts) > a.MaxTexts {
		return nil
	}
	out := &Set{Fold: x.Fold || y.Fold}
	for _, first := range x.Texts {
		for _, second := range y.Texts {
			if first != "" && len(first)+len(second) > maxText {
				return nil
			}
			out.Texts = append(out.Texts, first+second)
		}
	}
	return out
}
