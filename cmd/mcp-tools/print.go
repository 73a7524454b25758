package main

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// A painter colours words where a person looks at them. The zero painter
// leaves everything as it is.
type painter struct{ on bool }

// painter is for what goes to w.
func (a *app) painter(w io.Writer) painter {
	return painter{terminal(w) && a.getenv("NO_COLOR") == "" && a.getenv("TERM") != "dumb"}
}

// hues are the words that have a colour of their own, as SGR parameters.
var hues = map[string]string{
	"ok": "32", "allow": "32", "active": "32",
	"warn": "33", "ask": "33", "asked": "33", "expired": "33",
	"fail": "31", "deny": "31", "revoked": "31", "refused": "31", "internal": "31", "timeout": "31",
}

func (p painter) word(text string) string {
	hue, known := hues[text]
	if !p.on || !known {
		return text
	}
	return "\x1b[" + hue + "m" + text + "\x1b[0m"
}

// columns writes rows with their columns aligned. Every cell stays on its line,
// whoever wrote its text.
func (p painter) columns(w io.Writer, rows [][]string) error {
	var widths []int
	for i := range rows {
		for j, text := range rows[i] {
			rows[i][j] = oneLine(text)
			if j == len(widths) {
				widths = append(widths, 0)
			}
			widths[j] = max(widths[j], utf8.RuneCountInString(rows[i][j]))
		}
	}
	var b strings.Builder
	for _, row := range rows {
		for j, text := range row {
			b.WriteString(p.word(text))
			if j < len(row)-1 {
				b.WriteString(strings.Repeat(" ", widths[j]-utf8.RuneCountInString(text)+2))
			}
		}
		b.WriteByte('\n')
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// oneLine shows text on one line.
func oneLine(text string) string {
	return tool.Visible(strings.NewReplacer("\r\n", " ", "\n", " ", "\t", " ").Replace(text))
}

// forReader is text as it may be written to w: a program gets every byte, a
// terminal nothing that it would obey.
func forReader(w io.Writer, text string) string {
	if terminal(w) {
		return tool.Visible(text)
	}
	return text
}

// plural writes a number with its noun.
func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
