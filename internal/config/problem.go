package config

import (
	"fmt"
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// A Problem is something wrong with a setting, and where.
type Problem struct {
	Source  string `json:"source"`            // a file, a variable or a flag
	Line    int    `json:"line,omitempty"`    // in a file; 0 when there is none to name
	Key     string `json:"key,omitempty"`     // empty when it is about the whole source
	Text    string `json:"text"`              // what is wrong, and what to do
	Warning bool   `json:"warning,omitempty"` // the program can work with it
}

func (p Problem) String() string {
	var text strings.Builder
	text.WriteString(p.Source)
	if p.Line > 0 {
		fmt.Fprintf(&text, ":%d", p.Line)
	}
	if p.Key != "" {
		text.WriteString(": " + p.Key)
	}
	text.WriteString(": ")
	if p.Warning {
		text.WriteString("warning: ")
	}
	text.WriteString(p.Text)
	return text.String()
}

// Problems are all that is wrong, as an error with one problem a line.
type Problems []Problem

// maxShown bounds an error that somebody has to read.
const maxShown = 50

func (ps Problems) Error() string {
	var lines []string
	for _, p := range ps[:min(len(ps), maxShown)] {
		lines = append(lines, p.String())
	}
	if more := len(ps) - maxShown; more > 0 {
		lines = append(lines, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(lines, "\n")
}

// brief shortens what somebody wrote to what fits into a message.
func brief(text string) string {
	const most = 60
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return text
}

// printable keeps a message on one line, and a terminal out of its reach.
func printable(text string) string {
	return tool.Visible(strings.NewReplacer("\n", " ", "\t", " ").Replace(text))
}
