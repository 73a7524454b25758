package config

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// A Problem is a mistake in a setting, and its place.
type Problem struct {
	Source  string `json:"source"`         // a file, a variable or a flag
	Line    int    `json:"line,omitempty"` // in a file; 0 if unknown
	Key     string `json:"key,omitempty"`  // empty if it is about the whole source
	Text    string `json:"text"`           // the mistake and its remedy
	Warning bool   `json:"-"`              // the program can run with it
}

// MarshalJSON returns the fields, and the severity: error or warning.
func (p Problem) MarshalJSON() ([]byte, error) {
	severity := "error"
	if p.Warning {
		severity = "warning"
	}
	type plain Problem
	return json.Marshal(struct {
		plain
		Severity string `json:"severity"`
	}{plain(p), severity})
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

// Problems is an error with all problems, one a line.
type Problems []Problem

// maxShown is the max number of problems in an error.
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

// brief shortens text from the operator for a message.
func brief(text string) string {
	const most = 60
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return text
}

// printable removes characters that could break a message into lines or control a terminal.
func printable(text string) string {
	return tool.Visible(strings.NewReplacer("\n", " ", "\t", " ").Replace(text))
}
