package edit

import (
	"strings"
	"unicode/utf8"
)

// SplitLines cuts text after each line ending. The last line may have none;
// an empty text has no line.
func SplitLines(text string) []string {
	if text == "" {
		return nil
	}
	lines := strings.SplitAfter(text, "\n")
	if last := len(lines) - 1; lines[last] == "" {
		lines = lines[:last]
	}
	return lines
}

// ending is the line ending of a line, "" for none.
func ending(line string) string {
	switch {
	case strings.HasSuffix(line, "\r\n"):
		return "\r\n"
	case strings.HasSuffix(line, "\n"):
		return "\n"
	}
	return ""
}

// body is a line without its ending.
func body(line string) string { return line[:len(line)-len(ending(line))] }

func countLines(text string) int { return strings.Count(text, "\n") }

// startOfLine is where the line that holds position i begins.
func startOfLine(text string, i int) int { return strings.LastIndexByte(text[:i], '\n') + 1 }

// endOfLine is where the line that holds position i ends, its ending included.
func endOfLine(text string, i int) int {
	if n := strings.IndexByte(text[i:], '\n'); n >= 0 {
		return i + n + 1
	}
	return len(text)
}

// startsLine reports whether a line begins at i, or would.
func startsLine(text string, i int) bool { return i == 0 || text[i-1] == '\n' }

// linesBefore is where the n lines that end at i begin, at most.
func linesBefore(text string, i, n int) int {
	for ; n > 0 && i > 0; n-- {
		i = startOfLine(text, i-1)
	}
	return i
}

// linesAfter is where the n lines that begin at i end, at most.
func linesAfter(text string, i, n int) int {
	for ; n > 0 && i < len(text); n-- {
		i = endOfLine(text, i)
	}
	return i
}

// sameStart is how many bytes a and b have in common at their beginning.
func sameStart(a, b string) int {
	n, i := min(len(a), len(b)), 0
	for i+block <= n && a[i:i+block] == b[i:i+block] {
		i += block
	}
	for i < n && a[i] == b[i] {
		i++
	}
	return i
}

// sameEnd is how many bytes a and b have in common at their end.
func sameEnd(a, b string) int {
	n, i := min(len(a), len(b)), 0
	for i+block <= n && a[len(a)-i-block:len(a)-i] == b[len(b)-i-block:len(b)-i] {
		i += block
	}
	for i < n && a[len(a)-1-i] == b[len(b)-1-i] {
		i++
	}
	return i
}

const block = 512

// clip shortens a long line to about most bytes around position at. It cuts
// where words or values begin, and never between a name and its value: the
// text may hold a credential, and half of one is not known as such.
func clip(line string, at, most int) string {
	if len(line) <= most {
		return line
	}
	from, to := 0, len(line)
	if at > most/2 {
		from = cutAfter(line, at-most/2)
	}
	if from+most < to {
		to = max(cutBefore(line, from+most), from)
	}
	text := line[from:to]
	if from > 0 {
		text = "…" + text
	}
	if to < len(line) {
		text += "…"
	}
	return text
}

// cutAfter is a place at i or later where a line may be cut.
func cutAfter(line string, i int) int {
	for ; i < len(line); i++ {
		if mayCut(line, i) {
			return i
		}
	}
	return len(line)
}

// cutBefore is a place at i or earlier where a line may be cut.
func cutBefore(line string, i int) int {
	for ; i > 0; i-- {
		if mayCut(line, i) {
			return i
		}
	}
	return 0
}

func mayCut(line string, i int) bool {
	if i == 0 || i >= len(line) || !utf8.RuneStart(line[i]) {
		return i == 0 || i >= len(line)
	}
	switch line[i-1] {
	case ',', ';', '{', '}':
		return true
	case ' ', '\t':
		left := strings.TrimRight(line[:i], " \t")
		return left != "" && !strings.ContainsRune("=:", rune(left[len(left)-1])) &&
			!strings.ContainsRune("=: \t", rune(line[i]))
	}
	return false
}
