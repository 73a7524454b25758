package trigram

import (
	"regexp/syntax"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A part is what is known of the texts that a piece of an expression matches.
type part struct {
	// exact, when known, are all of them.
	known bool
	exact []string
	// Otherwise each begins with one of head, ends with one of tail, and has
	// what need asks for. The strings are cut to what a trigram can use.
	head, tail []string
	need       Query
}

// Limits of the sets of strings.
const (
	mostExact = 48   // strings
	mostBytes = 4096 // of the strings of one set together
	mostEnds  = 128  // beginnings or ends
	mostPairs = 512  // ends times beginnings
	mostRunes = 48   // of a class
)

func exactly(set ...string) part { return part{known: true, exact: set} }

// unknown is a part that can match anything, also nothing.
func unknown() part { return part{head: []string{""}, tail: []string{""}} }

// query is what a text must have that contains p.
func (p part) query() Query {
	if p.known {
		return oneOf(p.exact)
	}
	return p.need
}

// open gives up knowing all the texts.
func (p part) open() part {
	if !p.known {
		return p
	}
	return part{head: ends(p.exact, first), tail: ends(p.exact, last), need: oneOf(p.exact)}
}

func first(s string) string { return s[:min(2, len(s))] }
func last(s string) string  { return s[max(0, len(s)-2):] }

// ends cuts strings to two bytes.
func ends(set []string, cut func(string) string) []string {
	out := make([]string, 0, min(len(set), mostEnds))
	for _, s := range set {
		out = append(out, cut(s))
	}
	slices.Sort(out)
	if out = slices.Compact(out); len(out) > mostEnds {
		return []string{""}
	}
	return out
}

// An analyzer looks at so many nodes of an expression and no more.
type analyzer struct{ left int }

func (a *analyzer) part(re *syntax.Regexp) part {
	if a.left--; a.left < 0 {
		return unknown()
	}
	switch re.Op {
	case syntax.OpNoMatch:
		return exactly()
	case syntax.OpEmptyMatch, syntax.OpBeginLine, syntax.OpEndLine, syntax.OpBeginText, syntax.OpEndText,
		syntax.OpWordBoundary, syntax.OpNoWordBoundary:
		return exactly("")
	case syntax.OpLiteral:
		return literal(re.Rune, re.Flags&syntax.FoldCase != 0)
	case syntax.OpCharClass:
		return class(re.Rune)
	case syntax.OpCapture:
		return a.part(re.Sub[0])
	case syntax.OpConcat:
		p := exactly("")
		for _, sub := range re.Sub {
			p = then(p, a.part(sub))
		}
		return p
	case syntax.OpAlternate:
		p := exactly()
		for _, sub := range re.Sub {
			p = either(p, a.part(sub))
		}
		return p
	case syntax.OpQuest:
		return either(a.part(re.Sub[0]), exactly(""))
	case syntax.OpPlus:
		return a.part(re.Sub[0]).open()
	case syntax.OpRepeat:
		return a.repeat(re)
	}
	return unknown() // any character, a star
}

// repeat looks at the first few times: what repeats begins and ends with them.
func (a *analyzer) repeat(re *syntax.Regexp) part {
	const few = 4
	if re.Min == 0 {
		return unknown()
	}
	once := a.part(re.Sub[0])
	p := once
	for range min(re.Min, few) - 1 {
		p = then(p, once)
	}
	if re.Max != re.Min || re.Min > few {
		return p.open()
	}
	return p
}

// literal keeps to the letters of ASCII when case does not matter: of others
// nothing is assumed.
func literal(runes []rune, fold bool) part {
	p := exactly("")
	var b strings.Builder
	for _, r := range runes {
		switch c, ok := asByte(r, fold); {
		case ok:
			b.WriteByte(c)
		case !readable(r) || fold && unicode.SimpleFold(r) != r:
			p = then(then(p, exactly(b.String())), unknown())
			b.Reset()
		default:
			b.WriteRune(r)
		}
	}
	return then(p, exactly(b.String()))
}

// asByte is what a letter of ASCII counts as in an index.
func asByte(r rune, fold bool) (byte, bool) {
	if fold {
		for next := unicode.SimpleFold(r); r >= utf8.RuneSelf && next != r; next = unicode.SimpleFold(next) {
			if next < utf8.RuneSelf {
				r = next
			}
		}
	}
	return folded(byte(r)), r < utf8.RuneSelf && readable(r)
}

// readable excludes what trigrams say nothing of: ends of lines, and the rune
// that stands for bytes that are not UTF-8.
func readable(r rune) bool {
	return r != '\n' && r != '\r' && r != utf8.RuneError && utf8.ValidRune(r)
}

func class(ranges []rune) part {
	n := 0
	for i := 0; i < len(ranges); i += 2 {
		if n += int(ranges[i+1]-ranges[i]) + 1; n > mostRunes {
			return unknown()
		}
	}
	set := make([]string, 0, n)
	for i := 0; i < len(ranges); i += 2 {
		for r := ranges[i]; r <= ranges[i+1]; r++ {
			if !readable(r) {
				return unknown()
			}
			set = append(set, strings.Map(func(r rune) rune {
				if r < utf8.RuneSelf {
					return rune(folded(byte(r)))
				}
				return r
			}, string(r)))
		}
	}
	slices.Sort(set)
	return exactly(slices.Compact(set)...)
}

// either is what is known of a text that is one of both.
func either(a, b part) part {
	if a.known && b.known {
		set := slices.Concat(a.exact, b.exact)
		slices.Sort(set)
		if set = slices.Compact(set); len(set) <= mostExact && size(set) <= mostBytes {
			return exactly(set...)
		}
	}
	a, b = a.open(), b.open()
	return part{
		head: ends(slices.Concat(a.head, b.head), first),
		tail: ends(slices.Concat(a.tail, b.tail), last),
		need: a.need.or(b.need),
	}
}

// then is what is known of a text of a with one of b behind it.
func then(a, b part) part {
	if a.known && b.known && len(a.exact)*len(b.exact) <= mostExact &&
		size(a.exact)*len(b.exact)+size(b.exact)*len(a.exact) <= mostBytes {
		return exactly(pairs(a.exact, b.exact)...)
	}
	wide, out := a.open(), part{}
	far := b.open()
	out.need = wide.need.and(far.need)
	if len(wide.tail)*len(far.head) <= mostPairs {
		out.need = out.need.and(oneOf(pairs(wide.tail, far.head)))
	}
	out.head, out.tail = wide.head, far.tail
	if a.known {
		out.head = grown(wide.head, far.head, first)
	}
	if b.known {
		out.tail = grown(wide.tail, far.tail, last)
	}
	return out
}

// grown joins the ends of two neighbours.
func grown(a, b []string, cut func(string) string) []string {
	if len(a)*len(b) > mostEnds*mostEnds/4 {
		return []string{""}
	}
	return ends(pairs(a, b), cut)
}

func pairs(a, b []string) []string {
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
