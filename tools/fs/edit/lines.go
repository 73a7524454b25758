package edit

import (
	"strings"
	"unicode/utf8"
)

// SplitLines splits text after each line ending. The last line may have none; an empty text has no lines.
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

// ending returns the line ending of a line, or "".
func ending(line string) string {
	switch {
	case strings.HasSuffix(line, "\r\n"):
		return "\r\n"
	case strings.HasSuffix(line, "\n"):
		return "\n"
	}
	return ""
}

// body returns a line without its ending.
func body(line string) string { return line[:len(line)-len(ending(line))] }

func countLines(text string) int { return strings.Count(text, "\n") }

// startOfLine returns the beginning of the line that contains position i.
func startOfLine(text string, i int) int { return strings.LastIndexByte(text[:i], '\n') + 1 }

// endOfLine returns the end of the line that contains position i, after its line ending.
func endOfLine(text string, i int) int {
	if n := strings.IndexByte(text[i:], '\n'); n >= 0 {
		return i + n + 1
	}
	return len(text)
}

// startsLine reports whether position i is the beginning of a line.
func startsLine(text string, i int) bool { return i == 0 || text[i-1] == '\n' }

// linesBefore returns the beginning of the n lines that end at i, or of fewer at the beginning of the text.
func linesBefore(text string, i, n int) int {
	for ; n > 0 && i > 0; n-- {
		i = startOfLine(text, i-1)
	}
	return i
}

// linesAfter returns the end of the n lines that begin at i, or of fewer at the end of the text.
func linesAfter(text string, i, n int) int {
	for ; n > 0 && i < len(text); n-- {
		i = endOfLine(text, i)
	}
	return i
}

// sameStart returns the number of bytes that a and b have in common at the beginning.
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

const block = 512

// excerpt shortens a long line to about max bytes around a position. It cuts at the beginning of words or values, and
// never between a name and its value: the text may contain a secret, and a part of a secret is not recognized.
func excerpt(line string, at, most int) string {
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

// cutAfter returns a position at i or later where a line may be cut.
func cutAfter(line string, i int) int {
	for ; i < len(line); i++ {
		if mayCut(line, i) {
			return i
		}
	}
	return len(line)
}

// cutBefore returns a position at i or earlier where a line may be cut.
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
