package search

import (
	"bytes"
	"regexp/syntax"
	"unicode/utf8"
	"unsafe"

	"github.com/mcp-tools/mcp-tools/scrub"
)

// A search must not answer guesses about a secret: a pattern that matches if the secret begins
// with an h would reveal it letter by letter. So a line with a secret is matched with an opaque
// character in place of each byte of the secret. Only . and classes that contain all visible
// characters match it, and these match every secret as well. So a line that matches in this
// form also matches in its true form, and the index and the prefilter miss none, because they
// know the true form.

// opaque is the form of [scrub.Opaque] in package regexp: the rune is not valid UTF-8.
const opaque = utf8.RuneError

// withoutOpaque returns re with the opaque character only in classes of all visible
// characters. Nothing is between an opaque character and another for \B, and with
// words also for classes: a pattern could find out where a secret has letters.
func withoutOpaque(re *syntax.Regexp, words bool) *syntax.Regexp {
	words = words || hasOp(re, syntax.OpWordBoundary) || hasOp(re, syntax.OpNoWordBoundary)
	return rewritten(re, words)
}

// noMatch matches no text.
const noMatch = `[^\x00-\x{10FFFF}]`

func hasOp(re *syntax.Regexp, op syntax.Op) bool {
	for _, sub := range re.Sub {
		if hasOp(sub, op) {
			return true
		}
	}
	return re.Op == op
}

func rewritten(re *syntax.Regexp, words bool) *syntax.Regexp {
	out := *re
	switch re.Op {
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		if words {
			pairs, _ := singleRune(re)
			out = syntax.Regexp{Op: syntax.OpCharClass, Rune: withoutRune(pairs, opaque)}
		}
	case syntax.OpCharClass:
		if words || !covers(re.Rune, '!', '~') {
			out.Rune = withoutRune(re.Rune, opaque)
		}
	case syntax.OpNoWordBoundary:
		out = syntax.Regexp{Op: syntax.OpNoMatch}
	}
	out.Sub = make([]*syntax.Regexp, len(re.Sub))
	for i, sub := range re.Sub {
		out.Sub[i] = rewritten(sub, words)
	}
	return &out
}

// covers reports whether one of the pairs of a class contains all runes from lo to hi.
func covers(pairs []rune, lo, hi rune) bool {
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i] <= lo && pairs[i+1] >= hi {
			return true
		}
	}
	return false
}

// withoutRune returns the pairs of a class without r.
func withoutRune(pairs []rune, r rune) []rune {
	var out []rune
	for i := 0; i+1 < len(pairs); i += 2 {
		lo, hi := pairs[i], pairs[i+1]
		if r < lo || r > hi {
			out = append(out, lo, hi)
			continue
		}
		if lo < r {
			out = append(out, lo, r-1)
		}
		if r < hi {
			out = append(out, r+1, hi)
		}
	}
	return out
}

// A veil finds the secrets in one window of text after another. It looks at the text
// around a line when the first line there is asked for.
type veil struct {
	by       *scrub.Scrubber
	before   []byte // the end of the text before the window
	text     string // before and window
	shift    int    // where the window begins in text
	from, to int    // the part of text with known secrets
	secrets  scrub.Secrets
}

// veilStep is the number of bytes that are searched for secrets at once.
const veilStep = 64 << 10

// next moves to the next window of the text. before is the end of the text before it.
func (v *veil) next(before, window []byte) {
	v.before, v.shift = before, len(before)
	v.text, v.from, v.to, v.secrets = "", 0, 0, scrub.Secrets{}
	if len(before) == 0 {
		v.text = unsafe.String(unsafe.SliceData(window), len(window)) // without a copy: the window outlives the text
	}
}

// at returns the secrets around a part of the window, and the offset of the window in
// their positions.
func (v *veil) at(window []byte, start, end int) (scrub.Secrets, int) {
	if v.text == "" && v.shift > 0 {
		v.text = string(bytes.Join([][]byte{v.before, window}, nil))
	}
	start, end = start+v.shift, end+v.shift
	if start < v.from || end > v.to {
		v.from, v.to = start, min(max(end, start+veilStep), len(v.text))
		v.secrets = v.by.Secrets(v.text, v.from, v.to).Framed()
	}
	return v.secrets, v.shift
}
