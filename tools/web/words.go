package web

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// line is text that strangers wrote, cleaned and on one line of ours.
func line(text string, most int) string {
	text, _ = tool.Clean(strings.Join(strings.Fields(text), " "))
	return short(text, most)
}

// short cuts text after so many characters.
func short(text string, most int) string {
	n := 0
	for i := range text {
		if n == most {
			return text[:i] + "..."
		}
		n++
	}
	return text
}

// window is the part of text from a character on, up to the end of a line or at
// least of a word where there is one near the end.
func window(text string, from, most int) (part string, end, total int) {
	begin, stop := -1, len(text)
	for i := range text {
		if total == from {
			begin = i
		}
		if total == from+most {
			stop = i
		}
		total++
	}
	if begin < 0 {
		return "", total, total
	}
	if stop < len(text) {
		stop = begin + lastBreak(text[begin:stop])
	}
	part = text[begin:stop]
	return part, from + utf8.RuneCountInString(part), total
}

// lastBreak is where to end a text that goes on: after the last line in its last
// fifth, or else after the last word there.
func lastBreak(text string) int {
	tail := len(text) * 4 / 5
	for _, at := range []string{"\n\n", "\n", " "} {
		if i := strings.LastIndex(text, at); i > tail {
			return i + len(at)
		}
	}
	return len(text)
}

// counted is a number of things.
func counted(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// amount is a number of bytes for reading.
func amount(n int64) string {
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
