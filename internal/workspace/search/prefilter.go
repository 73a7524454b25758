package search

import (
	"bytes"
	"math"
	"regexp/syntax"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Limits of the literals that are extracted from a pattern.
const (
	maxTexts = 16
	// maxCost is the maximum cost of needles in nanoseconds for each byte. Beyond it
	// the DFA is faster.
	maxCost = 1.3
	maxText = 256 // bytes of a literal
)

// A textSet is a set of literals.
type textSet struct {
	list []string
	fold bool // they match in any case
}

// A patternInfo has the known properties of the matches of a part of a pattern.
type patternInfo struct {
	all     *textSet // all matches, if they are few
	certain bool     // all is exact: no conditions, no mix of cases
	need    *textSet // every match contains one of these; nil if nothing is known
}

// prefilterFor returns the prefilter of a trimmed pattern. If ends is set, line ends
// are ordinary bytes.
func prefilterFor(re *syntax.Regexp, ends bool) prefilter {
	p := infoOfPattern(re)
	lineEnd := func(text string) bool { return strings.ContainsAny(text, "\r\n") }
	sure := p.certain && p.all != nil && (ends || !slices.ContainsFunc(p.all.list, lineEnd))
	if needles, cost := needlesOf(p.all); sure && needles != nil && cost <= maxCost {
		return prefilter{needles: needles, certain: true}
	}
	if needles, cost := needlesOf(p.cheapest()); needles != nil && cost <= maxCost {
		return prefilter{needles: needles}
	}
	return prefilter{}
}

// cheapest returns the set that is cheapest to search for.
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

// needlesOf returns the needles of a set. The cost is negative if there are none.
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
	case syntax.OpBeginLine, syntax.OpEndLine, syntax.OpBeginText, syntax.OpEndText,
		syntax.OpWordBoundary, syntax.OpNoWordBoundary:
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
	if slices.Contains(re.Rune, utf8.RuneError) { // matches invalid bytes
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

// sequence concatenates the literals of adjacent parts as long as they are few, and
// keeps the cheapest set that it finds.
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

// caseless reports whether matching the sets that are case-sensitive in any case makes
// no difference.
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

// A needle is a literal to search for. It is found by its rarest byte.
type needle struct {
	text     []byte
	offset   int // of the rarest byte
	rareByte byte
	nextByte byte // the byte after it in text, if it is not the last

	// The following fields are for a literal that matches in any case. Then text is
	// not used, and rareByte is one case of a letter between two lists of runes.
	fold          bool
	otherCase     byte // the other case, or rareByte again
	before, after []rune
}

func newNeedle(text string) needle {
	n := needle{text: []byte(text)}
	for i := range n.text {
		if byteShare(n.text[i]) < byteShare(n.text[n.offset]) {
			n.offset = i
		}
	}
	n.rareByte = n.text[n.offset]
	if n.offset+1 < len(n.text) {
		n.nextByte = n.text[n.offset+1]
	}
	return n
}

// newFolded returns a needle that matches in any case. ok is false if every rune of
// text has a variant that is not ASCII.
func newFolded(text string) (n needle, ok bool) {
	runes, best := []rune(text), math.Inf(1)
	for i, r := range runes {
		var all float64
		for _, c := range caseVariants(r, true) {
			if c >= utf8.RuneSelf {
				all = math.Inf(1)
				break
			}
			all += byteShare(byte(c))
		}
		if all < best {
			best, n.offset = all, i
		}
	}
	if math.IsInf(best, 1) {
		return n, false
	}
	n.fold = true
	n.rareByte = byte(runes[n.offset])
	n.otherCase = byte(unicode.SimpleFold(runes[n.offset]))
	n.before, n.after = runes[:n.offset], runes[n.offset+1:]
	return n, true
}

// cost estimates the time to search one byte, in nanoseconds.
func (n *needle) cost() float64 {
	const (
		skip   = 0.04 // to skip a byte
		stop   = 6    // to stop at a rare byte
		verify = 100  // to match a line that contains the literal
	)
	if n.fold {
		looked := byteShare(n.rareByte)
		chance := looked
		streams := 1.0
		if n.otherCase != n.rareByte {
			streams = 2
			looked += byteShare(n.otherCase)
			chance = looked
		}
		chance *= math.Pow(0.15, float64(len(n.before)+len(n.after)))
		return streams*skip + looked*stop*2 + chance*verify
	}
	looked := byteShare(n.rareByte)
	return skip + looked*stop + looked*math.Pow(0.15, float64(len(n.text)-1))*verify
}

// find returns the next occurrence at or after from.
func (n *needle) find(buf []byte, b byte, from int) (start, end int, ok bool) {
	if n.fold {
		return n.findFolded(buf, b, from)
	}
	rest := len(n.text) - n.offset // from the rare byte to the end
	for i := from + n.offset; i < len(buf); i++ {
		k := bytes.IndexByte(buf[i:], b)
		if k < 0 {
			break
		}
		i += k
		if i+rest > len(buf) {
			break
		}
		if rest > 1 && buf[i+1] != n.nextByte {
			continue
		}
		if at := i - n.offset; string(buf[at:at+len(n.text)]) == string(n.text) {
			return at, at + len(n.text), true
		}
	}
	return 0, 0, false
}

func (n *needle) findFolded(buf []byte, b byte, from int) (start, end int, ok bool) {
	for i := from; i < len(buf); i++ {
		k := bytes.IndexByte(buf[i:], b)
		if k < 0 {
			break
		}
		i += k
		start, ok := matchBackward(buf[from:i], n.before)
		if !ok {
			continue
		}
		if length, ok := matchForward(buf[i+1:], n.after); ok {
			return from + start, i + 1 + length, true
		}
	}
	return 0, 0, false
}

// matchForward returns how many bytes at the start of text match runes in any case.
func matchForward(text []byte, runes []rune) (length int, ok bool) {
	for _, want := range runes {
		if length == len(text) {
			return 0, false
		}
		r, size := rune(text[length]), 1
		if r >= utf8.RuneSelf {
			r, size = utf8.DecodeRune(text[length:])
		}
		if !sameLetter(r, want) {
			return 0, false
		}
		length += size
	}
	return length, true
}

// matchBackward returns where runes begin that text ends with, in any case.
func matchBackward(text []byte, runes []rune) (start int, ok bool) {
	start = len(text)
	for i := len(runes) - 1; i >= 0; i-- {
		if start == 0 {
			return 0, false
		}
		r, size := rune(text[start-1]), 1
		if r >= utf8.RuneSelf {
			r, size = utf8.DecodeLastRune(text[:start])
		}
		if !sameLetter(r, runes[i]) {
			return 0, false
		}
		start -= size
	}
	return start, true
}

func sameLetter(a, b rune) bool {
	if a == b {
		return true
	}
	if a < utf8.RuneSelf && b < utf8.RuneSelf {
		return a|0x20 == b|0x20 && a|0x20 >= 'a' && a|0x20 <= 'z'
	}
	for c := unicode.SimpleFold(a); c != a; c = unicode.SimpleFold(c) {
		if c == b {
			return true
		}
	}
	return false
}

// A finder searches for several needles at once. It remembers the next occurrence of
// each, so that it searches no byte twice.
type finder struct {
	needles []needle
	streams []stream
	buf     []byte
}

type stream struct {
	n          *needle
	b          byte
	start, end int // the next occurrence; start is the end of the buffer if there is none
}

func newFinder(needles []needle) *finder {
	f := &finder{needles: needles}
	for i := range needles {
		n := &needles[i]
		f.streams = append(f.streams, stream{n: n, b: n.rareByte})
		if n.fold && n.otherCase != n.rareByte {
			f.streams = append(f.streams, stream{n: n, b: n.otherCase})
		}
	}
	return f
}

// reset sets the buffer to search.
func (f *finder) reset(buf []byte) {
	f.buf = buf
	for i := range f.streams {
		f.streams[i].start = -1
	}
}

// next returns the first occurrence of a needle at or after from. from must not
// decrease between calls.
func (f *finder) next(from int) (start, end int, ok bool) {
	start = len(f.buf)
	for i := range f.streams {
		s := &f.streams[i]
		if s.start < from {
			if s.start, s.end, ok = s.n.find(f.buf, s.b, from); !ok {
				s.start, s.end = len(f.buf), len(f.buf)
			}
		}
		if s.start < start {
			start, end = s.start, s.end
		}
	}
	return start, end, start < len(f.buf)
}

// byteShares is the frequency of each byte in source code and documents, of
// 10,000. A wrong estimate makes a search slower but does not change its
// result.
var byteShares = [128]uint16{
	1, 1, 1, 1, 1, 1, 1, 1, 1, 211, 279, 1, 1, 20, 1, 1,
	1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
	1649, 9, 146, 16, 4, 8, 8, 54, 99, 99, 22, 11, 217, 47, 133, 100,
	230, 77, 56, 42, 39, 29, 33, 22, 34, 25, 102, 11, 40, 76, 42, 2,
	2, 45, 20, 38, 28, 51, 25, 14, 14, 38, 4, 7, 29, 24, 33, 33,
	31, 4, 38, 54, 53, 16, 14, 11, 7, 10, 3, 25, 21, 24, 2, 71,
	20, 350, 84, 205, 185, 596, 150, 103, 128, 335, 14, 41, 235, 128, 352, 325,
	149, 10, 377, 353, 463, 151, 50, 50, 128, 67, 9, 50, 11, 50, 2, 1,
}

// byteShare returns the estimated share of b among all bytes.
func byteShare(b byte) float64 {
	if b >= 128 {
		return 0.003
	}
	return float64(byteShares[b]) / 10_000
}
