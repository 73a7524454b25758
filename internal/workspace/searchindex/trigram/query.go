package trigram

import (
	"regexp/syntax"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/mcp-tools/mcp-tools/internal/workspace/search/literal"
)

// A Query selects texts by their trigrams: a text must satisfy every clause. The zero
// Query selects every text.
type Query []Clause

// A Clause is satisfied by texts with all trigrams of one of its alternatives. No text
// satisfies one without alternatives.
type Clause [][]T

// maxTrigrams limits the trigrams of a query. Clauses beyond it are left out, so that more
// texts may match.
const maxTrigrams = 4096

// Of returns the query for texts that re may match.
func Of(re *syntax.Regexp) Query {
	sets := literal.Analyzer{MaxTexts: 48, MaxClass: 48, Pick: mostSelective}.Info(re.Simplify()).Sets()
	slices.SortStableFunc(sets, func(a, b *literal.Set) int { return len(a.Texts) - len(b.Texts) })
	var q Query
	size := 0
	for _, set := range sets {
		if selectivity(set) == 0 {
			continue
		}
		var clause Clause
		for _, text := range set.Texts {
			clause = append(clause, trigramsOf(text, set.Fold))
			size += len(clause[len(clause)-1])
		}
		if size > maxTrigrams {
			break
		}
		q = append(q, clause)
	}
	return q
}

func mostSelective(sets []*literal.Set) *literal.Set {
	var best *literal.Set
	for _, set := range sets {
		if n := selectivity(set); n > 0 && (best == nil || n > selectivity(best)) {
			best = set
		}
	}
	return best
}

// selectivity returns the number of trigrams that all texts of a set have at least. Nothing
// selects more than a set without texts.
func selectivity(set *literal.Set) int {
	least := maxTrigrams
	for _, text := range set.Texts {
		least = min(least, len(trigramsOf(text, set.Fold)))
	}
	return least
}

// trigramsOf returns the trigrams of a text. Some of a long one are enough.
func trigramsOf(text string, fold bool) []T {
	const most = 128
	var b strings.Builder
	for _, r := range text {
		if fold {
			r = foldASCII(r)
		}
		switch {
		case r < utf8.RuneSelf:
			b.WriteByte(lower(byte(r)))
		case r == utf8.RuneError || fold && unicode.SimpleFold(r) != r:
			b.WriteByte('\n') // no trigram has it
		default:
			b.WriteRune(r)
		}
	}
	var all []T
	for s := b.String(); len(s) >= 3 && len(all) < most; s = s[1:] {
		if !strings.ContainsAny(s[:3], "\r\n") {
			all = append(all, T(s[0])<<16|T(s[1])<<8|T(s[2]))
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// foldASCII returns the ASCII letter that r equals when case is ignored, or r.
func foldASCII(r rune) rune {
	for next := unicode.SimpleFold(r); r >= utf8.RuneSelf && next != r; next = unicode.SimpleFold(next) {
		if next < utf8.RuneSelf {
			return next
		}
	}
	return r
}
