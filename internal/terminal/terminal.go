// Package terminal prints for people: colours, aligned columns, times and sizes, and text
// without characters that control the terminal. It also reads secrets without showing them. It
// does not know the meaning of the text. Begin with Painter.
package terminal

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// A Painter colours words on a terminal. The zero Painter uses no colours.
type Painter struct{ on bool }

// NewPainter returns the painter for output to w.
func NewPainter(w io.Writer, getenv func(string) string) Painter {
	return Painter{IsTerminal(w) && getenv("NO_COLOR") == "" && getenv("TERM") != "dumb"}
}

// On reports whether the painter uses colours.
func (p Painter) On() bool { return p.on }

// hues are the words with a colour, as SGR parameters.
var hues = map[string]string{
	"ok": "32", "allow": "32", "active": "32",
	"warn": "33", "ask": "33", "asked": "33", "expired": "33",
	"fail": "31", "deny": "31", "revoked": "31", "refused": "31", "internal": "31", "timeout": "31",
}

func (p Painter) Word(text string) string {
	hue, known := hues[text]
	if !p.on || !known {
		return text
	}
	return "\x1b[" + hue + "m" + text + "\x1b[0m"
}

// Lines returns text with colours for words that stand alone: in a column, at the end of a
// line, or on a side of ": ". A column ends with two spaces.
func (p Painter) Lines(text string) string {
	if !p.on {
		return text
	}
	for _, mark := range []string{"\n", "  ", ": "} {
		if parts := strings.Split(text, mark); len(parts) > 1 {
			for i := range parts {
				parts[i] = p.Lines(parts[i])
			}
			return strings.Join(parts, mark)
		}
	}
	return p.Word(text)
}

// Columns writes rows with aligned columns. Every cell is on one line, whatever
// its text contains.
func (p Painter) Columns(w io.Writer, rows [][]string) error {
	_, err := io.WriteString(w, p.table(rows))
	return err
}

// Table returns rows with aligned columns, without colours.
func Table(rows [][]string) string { return Painter{}.table(rows) }

func (p Painter) table(rows [][]string) string {
	var widths []int
	for i := range rows {
		for j, text := range rows[i] {
			rows[i][j] = OneLine(text)
			if j == len(widths) {
				widths = append(widths, 0)
			}
			widths[j] = max(widths[j], utf8.RuneCountInString(rows[i][j]))
		}
	}
	var b strings.Builder
	for _, row := range rows {
		for j, text := range row {
			b.WriteString(p.Word(text))
			if j < len(row)-1 {
				b.WriteString(strings.Repeat(" ", widths[j]-utf8.RuneCountInString(text)+2))
			}
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// OneLine returns text on one line, with control characters made visible.
func OneLine(text string) string {
	if strings.ContainsAny(text, "\r\n\t") {
		text = strings.NewReplacer("\r\n", " ", "\n", " ", "\t", " ").Replace(text)
	}
	return tool.Visible(text)
}

// Short returns the beginning of a text, for a table.
func Short(text string, most int) string {
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most]) + "..."
	}
	return text
}

// ForReader returns text as it may be written to w: unchanged for a program, and
// without control characters for a terminal.
func ForReader(w io.Writer, text string) string {
	if IsTerminal(w) {
		return tool.Visible(text)
	}
	return text
}

// IsTerminal reports whether f is a terminal.
func IsTerminal(f any) bool {
	file, ok := f.(*os.File)
	if !ok {
		return false
	}
	info, err := file.Stat()
	if err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return false
	}
	null, err := os.Stat(os.DevNull) // a character device too
	return err != nil || !os.SameFile(info, null)
}

// FileSize formats a number of bytes.
func FileSize(n int64) string {
	switch {
	case n < 10<<10:
		return fmt.Sprintf("%d bytes", n)
	case n < 10<<20:
		return fmt.Sprintf("%d KiB", n>>10)
	}
	return fmt.Sprintf("%d MiB", n>>20)
}

func Date(t time.Time) string {
	if t.IsZero() {
		return "never"
	}
	return t.Local().Format("2006-01-02 15:04")
}
