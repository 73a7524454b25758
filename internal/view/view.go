// Package view has the page of MCP Apps, for clients to show results, and the types of the page's data.
//
// A tool returns one of the types as the View of its result. The page knows the types by their kind and writes all
// texts as text, never as HTML. It knows no result that the server has not scrubbed.
package view

import (
	"bytes"
	"embed"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/rogpeppe/go-internal/diff"
)

//go:embed page
var files embed.FS

// scripts are the parts of the page's script, in their order.
const scripts = "host parts files output board memories chart document graph show"

// Page returns the page: one HTML file that loads nothing.
var Page = sync.OnceValue(func() string {
	part := func(name string) string {
		text, _ := files.ReadFile("page/" + name) // it is in the program
		return string(text)
	}
	var script strings.Builder
	for _, name := range strings.Fields(scripts) {
		script.WriteString(part(name + ".js"))
	}
	return strings.NewReplacer("{{style.css}}", part("style.css"), "{{scripts}}", script.String()).Replace(part("page.html"))
})

// A Changes shows the files that a call changed.
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
	More    bool     `json:"more,omitempty"` // there are cards that are not shown
}

// A Column is a column of a board.
type Column struct {
	Name  string `json:"name"`
	Cards []Card `json:"cards"`
}

// A Card is one thing on a board.
type Card struct {
	Title   string `json:"title"`
	About   string `json:"about,omitempty"`
	Label   string `json:"label,omitempty"`
	Percent int64  `json:"percent,omitempty"` // that is done
	Now     bool   `json:"now,omitempty"`     // the call was about it
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

// A Chart shows numbers. The page draws it again, so that it can show the values under the pointer.
type Chart struct {
	Kind    string    `json:"kind"` // "chart"
	Chart   string    `json:"chart"`
	Title   string    `json:"title,omitempty"`
	XTitle  string    `json:"x_title,omitempty"`
	YTitle  string    `json:"y_title,omitempty"`
	Stacked bool      `json:"stacked,omitempty"`
	Labels  []string  `json:"labels,omitempty"` // of the values of all series
	Places  []float64 `json:"places,omitempty"` // of the labels, from 0 to 1; nil: all are equally distant
	Series  []Series  `json:"series"`
	File    string    `json:"file,omitempty"` // with the picture
}

// A Series is a row of a chart's values; nil where there is none.
type Series struct {
	Name   string     `json:"name"`
	Values []*float64 `json:"values"`
	X      []float64  `json:"x,omitempty"` // of the points of a scatter chart
}

// A Document shows pages of a document.
type Document struct {
	Kind   string         `json:"kind"` // "document"
	Path   string         `json:"path,omitempty"`
	URL    string         `json:"url,omitempty"`
	Name   string         `json:"name"`
	Title  string         `json:"title,omitempty"`
	Format string         `json:"format"`
	Unit   string         `json:"unit,omitempty"` // page, slide or sheet; "" if the document has none
	Total  int            `json:"total"`
	Pages  []DocumentPage `json:"pages"`
	Offset int            `json:"offset,omitempty"` // bytes of the last page that were shown, if it has more
}

// A DocumentPage is a page of a document, or a part of it.
type DocumentPage struct {
	Number    int    `json:"number"`
	Name      string `json:"name,omitempty"`
	OCR       bool   `json:"ocr,omitempty"`
	Continued bool   `json:"continued,omitempty"`
	Text      string `json:"text"` // Markdown
}

// Jobs shows scheduled jobs.
type Jobs struct {
	Kind  string   `json:"kind"` // "jobs"
	Jobs  []Job    `json:"jobs"`
	More  int      `json:"more,omitempty"`  // jobs that are not shown
	Ended []string `json:"ended,omitempty"` // names of jobs without further runs
}

// A Job is work that is done at times.
type Job struct {
	Name     string      `json:"name"`
	Work     string      `json:"work"`
	Schedule string      `json:"schedule"`
	Zone     string      `json:"zone,omitempty"`
	Paused   bool        `json:"paused,omitempty"`
	Next     []time.Time `json:"next,omitempty"`
	Last     string      `json:"last,omitempty"` // outcome of the last run
	LastAt   time.Time   `json:"last_at,omitzero"`
	Failures int         `json:"failures,omitempty"` // in a row
}

// Memories shows the results of a search in memories, the best first.
type Memories struct {
	Kind  string `json:"kind"` // "memories"
	Query string `json:"query"`
	Hits  any    `json:"hits"`
	Note  string `json:"note,omitempty"` // without hits
	More  bool   `json:"more,omitempty"`
}

// A Graph shows things and how they are related.
type Graph struct {
	Kind  string `json:"kind"` // "graph"
	Query string `json:"query,omitempty"`
	From  string `json:"from,omitempty"` // name of the thing whose connections are shown
	Nodes []Node `json:"nodes"`
	Edges []Edge `json:"edges"`
	Note  string `json:"note,omitempty"` // without nodes
	More  bool   `json:"more,omitempty"`
}

// Limits of a graph that can be read.
const (
	MaxNodes = 80
	MaxEdges = 200
)

// A Node is a thing in a graph.
type Node struct {
	ID      string            `json:"id"`
	Name    string            `json:"name"`
	Type    string            `json:"type,omitempty"`
	About   string            `json:"about,omitempty"`
	Aliases []string          `json:"aliases,omitempty"`
	Facts   map[string]string `json:"facts,omitempty"`
	Hit     bool              `json:"hit,omitempty"` // the search was for it
}

// An Edge is a relation of two nodes.
type Edge struct {
	From  string `json:"from"`
	To    string `json:"to"`
	Label string `json:"label"`
}

// A Snapshot shows a page in a browser.
type Snapshot struct {
	Kind    string   `json:"kind"` // "snapshot"
	Tab     string   `json:"tab,omitempty"`
	Tabs    int      `json:"tabs,omitempty"`
	Address string   `json:"address"`
	Notes   []string `json:"notes,omitempty"`
	Outline string   `json:"outline,omitempty"`
	Picture []byte   `json:"picture,omitempty"`
	MIME    string   `json:"mime,omitempty"` // of the picture; a picture of the result itself need not be here
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
