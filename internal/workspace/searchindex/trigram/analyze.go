package trigram

import (
	"regexp/syntax"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A textInfo describes the texts that a part of an expression matches.
type textInfo struct {
	// If known is set, exact is the set of all these texts.
	known bool
	exact []string
	// Otherwise each text begins with one of head, ends with one of tail, and satisfies
	// need. head and tail are cut to the two bytes that a trigram can use.
	head, tail []string
	need       Query
}

// Limits of the sets of strings.
const (
	maxExact = 48   // strings
	maxBytes = 4096 // of the strings of one set together
	maxEnds  = 128  // beginnings or ends
	maxPairs = 512  // ends times beginnings
	maxRunes = 48   // of a class
)

func exactSet(set ...string) textInfo { return textInfo{known: true, exact: set} }

// unknown describes any text, including the empty one.
func unknown() textInfo { return textInfo{head: []string{""}, tail: []string{""}} }

// query returns the query for texts that contain a text described by p.
func (p textInfo) query() Query {
	if p.known {
		return oneOf(p.exact)
	}
	return p.need
}

// loosen converts p to a form where exact is not known.
func (p textInfo) loosen() textInfo {
	if !p.known {
		return p
	}
	return textInfo{head: cutEnds(p.exact, first), tail: cutEnds(p.exact, last), need: oneOf(p.exact)}
}

func first(s string) string { return s[:min(2, len(s))] }
func last(s string) string  { return s[max(0, len(s)-2):] }

// cutEnds cuts strings to two bytes.
func cutEnds(set []string, cut func(string) string) []string {
	out := make([]string, 0, min(len(set), maxEnds))
	for _, s := range set {
		out = append(out, cut(s))
	}
	slices.Sort(out)
	if out = slices.Compact(out); len(out) > maxEnds {
		return []string{""}
	}
	return out
}

// An analyzer analyzes an expression, up to a number of nodes.
type analyzer struct{ left int }

func (a *analyzer) part(re *syntax.Regexp) textInfo {
	if a.left--; a.left < 0 {
		return unknown()
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
		p := exactSet("")
		for _, sub := range re.Sub {
			p = concat(p, a.part(sub))
		}
		return p
	case syntax.OpAlternate:
		p := exactSet()
		for _, sub := range re.Sub {
			p = alternate(p, a.part(sub))
		}
		return p
	case syntax.OpQuest:
		return alternate(a.part(re.Sub[0]), exactSet(""))
	case syntax.OpPlus:
		return a.part(re.Sub[0]).loosen()
	case syntax.OpRepeat:
		return a.repeat(re)
	}
	return unknown() // any character, or a star
}

// repeat analyzes the first repetitions, which determine the beginning and the end.
func (a *analyzer) repeat(re *syntax.Regexp) textInfo {
	const few = 4
	if re.Min == 0 {
		return unknown()
	}
	once := a.part(re.Sub[0])
	p := once
	for range min(re.Min, few) - 1 {
		p = concat(p, once)
	}
	if re.Max != re.Min || re.Min > few {
		return p.loosen()
	}
	return p
}

// literal returns the info of a literal. Without case, only ASCII letters are used.
func literal(runes []rune, fold bool) textInfo {
	p := exactSet("")
	var b strings.Builder
	for _, r := range runes {
		switch c, ok := indexedByte(r, fold); {
		case ok:
			b.WriteByte(c)
		case !indexable(r) || fold && unicode.SimpleFold(r) != r:
			p = concat(concat(p, exactSet(b.String())), unknown())
			b.Reset()
		default:
			b.WriteRune(r)
		}
	}
	return concat(p, exactSet(b.String()))
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
	n := 0
	for i := 0; i < len(ranges); i += 2 {
		if n += int(ranges[i+1]-ranges[i]) + 1; n > maxRunes {
			return unknown()
		}
	}
	set := make([]string, 0, n)
	for i := 0; i < len(ranges); i += 2 {
		for r := ranges[i]; r <= ranges[i+1]; r++ {
			if !indexable(r) {
				return unknown()
			}
			set = append(set, strings.Map(func(r rune) rune {
				if r < utf8.RuneSelf {
					return rune(lower(byte(r)))
				}
				return r
			}, string(r)))
		}
	}
	slices.Sort(set)
	return exactSet(slices.Compact(set)...)
}

// alternate returns the info of texts that are described by a or by b.
func alternate(a, b textInfo) textInfo {
	if a.known && b.known {
		set := slices.Concat(a.exact, b.exact)
		slices.Sort(set)
		if set = slices.Compact(set); len(set) <= maxExact && size(set) <= maxBytes {
			return exactSet(set...)
		}
	}
	a, b = a.loosen(), b.loosen()
	return textInfo{
		head: cutEnds(slices.Concat(a.head, b.head), first),
		tail: cutEnds(slices.Concat(a.tail, b.tail), last),
		need: a.need.or(b.need),
	}
}

// concat returns the info of a text of a followed by one of b.
func concat(a, b textInfo) textInfo {
	if a.known && b.known && len(a.exact)*len(b.exact) <= maxExact &&
		size(a.exact)*len(b.exact)+size(b.exact)*len(a.exact) <= maxBytes {
		return exactSet(products(a.exact, b.exact)...)
	}
	wide, out := a.loosen(), textInfo{}
	far := b.loosen()
	out.need = wide.need.and(far.need)
	if len(wide.tail)*len(far.head) <= maxPairs {
		out.need = out.need.and(oneOf(products(wide.tail, far.head)))
	}
	out.head, out.tail = wide.head, far.tail
	if a.known {
		out.head = joinEnds(wide.head, far.head, first)
	}
	if b.known {
		out.tail = joinEnds(wide.tail, far.tail, last)
	}
	return out
}

// joinEnds returns the ends of a text that consists of two adjacent parts.
func joinEnds(a, b []string, cut func(string) string) []string {
	if len(a)*len(b) > maxEnds*maxEnds/4 {
		return []string{""}
	}
	return cutEnds(products(a, b), cut)
}

func products(a, b []string) []string {
	out := make([]string, 0, len(a)*len(b))
	for _, x := range a {
		for _, y := range b {
			out = append(out, x+y)
		}
	}
	return out
}

func size(set []string) int {
	n := 0
	for _, s := range set {
		n += len(s)
	}
	return n
}
