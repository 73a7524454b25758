// Package terminal prints for people: colours, aligned columns, times and sizes,
// and text in which no character controls the terminal. It also reads what must
// not be shown while it is typed. It knows nothing of what is printed. Begin with
// Painter.
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

// A Painter colours words where a person looks at them. The zero painter
// leaves everything as it is.
type Painter struct{ on bool }

// NewPainter returns the painter for what is written to w.
func NewPainter(w io.Writer, getenv func(string) string) Painter {
	return Painter{IsTerminal(w) && getenv("NO_COLOR") == "" && getenv("TERM") != "dumb"}
}

// On reports whether the painter uses colours.
func (p Painter) On() bool { return p.on }

// hues are the words that have a colour of their own, as SGR parameters.
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

// Columns writes rows with their columns aligned. Every cell stays on its line,
// whoever wrote its text.
func (p Painter) Columns(w io.Writer, rows [][]string) error {
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
	_, err := io.WriteString(w, b.String())
	return err
}

// OneLine shows text on one line.
func OneLine(text string) string {
	return tool.Visible(strings.NewReplacer("\r\n", " ", "\n", " ", "\t", " ").Replace(text))
}

// ForReader is text as it may be written to w: a program gets every byte, a
// terminal nothing that it would obey.
func ForReader(w io.Writer, text string) string {
	if IsTerminal(w) {
		return tool.Visible(text)
	}
	return text
}

// IsTerminal reports whether f is a person's terminal.
func IsTerminal(f any) bool {
	file, ok := f.(*os.File)
	if !ok {
		return false
	}
	info, err := file.Stat()
	if err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return false
	}
	null, err := os.Stat(os.DevNull) // the one character device that nobody looks at
	return err != nil || !os.SameFile(info, null)
}

// FileSize writes a number of bytes for people.
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
