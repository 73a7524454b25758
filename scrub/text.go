package scrub

import "strings"

// A span is a piece of text to be hidden.
type span struct {
	from, to int
	kind     string
	mask     string // what to show instead; "" is the usual mask
	tail     class  // what a cut-off secret goes on with, see Writer
}

// A text is something being searched. Finders read it through the methods
// below, so that a search of the first half of a stream knows when an answer
// hangs on the half that has not arrived.
type text struct {
	s       string
	more    bool // something may follow s
	touched bool // a finder looked past the end of s since this was cleared
	floor   int  // what stands before is shown already, and only there to be looked back at
	done    int  // where the last span ends
	limit   int  // finders read no farther for now
	clipped bool // a finder came to the limit since this was cleared
}

const (
	leftReach = 80      // the farthest that a span begins before its trigger
	context   = 256     // the farthest that a finder looks back
	ahead     = 2 << 10 // the farthest that a finder looks forward before it is sure of a secret
)

// end is how far a finder may read.
func (t *text) end() int { return min(len(t.s), t.limit) }

// reached notes that a finder read up to i.
func (t *text) reached(i int) int {
	if i >= len(t.s) {
		t.touched = true
	} else if i >= t.limit {
		t.clipped = true
	}
	return i
}

// run is the end of the bytes of c that begin at i.
func (t *text) run(i int, c class) int {
	end := t.end()
	for i < end && kinds[t.s[i]]&c != 0 {
		i++
	}
	if i >= end {
		t.reached(i)
	}
	return i
}

// runMost is run, but goes no farther than most bytes.
func (t *text) runMost(i int, c class, most int) int {
	end := min(len(t.s), i+most)
	for i < end && kinds[t.s[i]]&c != 0 {
		i++
	}
	if i >= len(t.s) {
		t.touched = true
	}
	return i
}

// back is the start of the bytes of c that end at i, at most most of them. It
// does not reach into what is hidden: there a mask will stand.
func (t *text) back(i int, c class, most int) int {
	stop := max(t.done, i-most)
	for i > stop && kinds[t.s[i-1]]&c != 0 {
		i--
	}
	return i
}

// ends says that there is no byte at i.
func (t *text) ends(i int) bool {
	if i >= len(t.s) {
		t.touched = true
	}
	return i >= len(t.s)
}

// at is the byte at i, or 0 outside.
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

// has says that want begins at i.
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

// hasFold says that want, which is lower case, begins at i in any case.
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

// line is the text of the line that i is in, up to i and not farther back
// than the context.
func (t *text) line(i int) string {
	stop := max(0, i-context)
	for from := i; from > stop; from-- {
		if t.s[from-1] == '\n' || from-2 >= stop && t.s[from-1] == 'n' && t.s[from-2] == '\\' {
			return t.s[from:i]
		}
	}
	return t.s[stop:i]
}

// edge says that a word may begin at i: what stands before is no letter and
// no digit, or is the end of an escape such as \n, = or %3D.
func (t *text) edge(i int) bool {
	if i <= t.done || !alnum.has(t.s[i-1]) {
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

// start is where a word that seems to begin at i begins: behind the n of \n,
// the 3D of %3D and the like.
func (t *text) start(i int) int {
	switch {
	case i == 0 || i >= len(t.s):
	case t.s[i-1] == '%' && i+2 <= len(t.s) && anyHex.all(t.s[i:i+2]):
		return i + 2
	case t.s[i-1] == '\\' && t.sloshes(i)%2 == 1:
		return i - 1 + escapeLength(t.s[i-1:])
	}
	return i
}

// sentence moves the end of a span before the stops that end a sentence.
func (t *text) sentence(from, to int) int {
	for to > from && t.s[to-1] == '.' {
		to--
	}
	return to
}

// whole moves the ends of a span out of escapes such as \n, é and \\, so
// that JSON stays JSON: half an escape is never hidden.
func (t *text) whole(from, to int) (int, int) {
	for d := 1; d <= 5 && d <= from; d++ {
		if t.s[from-d] != '\\' {
			continue
		}
		if t.sloshes(from-d+1)%2 == 1 {
			from = from - d + max(d, escapeLength(t.s[from-d:]))
		}
		break
	}
	if to > 0 && to < len(t.s) && from < to && t.s[to-1] == '\\' && t.sloshes(to)%2 == 1 && escaped(t.s[to]) {
		to = min(len(t.s), to-1+escapeLength(t.s[to-1:]))
	}
	return from, to
}

// sloshes counts the backslashes that end at i.
func (t *text) sloshes(i int) int { return i - t.back(i, slosh, context) }

// escaped says that b may stand behind a backslash in JSON.
func escaped(b byte) bool { return strings.IndexByte(`"\/bfnrtu`, b) >= 0 }

// escapeLength is the length of the escape that s begins with.
func escapeLength(s string) int {
	switch {
	case len(s) >= 6 && s[1] == 'u' && anyHex.all(s[2:6]):
		return 6
	case len(s) >= 4 && s[1] == 'x' && anyHex.all(s[2:4]):
		return 4
	}
	return min(2, len(s))
}
