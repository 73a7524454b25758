package search

import (
	"strings"

	"github.com/mcp-tools/mcp-tools/scrub"
)

// showLine is a line of a window to show. Lines of a private key say nothing of
// what they are once they stand alone, so here is the place to hide them.
func (m *Matcher) showLine(window []byte, start, end, number int, match bool) Line {
	text := window[start:end]
	if body := keyBody(text); len(body) >= shortBody && inKey(window, start) {
		return Line{Number: number, Match: match, Text: strings.Replace(string(text), body, scrub.Mask, 1)}
	}
	return m.formatLine(text, number, match)
}

// shortBody is what may be a word of a program that mentions keys, or the last
// characters of a key that say nothing without the rest.
const shortBody = 16

// keyBody is what a line has of a key. No line of one is long.
func keyBody(line []byte) string {
	const longest = 500
	if len(line) > longest {
		return ""
	}
	return scrub.KeyBody(string(line))
}

// inKey reports whether a private key has begun before a place and not ended.
func inKey(text []byte, at int) bool {
	return scrub.OpenKey(text[max(0, at-scrub.LongestKey):at])
}
