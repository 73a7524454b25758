package search

import (
	"regexp"
	"unicode"
	"unicode/utf8"
)

// exact is the pattern as package regexp understands it: slow, and right.
type exact struct {
	first    *regexp.Regexp
	next     *regexp.Regexp // the same after a rune that it takes too; when matches may span lines
	group    int            // of the match itself
	maxBytes int            // emitBytes of a line that are looked at, lest it take seconds
}

const noWordRune = `[^\pL\pM\pN\p{Pc}]`

func newExact(pattern string, q Query, insts int) (e exact, err error) {
	e.maxBytes = maxSteps / insts
	first, rest := pattern, `(?s:.)(`+pattern+`)`
	if q.Word {
		rest = noWordRune + `(` + pattern + `)(?:` + noWordRune + `|\z)`
		first = `(?:\A|` + noWordRune + `)(` + pattern + `)(?:` + noWordRune + `|\z)`
		e.group = 1
	}
	if e.first, err = regexp.Compile(first); err != nil || !q.Multiline {
		return e, err
	}
	e.next, err = regexp.Compile(rest)
	return e, err
}

// addMatch reports whether a line has a match.
func (e *exact) matchesLine(line []byte) bool {
	return e.first.Match(line[:min(len(line), e.maxBytes)])
}

// locate returns where the first match of a line or a whole text is.
func (e *exact) locate(text []byte) (start, end int, ok bool) {
	text = text[:min(len(text), e.maxBytes)]
	if e.group == 0 {
		loc := e.first.FindIndex(text)
		if loc == nil {
			return 0, 0, false
		}
		return loc[0], loc[1], true
	}
	loc := e.first.FindSubmatchIndex(text)
	if loc == nil {
		return 0, 0, false
	}
	return loc[2], loc[3], true
}

// findAfter returns where the first match of a text at or after from is.
func (e *exact) findAfter(text []byte, from int) (start, end int, ok bool) {
	if from == 0 {
		return e.locate(text)
	}
	_, size := utf8.DecodeLastRune(text[:from])
	loc := e.next.FindSubmatchIndex(text[from-size:])
	if loc == nil {
		return 0, 0, false
	}
	return from - size + loc[2], from - size + loc[3], true
}

// isWhole reports whether no word goes on before or after a match.
func isWhole(text []byte, start, end int) bool {
	before, _ := utf8.DecodeLastRune(text[:start])
	after, _ := utf8.DecodeRune(text[end:])
	return !wordRune(before) && !wordRune(after)
}

// wordRune reports whether a word may have r in it; noWordRune is the opposite.
func wordRune(r rune) bool {
	if r < utf8.RuneSelf {
		return isWord(byte(r))
	}
	return unicode.In(r, unicode.L, unicode.M, unicode.N, unicode.Pc)
}
