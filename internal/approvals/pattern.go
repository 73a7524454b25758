package approvals

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

const maxPattern = 1000

// checkPattern returns an error if a pattern is invalid or misleading.
func checkPattern(pattern string) error {
	switch {
	case pattern == "" || len(pattern) > maxPattern:
		return fmt.Errorf("a pattern must have 1 to %d bytes", maxPattern)
	case strings.ContainsFunc(pattern, invisible):
		return fmt.Errorf("the pattern %q has invisible characters", pattern)
	case strings.Contains(pattern, "***"):
		return fmt.Errorf("the pattern %q has three stars in a row; use ** to match everything", pattern)
	}
	return nil
}

// invisible reports whether c is invisible or replaces invalid UTF-8.
func invisible(c rune) bool { return c == utf8.RuneError || tool.Hidden(c) }

// matchesPattern reports whether the whole text matches: * matches any characters
// but a slash, ** any characters, ? one character but a slash. A text that may be
// misread, with .. or a backslash for example, matches nothing.
func matchesPattern(pattern, text string) bool {
	if strings.ContainsFunc(text, invisible) || strings.Contains(text, `\`) ||
		slices.Contains(strings.Split(text, "/"), "..") || len(text) > maxText {
		return false
	}
	return matches(pattern, text)
}

// maxText limits the time of a comparison.
const maxText = 64 << 10

// matches tracks all positions in the pattern at once, so that its time is at most
// proportional to the lengths of text and pattern.
func matches(pattern, text string) bool {
	p := []rune(pattern)
	reach := skipStars(p, []int{0}) // possible positions in the pattern
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

// stars returns the number of stars at a position.
func stars(p []rune, at int) int {
	n := 0
	for at+n < len(p) && p[at+n] == '*' {
		n++
	}
	return n
}

// skipStars adds the positions after stars, which may match nothing.
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
