package scrub

import "slices"

// Dumps and source code write the bytes of a value apart from each other:
// 61 62 63, 6162 6364, 61:62:63, 61-62-63, \x61\x62\x63, 0x61 0x62 and
// 0x61, 0x62. What stands between is not the same everywhere, and may be a line
// break; the digits are.

const (
	apartReach = 64 // the farthest that such a value may begin before its trigger
	gapMost    = 4  // signs between two pairs, beside a line break
)

// triggersApart are two windows for each way to write the pairs of f. A line
// break in the place of a sign can be in one of them only. Of pairs in groups,
// two next to each other are looked for: the space can be in one of them only.
func (f form) triggersApart() (out []trigger) {
	add := func(before, window string, k int) {
		find := func(t *text, at int) (span, bool) { return f.findApart(t, at+len(before), k) }
		out = append(out, trigger{windows: []uint32{windowOf(window)}, find: find})
	}
	for _, way := range []struct{ before, after string }{{"", " "}, {"", ":"}, {"", "-"}, {"x", `\`}, {"x", ","}, {"x", " "}} {
		window := func(k int) string { return (way.before + f.text[k:k+2] + way.after + f.text[k+2:])[:4] }
		places := []int{0, 2, 4, 6, 8} // a value has six pairs at least
		slices.SortStableFunc(places, func(a, b int) int { return rarity(window(b)) - rarity(window(a)) })
		for _, k := range places[:2] {
			add(way.before, window(k), k)
		}
	}
	best, both := 0, -1
	for _, k := range []int{0, 2, 4, 6} {
		if sum := rarity(f.text[k:k+4]) + rarity(f.text[k+2:]); sum > both {
			best, both = k, sum
		}
	}
	add("", f.text[best:best+4], best)
	add("", f.text[best+2:best+6], best+2)
	return out
}

// findApart compares the pairs around at, where the pair should be that begins
// with the digit k of f.
func (f form) findApart(t *text, at, k int) (span, bool) {
	from, to := at, at
	for i := k; ; i += 2 {
		if !f.pair(t, to, i) {
			return span{}, false
		}
		if to += 2; i+2 >= len(f.text) {
			break
		}
		to = t.gapAfter(to)
	}
	for i := k - 2; i >= 0; i -= 2 {
		if from = t.gapBefore(from) - 2; from < max(0, at-apartReach) || !f.pair(t, from, i) {
			return span{}, false
		}
	}
	from = t.prefixBefore(from)
	return span{from: from, to: to, kind: "value", mask: f.mask}, true
}

// pair says that the two digits of f from k on are at i.
func (f form) pair(t *text, i, k int) bool {
	return fold(t.at(i)) == f.text[k] && fold(t.at(i+1)) == f.text[k+1]
}

// gapAfter is where the next pair begins behind one that ends at i.
func (t *text) gapAfter(i int) int {
	i = t.runMost(i, blank|colon|dash|comma, gapMost)
	if b := t.at(i); anyHex.has(b) && b != '0' {
		return i
	}
	i = t.wrapAfter(i)
	if j := t.runMost(i, slosh, gapMost); j > i && fold(t.at(j)) == 'x' {
		return j + 1
	}
	if t.hasFold(i, "0x") {
		return i + 2
	}
	return i
}

// gapBefore is where the last pair ends before one that begins at i.
func (t *text) gapBefore(i int) int {
	i = t.wrapBefore(t.prefixBefore(i))
	return t.back(i, blank|colon|dash|comma, gapMost)
}

// prefixBefore is where the \x or the 0x begins that ends at i, or i.
func (t *text) prefixBefore(i int) int {
	if i < 2 || fold(t.s[i-1]) != 'x' {
		return i
	}
	if j := t.back(i-1, slosh, gapMost); j < i-1 {
		return j
	}
	if t.s[i-2] == '0' {
		return i - 2
	}
	return i
}
