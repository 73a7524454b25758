package approvals

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

const maxPattern = 1000

// checkPattern refuses patterns that do not say what they mean.
func checkPattern(pattern string) error {
	switch {
	case pattern == "" || len(pattern) > maxPattern:
		return fmt.Errorf("a pattern has 1 to %d bytes", maxPattern)
	case strings.ContainsFunc(pattern, invisible):
		return fmt.Errorf("the pattern %q has characters that are not seen", pattern)
	case strings.Contains(pattern, "***"):
		return fmt.Errorf("the pattern %q has three stars in a row; ** stands for everything", pattern)
	}
	return nil
}

// invisible reports whether c is not seen, or stands for what is no character.
func invisible(c rune) bool { return c == utf8.RuneError || tool.Hidden(c) }

// matchesPattern reports whether the whole text is like the pattern: * stands for any
// characters but a slash, ** for any at all, ? for one that is no slash. A text
// that could mean another place than it says fits nothing.
func matchesPattern(pattern, text string) bool {
	if strings.ContainsFunc(text, invisible) || strings.Contains(text, `\`) ||
		slices.Contains(strings.Split(text, "/"), "..") || len(text) > maxText {
		return false
	}
	return matches(pattern, text)
}

// maxText bounds the time that a comparison takes.
const maxText = 64 << 10

// matches follows all ways through the pattern at once, so that no text takes
// longer than its length times that of the pattern.
func matches(pattern, text string) bool {
	p := []rune(pattern)
	reach := skipStars(p, []int{0}) // where in the pattern we may be
	for _, c := range text {
		var next []int
		for _, at := range reach {
			switch {
			case at == len(p):
			case stars(p, at) == 2 || stars(p, at) == 1 && c != '/':
				next = append(next, at)
			case p[at] == c || p[at] == '?' && c != '/':
				next = append(next, at+1)
			}
		}
		if reach = skipStars(p, next); len(reach) == 0 {
			return false
		}
	}
	return slices.Contains(reach, len(p))
}

// stars is how many stars stand at a place.
func stars(p []rune, at int) int {
	n := 0
	for at+n < len(p) && p[at+n] == '*' {
		n++
	}
	return n
}

// skipStars adds the places behind stars, which may stand for nothing.
func skipStars(p []rune, reach []int) []int {
	for i := 0; i < len(reach); i++ {
		behind := reach[i] + stars(p, reach[i])
		if behind > reach[i] && !slices.Contains(reach, behind) {
			reach = append(reach, behind)
		}
	}
	slices.Sort(reach)
	return slices.Compact(reach)
}
