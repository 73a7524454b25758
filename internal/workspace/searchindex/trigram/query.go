package trigram

import (
	"regexp/syntax"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A Query selects texts by their trigrams: a text must satisfy every clause. The zero
// Query selects every text.
type Query []Clause

// A Clause is satisfied by texts with all trigrams of one of its alternatives. No text
// satisfies one without alternatives.
type Clause [][]T

// Limits of a query. What exceeds them is left out, so that more texts may match.
const (
	maxNodes    = 2000 // of an expression
	maxExact    = 48   // strings of a set
	maxBytes    = 4096 // of the strings of one set together
	maxTexts    = 256  // alternatives of a clause
	maxTrigrams = 4096 // in all
)

// Of returns the query for texts in which re may match.
func Of(re *syntax.Regexp) Query {
	a := analyzer{left: maxNodes}
	sets := a.part(re).sets()
	slices.SortStableFunc(sets, func(a, b []string) int { return len(a) - len(b) })
	var q Query
	size := 0
	for _, set := range sets {
		if len(set) > 0 && shortest(set) < 3 {
			continue
		}
		var clause Clause
		for _, text := range set {
			clause = append(clause, trigramsOf(text))
			size += len(clause[len(clause)-1])
		}
		if size > maxTrigrams {
			break
		}
		q = append(q, clause)
	}
	return q
}

// trigramsOf returns the trigrams of s. Some of a long s are enough.
func trigramsOf(s string) []T {
	const most = 128
	var all []T
	for i := 0; i+3 <= len(s) && len(all) < most; i++ {
		all = append(all, T(s[i])<<16|T(s[i+1])<<8|T(s[i+2]))
	}
	slices.Sort(all)
	return slices.Compact(all)
}

func shortest(set []string) int {
	n := len(set[0])
	for _, text := range set {
		n = min(n, len(text))
	}
	return n
}

// A textInfo describes the texts that a part of an expression matches: either all of
// them are known, or each contains one string of each of the needed sets.
type textInfo struct {
	known bool
	exact []string
	need  [][]string
}

func exactSet(set ...string) textInfo { return textInfo{known: true, exact: set} }

func (p textInfo) sets() [][]string {
	if p.known {
		return [][]string{p.exact}
	}
	return p.need
}

// An analyzer analyzes an expression, up to a number of nodes.
type analyzer struct{ left int }

func (a *analyzer) part(re *syntax.Regexp) textInfo {
	if a.left--; a.left < 0 {
		return textInfo{}
	}
	switch re.Op {
	case syntax.OpNoMatch:
		return exactSet()
	case syntax.OpEmptyMatch, syntax.OpBeginLine, syntax.OpEndLine, syntax.OpBeginText, syntax.OpEndText,
		syntax.OpWordBoundary, syntax.OpNoWordBoundary:
		return exactSet("")
	case syntax.OpLiteral:
		return literal(re.Rune, re.Flags&syntax.FoldCase != 0)
	case syntax.OpCharClass:
		return charClass(re.Rune)
	case syntax.OpCapture:
		return a.part(re.Sub[0])
	case syntax.OpConcat:
		return a.concat(re.Sub)
	case syntax.OpAlternate:
		return a.alternate(re.Sub)
	case syntax.OpQuest:
		return a.alternate([]*syntax.Regexp{re.Sub[0], {Op: syntax.OpEmptyMatch}})
	case syntax.OpPlus:
		return textInfo{need: a.part(re.Sub[0]).sets()}
	case syntax.OpRepeat:
		const few = 4
		switch {
		case re.Min == 0:
			return textInfo{}
		case re.Min == re.Max && re.Min <= few:
			return a.concat(slices.Repeat(re.Sub, re.Min))
		}
		return textInfo{need: a.part(re.Sub[0]).sets()}
	}
	return textInfo{} // any character, or a star
}

// concat joins adjacent parts as long as their texts are few.
func (a *analyzer) concat(subs []*syntax.Regexp) textInfo {
	run := []string{""}
	var need [][]string
	for _, sub := range subs {
		p := a.part(sub)
		if p.known && len(run)*len(p.exact) <= maxExact && size(run)*len(p.exact)+size(p.exact)*len(run) <= maxBytes {
			joined := make([]string, 0, len(run)*len(p.exact))
			for _, x := range run {
				for _, y := range p.exact {
					joined = append(joined, x+y)
				}
			}
			run = joined
			continue
		}
		need = append(need, run)
		if run = p.exact; !p.known {
			need, run = append(need, p.need...), []string{""}
		}
	}
	if need == nil {
		return exactSet(run...)
	}
	return textInfo{need: append(need, run)}
}

// alternate returns all texts if they are few, or else the best set of each part.
func (a *analyzer) alternate(subs []*syntax.Regexp) textInfo {
	all := textInfo{known: true}
	var either []string
	for _, sub := range subs {
		p := a.part(sub)
		all.known = all.known && p.known
		all.exact = append(all.exact, p.exact...)
		var best []string
		found := false
		for _, set := range p.sets() {
			if len(set) == 0 {
				best, found = nil, true // it matches nothing
				break
			}
			if n := shortest(set); n >= 3 && (!found || n > shortest(best)) {
				best, found = set, true
			}
		}
		if either = append(either, best...); !found || len(either) > maxTexts {
			either = []string{""}
		}
	}
	slices.Sort(all.exact)
	all.exact = slices.Compact(all.exact)
	if all.known && len(all.exact) <= maxExact && size(all.exact) <= maxBytes {
		return all
	}
	slices.Sort(either)
	return textInfo{need: [][]string{slices.Compact(either)}}
}

// literal returns the info of a literal. Without case, only ASCII letters are used.
func literal(runes []rune, fold bool) textInfo {
	var parts []string
	var b strings.Builder
	for _, r := range runes {
		switch c, ok := indexedByte(r, fold); {
		case ok:
			b.WriteByte(c)
		case !indexable(r) || fold && unicode.SimpleFold(r) != r:
			parts = append(parts, b.String())
			b.Reset()
		default:
			b.WriteRune(r)
		}
	}
	if parts == nil {
		return exactSet(b.String())
	}
	var p textInfo
	for _, part := range append(parts, b.String()) {
		p.need = append(p.need, []string{part})
	}
	return p
}

// indexedByte returns the byte under which an ASCII letter is indexed.
func indexedByte(r rune, fold bool) (byte, bool) {
	if fold {
		for next := unicode.SimpleFold(r); r >= utf8.RuneSelf && next != r; next = unicode.SimpleFold(next) {
			if next < utf8.RuneSelf {
				r = next
			}
		}
	}
	return lower(byte(r)), r < utf8.RuneSelf && indexable(r)
}

// indexable reports whether trigrams contain r. They do not contain line ends, nor the
// rune that represents invalid UTF-8.
func indexable(r rune) bool {
	return r != '\n' && r != '\r' && r != utf8.RuneError && utf8.ValidRune(r)
}

func charClass(ranges []rune) textInfo {
	var set []string
	for i := 0; i < len(ranges); i += 2 {
		for r := ranges[i]; r <= ranges[i+1]; r++ {
			if len(set) == maxExact || !indexable(r) {
				return textInfo{}
			}
			if c := string(r); r < utf8.RuneSelf {
				set = append(set, string(lower(c[0])))
			} else {
				set = append(set, c)
			}
		}
	}
	slices.Sort(set)
	return exactSet(slices.Compact(set)...)
}

func size(set []string) int {
	n := 0
	for _, s := range set {
		n += len(s)
	}
	return n
}
