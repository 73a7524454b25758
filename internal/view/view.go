// Package view has the page with which clients show results in MCP Apps, and the types of what it shows.
//
// A tool returns one of the types as the View of its result. The page knows the types by their kind and writes all
// texts as text, never as HTML. It knows no result that the server has not scrubbed.
package view

import (
	"bytes"
	"embed"
	"strings"
	"unicode/utf8"

	"github.com/rogpeppe/go-internal/diff"
)

//go:embed page.html
var files embed.FS

// Page returns the page: one HTML file that loads nothing.
func Page() string {
	page, err := files.ReadFile("page.html")
	if err != nil { // it is in the program
		return ""
	}
	return string(page)
}

// A Changes shows what a call did to files.
type Changes struct {
	Kind  string `json:"kind"` // "changes"
	Files []File `json:"files"`
	Undo  string `json:"undo,omitempty"` // the change, for the tool undo; "" if it cannot be undone
	Undid bool   `json:"undid,omitempty"`
}

// A File is one changed file.
type File struct {
	Name   string `json:"name"`
	Was    string `json:"was,omitempty"` // its former name, if it has another now
	Action string `json:"action"`        // created, changed, removed, renamed, restored
	Diff   string `json:"diff"`          // lines that begin with a space, "-", "+" or "@@"
	Cut    int    `json:"cut,omitempty"` // lines of the difference that were left out
}

// A History shows earlier changes, the newest first.
type History struct {
	Kind    string `json:"kind"` // "history"
	Changes any    `json:"changes"`
	More    bool   `json:"more"`
}

// A Board shows cards in columns, such as the steps of a plan by their state.
type Board struct {
	Kind    string   `json:"kind"` // "board"
	Title   string   `json:"title"`
	Columns []Column `json:"columns"`
}

// A Column is a column of a board.
type Column struct {
	Name  string `json:"name"`
	Cards []Card `json:"cards"`
}

// A Card is one thing on a board.
type Card struct {
	Title string `json:"title"`
	About string `json:"about,omitempty"`
}

// An Output shows a command and its output.
type Output struct {
	Kind     string  `json:"kind"` // "output"
	Command  string  `json:"command"`
	State    string  `json:"state"`
	ExitCode int     `json:"exit_code"`
	Signal   string  `json:"signal,omitempty"`
	Seconds  float64 `json:"seconds"`
	Process  string  `json:"process,omitempty"` // the running command, for the tool process
	Streams  []Text  `json:"streams"`           // stdout, then stderr
}

// A Text is the end of a stream.
type Text struct {
	Text   string   `json:"text"`
	Colors [][3]int `json:"colors,omitempty"` // from, to, in UTF-16 units; and the style, see [Style]
	Before int64    `json:"before,omitempty"` // bytes before the text that are left out
}

// Limits of differences.
const (
	maxDiffed = 1 << 20  // bytes of a text
	maxLines  = 600      // of the difference of one file
	maxDiff   = 40 << 10 // bytes of the difference of one file
)

// Of returns the file with the difference of the file between two texts. Texts that are too long, or no text, have none. Credentials
// are removed from the texts before they are compared, so that no part of one is left.
func (f File) Of(before, after string, scrub func(string) string) File {
	if len(before) > maxDiffed || len(after) > maxDiffed || !isText(before) || !isText(after) {
		return f
	}
	_, lines, some := bytes.Cut(diff.Diff("", []byte(scrub(before)), "", []byte(scrub(after))), []byte("\n@@"))
	if !some {
		return f
	}
	f.Diff = "@@" + string(lines)
	end := 0
	for n := 0; n < maxLines && end < len(f.Diff); n++ {
		next := strings.IndexByte(f.Diff[end:], '\n') + 1
		if next == 0 || end+next > maxDiff {
			break
		}
		end += next
	}
	f.Cut = strings.Count(f.Diff[end:], "\n")
	f.Diff = f.Diff[:end]
	return f
}

func isText(s string) bool { return utf8.ValidString(s) && strings.IndexByte(s, 0) < 0 }
