package web

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// line returns untrusted text cleaned, on one line, at most limit characters long.
func line(text string, limit int) string {
	text, _ = tool.Clean(strings.Join(strings.Fields(text), " "))
	return short(text, limit)
}

// short cuts a text after limit characters.
func short(text string, limit int) string {
	n := 0
	for i := range text {
		if n == limit {
			return text[:i] + "..."
		}
		n++
	}
	return text
}

// window returns at most limit characters of a text from an offset on. It ends after
// a line, or at least a word, if there is one near the end.
func window(text string, offset, limit int) (part string, end, total int) {
	begin, stop := -1, len(text)
	for i := range text {
		if total == offset {
			begin = i
		}
		if total == offset+limit {
			stop = i
		}
		total++
	}
	if begin < 0 {
		return "", total, total
	}
	if stop < len(text) {
		stop = begin + lastBreak(text[begin:stop])
		stop = begin + beforeHeading(text[begin:stop])
	}
	part = text[begin:stop]
	return part, offset + utf8.RuneCountInString(part), total
}

// lastBreak returns the position after the last paragraph, line or word within the
// last fifth of a text.
func lastBreak(text string) int {
	tail := len(text) * 4 / 5
	for _, separator := range []string{"\n\n", "\n", " "} {
		if i := strings.LastIndex(text, separator); i > tail {
			return i + len(separator)
		}
	}
	return len(text)
}

// beforeHeading returns the length of a text without the headings that it ends with.
func beforeHeading(text string) int {
	trimmed := strings.TrimRight(text, "\n")
	last := trimmed[strings.LastIndexByte(trimmed, '\n')+1:]
	if hashes := strings.TrimLeft(last, "#"); len(last) == len(trimmed) || len(hashes) == len(last) ||
		!strings.HasPrefix(hashes, " ") {
		return len(text)
	}
	return beforeHeading(trimmed[:len(trimmed)-len(last)])
}

// formatBytes returns a number of bytes for people.
func formatBytes(n int64) string {
	switch {
	case n < 1<<10:
		return fmt.Sprintf("%d bytes", n)
	case n < 1<<20:
		return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
	case n < 1<<30:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	}
	return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30))
}
