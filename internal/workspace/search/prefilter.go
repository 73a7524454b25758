package search

import (
	"bytes"
	"math"
	"regexp/syntax"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/mcp-tools/mcp-tools/internal/workspace/search/literal"
)

// maxCost is the maximum cost of needles in nanoseconds for each byte. Beyond it the DFA
// is faster.
const maxCost = 1.3

// prefilterFor returns the prefilter of a trimmed pattern. If ends is set, line ends
// are ordinary bytes.
func prefilterFor(re *syntax.Regexp, ends bool) prefilter {
	p := literal.Analyzer{MaxTexts: 16, MaxClass: 8, Pick: cheapest}.Info(re)
	lineEnd := func(text string) bool { return strings.ContainsAny(text, "\r\n") }
	sure := p.Certain && p.All != nil && (ends || !slices.ContainsFunc(p.All.Texts, lineEnd))
	if needles, cost := needlesOf(p.All); sure && needles != nil && cost <= maxCost {
		return prefilter{needles: needles, certain: true}
	}
	if needles, cost := needlesOf(cheapest(p.Sets())); needles != nil && cost <= maxCost {
		return prefilter{needles: needles}
	}
	return prefilter{}
}

// cheapest returns the set that is cheapest to search for, or nil.
func cheapest(sets []*literal.Set) *literal.Set {
	var best *literal.Set
	least := math.Inf(1)
	for _, set := range sets {
		if needles, cost := needlesOf(set); needles != nil && cost < least {
			best, least = set, cost
		}
	}
	return best
}

// needlesOf returns the needles of a set, or nil if not every text has one.
func needlesOf(set *literal.Set) (needles []needle, cost float64) {
	if set == nil {
		return nil, 0
	}
	for _, text := range set.Texts {
		if text == "" {
			return nil, 0
		}
		n, ok := newNeedle(text), true
		if set.Fold {
			if n, ok = newFolded(text); !ok {
				return nil, 0
			}
		}
		needles, cost = append(needles, n), cost+n.cost()
	}
	return needles, cost
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
