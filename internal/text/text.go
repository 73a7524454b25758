// Package text shortens and counts for sentences that people and models read, and
// compiles patterns when they are needed. It does not format times, and it does not scrub.
package text

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// ellipsis marks the place where Clip cut.
const ellipsis = "…"

// Clip returns s if it has at most max bytes, else its beginning with an
// ellipsis, max bytes together. It never cuts within a character.
func Clip(s string, max int) string {
	if len(s) <= max {
		return s
	}
	if max <= len(ellipsis) {
		return ""
	}
	return Cut(s, max-len(ellipsis)) + ellipsis
}

// ClipWords is Clip that leaves out the whole of a long word at the cut. It is for texts that are scrubbed
// afterwards: half of a credential matches no pattern.
func ClipWords(s string, max int) string {
	clipped := Clip(s, max)
	if clipped == s || len(clipped) < len(ellipsis) {
		return clipped
	}
	cut := len(clipped) - len(ellipsis)
	start := strings.LastIndexFunc(s[:cut], unicode.IsSpace) + 1
	end := strings.IndexFunc(s[cut:], unicode.IsSpace)
	if end < 0 {
		end = len(s) - cut
	}
	if cut+end-start < longWord {
		return clipped
	}
	return s[:start] + ellipsis
}

// longWord is the least length of a word that may be a credential, in bytes.
const longWord = 16

// ClipCharacters is Clip for at most so many characters in place of bytes.
func ClipCharacters(s string, max int) string {
	if utf8.RuneCountInString(s) <= max {
		return s
	}
	if max < 1 {
		return ""
	}
	return string([]rune(s)[:max-1]) + ellipsis
}

// Cut returns s if it has at most max bytes, else its beginning without a mark. It never cuts within a character.
func Cut(s string, max int) string {
	if len(s) <= max {
		return s
	}
	for max > 0 && !utf8.RuneStart(s[max]) {
		max--
	}
	return s[:max]
}

// JSON returns v as JSON in one line, without the escapes that only HTML needs: models pay for them in tokens, and people
// cannot read them.
func JSON(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

// JSONLines is JSON with a line for each member and element.
func JSONLines(v any) ([]byte, error) {
	line, err := JSON(v)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	err = json.Indent(&b, line, "", "  ")
	return b.Bytes(), err
}

// Plural returns "1 file" or "3 files". Nouns that do not take an s pass their
// plural: Plural(n, "entry", "entries").
func Plural(n int, noun string, plural ...string) string {
	switch {
	case n == 1:
		return "1 " + noun
	case len(plural) > 0:
		return strconv.Itoa(n) + " " + plural[0]
	}
	return strconv.Itoa(n) + " " + noun + "s"
}

// Bytes returns a size such as "1.2 MB".
func Bytes(n int64) string {
	if n < 1000 {
		return fmt.Sprintf("%d B", n)
	}
	value, unit := float64(n), ""
	for _, unit = range []string{"kB", "MB", "GB", "TB"} {
		if value /= 1000; value < 999.5 {
			break
		}
	}
	if value < 9.95 {
		return fmt.Sprintf("%.1f %s", value, unit)
	}
	return fmt.Sprintf("%.0f %s", value, unit)
}

// Pattern returns a function that compiles a regular expression at its first call. A wrong expression
// panics there. The patterns of all packages together would cost a start several milliseconds.
func Pattern(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}
