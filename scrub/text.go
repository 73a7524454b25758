package scrub

import "strings"

// A span is a piece of text to be hidden.
type span struct {
	from, to int
	kind     string
	mask     string // the replacement; "" means the default mask
	tail     class  // bytes of the rest of a truncated secret, see Writer
}

// A text is a text being searched. Finders read it through the methods below. These record
// whether a result depends on input that has not arrived yet.
type text struct {
	s       string
	more    bool // something may follow s
	touched bool // a finder read past the end of s
	floor   int  // text before this is already written and only context
	done    int  // the end of the last span
	limit   int  // finders do not read further for now
	clipped bool // a finder reached the limit
}

const (
	spanLookBack = 80      // the most that a span begins before its trigger
	lookBack     = 256     // the most that a finder looks back
	lookAhead    = 2 << 10 // the most that a finder looks ahead before it is certain
)

// end returns how far a finder may read.
func (t *text) end() int { return min(len(t.s), t.limit) }

// noteEnd notes that a finder read up to i.
func (t *text) noteEnd(i int) int {
	if i >= len(t.s) {
		t.touched = true
	} else if i >= t.limit {
		t.clipped = true
	}
	return i
}

// run returns the end of the bytes of c that begin at i.
func (t *text) run(i int, c class) int {
	end := t.end()
	for i < end && kinds[t.s[i]]&c != 0 {
		i++
	}
	if i >= end {
		t.noteEnd(i)
	}
	return i
}

// runMax is like run for at most limit bytes.
func (t *text) runMax(i int, c class, limit int) int {
	end := min(len(t.s), i+limit)
	for i < end && kinds[t.s[i]]&c != 0 {
		i++
	}
	if i >= len(t.s) {
		t.touched = true
	}
	return i
}

// back returns the start of the bytes of c that end at i, at most limit of them. It stops at
// the last span, because the span becomes a mask.
func (t *text) back(i int, c class, limit int) int {
	stop := max(t.done, i-limit)
	for i > stop && kinds[t.s[i-1]]&c != 0 {
		i--
	}
	return i
}

// atEnd reports whether there is no byte at i.
func (t *text) atEnd(i int) bool {
	if i >= len(t.s) {
		t.touched = true
	}
	return i >= len(t.s)
}

// at returns the byte at i, or 0 outside.
func (t *text) at(i int) byte {
	if i >= len(t.s) {
		t.touched = true
		return 0
	}
	if i < 0 {
		return 0
	}
	return t.s[i]
}

// has reports whether want begins at i.
func (t *text) has(i int, want string) bool {
	if i < 0 || i > len(t.s) {
		return false
	}
	rest := t.s[i:]
	if len(rest) >= len(want) {
		return rest[:len(want)] == want
	}
	if want[:len(rest)] == rest {
		t.touched = true
	}
	return false
}

// hasFold reports whether want begins at i, in any case. want is lower case.
func (t *text) hasFold(i int, want string) bool {
	if i < 0 || i > len(t.s) {
		return false
	}
	rest := t.s[i:]
	if len(rest) < len(want) {
		t.touched = t.touched || hasFold(want, lowered(rest))
		return false
	}
	return hasFold(rest, want)
}

// lowered folds a few bytes; it is only called at the end of a text.
func lowered(s string) string {
	b := []byte(s)
	for i := range b {
		b[i] = fold(b[i])
	}
	return string(b)
}

// line returns the text of the line that i is in, up to i, at most
// lookBack bytes.
func (t *text) line(i int) string {
	stop := max(0, i-lookBack)
	for from := i; from > stop; from-- {
		if t.s[from-1] == '\n' || from-2 >= stop && t.s[from-1] == 'n' && t.s[from-2] == '\\' {
			return t.s[from:i]
		}
	}
	return t.s[stop:i]
}

// edge reports whether a word may begin at i: after anything but a letter or digit,
// or after an escape such as \n or %3D, or after the colour of a terminal.
func (t *text) edge(i int) bool {
	if i <= t.done || !alnum.has(t.s[i-1]) || t.afterColour(i) {
		return true
	}
	if i >= 2 && t.s[i-2] == '\\' {
		return true
	}
	if i >= 3 && t.s[i-3] == '%' && anyHex.all(t.s[i-2:i]) {
		return true
	}
	return i >= 6 && t.s[i-6] == '\\' && t.s[i-5] == 'u' && anyHex.all(t.s[i-4:i])
}

// afterColour reports whether a sequence such as ESC[1;32m ends at i. Tools and
// languages write the escape character in several ways.
func (t *text) afterColour(i int) bool {
	if i < 3 || !letter.has(t.s[i-1]) {
		return false
	}
	j := i - 1
	for j > 0 && i-j < 16 && (digit.has(t.s[j-1]) || t.s[j-1] == ';') {
		j--
	}
	if j == 0 || t.s[j-1] != '[' {
		return false
	}
	for _, escape := range []string{"\x1b", "<U+001B>", `\u001b`, `\u001B`, `\x1b`, `\033`, `\e`} {
		if strings.HasSuffix(t.s[:j-1], escape) {
			return true
		}
	}
	return false
}

// tokenRun is run for a token that may be escaped as in Markdown: ghp\_abc.
func (t *text) tokenRun(i int, c class) int {
	end := t.run(i, c)
	for t.at(end) == '\\' && (under | dash | dot).has(t.at(end+1)) && c.has(t.at(end+1)) {
		end = t.run(end+2, c)
	}
	return end
}

// start returns the actual start of a word that seems to begin at i: after the n of
// \n, after the 3D of %3D, after a colour.
func (t *text) start(i int) int {
	switch {
	case i == 0 || i >= len(t.s):
	case t.s[i-1] == '%' && i+2 <= len(t.s) && anyHex.all(t.s[i:i+2]):
		return i + 2
	case t.s[i-1] == '\\' && t.backslashes(i)%2 == 1:
		return i - 1 + escapeLength(t.s[i-1:])
	}
	if colour := t.runMax(i, digit, 4) + 1; colour > i+1 && t.afterColour(colour) {
		return colour
	}
	return i
}

// skipColour returns the end of a sequence such as ESC[0m at i, or i.
func (t *text) skipColour(i int) int {
	if t.at(i) != 0x1b || t.at(i+1) != '[' {
		return i
	}
	j := i + 2
	for digit.has(t.at(j)) || t.at(j) == ';' {
		j++
	}
	if t.at(j) != 'm' {
		return i
	}
	return j + 1
}

// withoutStops moves the end of a span before trailing dots.
func (t *text) withoutStops(from, to int) int {
	for to > from && t.s[to-1] == '.' {
		to--
	}
	return to
}

// wholeEscapes moves the ends of a span out of escapes such as \n, é and \\, so
// that JSON stays JSON: half an escape is never masked.
func (t *text) wholeEscapes(from, to int) (int, int) {
	for d := 1; d <= 5 && d <= from; d++ {
		if t.s[from-d] != '\\' {
			continue
		}
		if t.backslashes(from-d+1)%2 == 1 {
			from = from - d + max(d, escapeLength(t.s[from-d:]))
		}
		break
	}
	if to > 0 && to < len(t.s) && from < to && t.s[to-1] == '\\' && t.backslashes(to)%2 == 1 && escaped(t.s[to]) {
		to = min(len(t.s), to-1+escapeLength(t.s[to-1:]))
	}
	return from, to
}

// backslashes counts the backslashes that end at i.
func (t *text) backslashes(i int) int { return i - t.back(i, backslash, lookBack) }

// escaped reports whether b may follow a backslash in JSON.
func escaped(b byte) bool { return strings.IndexByte(`"\/bfnrtu`, b) >= 0 }

// escapeLength returns the length of the escape that s begins with.
func escapeLength(s string) int {
	switch {
	case len(s) >= 6 && s[1] == 'u' && anyHex.all(s[2:6]):
		return 6
	case len(s) >= 4 && s[1] == 'x' && anyHex.all(s[2:4]):
		return 4
	}
	return min(2, len(s))
}
