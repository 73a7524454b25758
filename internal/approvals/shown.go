package approvals

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// A Shown call is the text that a person reads before a decision, in every place: the forms of clients, terminals,
// chats and the console. All texts are safe to show: characters that are invisible or that move others are written
// as <U+202E>, and none of the texts has a line break, so that no text from an agent looks like a text from the
// server.
type Shown struct {
	What    string   // the tool, by its title and name
	Where   string   // name of the workspace; "" without one
	Why     string   // reason for the risk, or the subject of the call; may be ""
	Risk    string   // the effect of the call, as a sentence
	Undo    string   // whether that can be undone, as a sentence
	Details []Detail // everything else that the decision may depend on; the arguments first
}

// A Detail is an argument or a fact of a call.
type Detail struct {
	Name     string
	Lines    []string // of the value; never empty
	Block    bool     // the lines stand below the name, also if it is one
	Argument bool     // the agent chose the name
}

// Show returns the call as people read it.
func (c Call) Show() Shown {
	s := Shown{What: fmt.Sprintf("%s (%s)", oneLine(c.Title), oneLine(c.Tool)), Why: oneLine(c.Why)}
	if c.Workspace != "" {
		s.Where = oneLine(filepath.Base(c.Workspace))
	}
	s.Risk, s.Undo = c.effect()
	s.Details = arguments(c.Shown)
	fact := func(name, value string) {
		if value != "" {
			s.Details = append(s.Details, Detail{Name: oneLine(name), Lines: []string{oneLine(value)}})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.Facts)) {
		if name != IdentityFact {
			fact(name, c.Facts[name])
		}
	}
	fact("Workspace", c.Workspace)
	fact("User", c.User)
	fact("Agent", c.Agent)
	return s
}

// effect returns the risk of the call, and whether it can be undone.
func (c Call) effect() (risk, undo string) {
	switch c.Risk {
	case tool.Reads.String():
		return "It only reads.", "There is nothing to undo."
	case tool.Writes.String():
		return "It changes something.", "The change can be undone."
	case tool.Destroys.String():
		if c.Kept {
			return "It deletes or overwrites files.",
				"Undo restores them for 30 days, except those over 4 MiB or ignored by git."
		}
		return "It deletes or overwrites data.", "This cannot be undone."
	}
	return "It runs code, or acts in your name.", "Not all that it does can be undone."
}

// Head returns the first line: the tool and the workspace.
func (s Shown) Head() string {
	line := s.What
	if s.Where != "" {
		line += " in " + s.Where
	}
	if s.Why != "" {
		line += ": " + s.Why
	}
	return line
}

// Effect returns the second line: the risk, and whether it can be undone.
func (s Shown) Effect() string { return s.Risk + " " + s.Undo }

// Text returns the question: tool and workspace, then the risk, then the details.
func (s Shown) Text() string { return s.text(0) }

// text breaks lines that are longer than width, so that a terminal does not break them where their author chooses. 0
// breaks none.
func (s Shown) text(width int) string {
	return strings.Join(foldLines(s.Head(), width), "\n  | ") + "\n" + s.Effect() + "\n\n" + s.details(width)
}

// DetailText returns the details below their heading.
func (s Shown) DetailText() string { return s.details(0) }

func (s Shown) details(width int) string {
	var b strings.Builder
	b.WriteString("Details:")
	for i, d := range s.Details {
		if d.Argument && i == 0 {
			b.WriteString("\nArguments:")
		}
		b.WriteString("\n")
		d.write(&b, width)
	}
	return b.String()
}

// write writes a detail. Lines below its name begin with a bar, so that they cannot imitate other lines.
func (d Detail) write(b *strings.Builder, width int) {
	indent := ""
	if d.Argument {
		indent = "  "
	}
	var lines []string
	for _, line := range d.Lines {
		lines = append(lines, foldLines(line, width)...)
	}
	name := indent + d.Name + ":"
	if !d.Block && len(lines) == 1 && (width == 0 || utf8.RuneCountInString(name+lines[0]) < width) {
		fmt.Fprintf(b, "%s %s", name, lines[0])
		return
	}
	b.WriteString(strings.Join(foldLines(name, width), "\n  | "))
	for _, line := range lines {
		b.WriteString("\n  | " + line)
	}
}

// arguments returns the arguments of a call. A text of several lines, or a long one, is a block.
func arguments(shown string) []Detail {
	whole := []Detail{{Name: "Arguments", Lines: []string{oneLine(shown)}}}
	d := jsontext.NewDecoder(strings.NewReader(shown))
	if token, err := d.ReadToken(); err != nil || token.Kind() != '{' {
		return whole
	}
	var all []Detail
	for d.PeekKind() == '"' {
		name, err := d.ReadToken()
		if err != nil {
			return whole
		}
		key := oneLine(name.String())
		value, err := d.ReadValue()
		if err != nil {
			return whole
		}
		all = append(all, argument(key, value))
	}
	if _, err := d.ReadToken(); err != nil {
		return whole
	}
	if _, err := d.ReadToken(); err != io.EOF || len(all) == 0 { // nothing may follow that is not shown
		return whole
	}
	return all
}

func argument(name string, value jsontext.Value) Detail {
	d := Detail{Name: name, Argument: true}
	var text string
	if json.Unmarshal(value, &text) != nil {
		d.Lines = []string{oneLine(string(value))}
		return d
	}
	d.Block = len(text) > shortArgument || strings.Contains(text, "\n") || name == "command"
	for line := range strings.SplitSeq(text, "\n") {
		d.Lines = append(d.Lines, oneLine(line))
	}
	return d
}

// shortArgument is the longest value that is written on the line of its name.
const shortArgument = 100

// oneLine replaces line breaks in text, so that it cannot imitate other lines of the question,
// and long runs of blanks: they could move a part of it out of sight.
func oneLine(text string) string {
	text = strings.NewReplacer("\n", "<U+000A>", "\t", "<U+0009>").Replace(tool.Visible(text))
	var b strings.Builder
	for {
		at := strings.Index(text, longBlank)
		if at < 0 {
			return b.String() + text
		}
		rest := strings.TrimLeft(text[at:], " ")
		fmt.Fprintf(&b, "%s<%d blanks>", text[:at], len(text)-at-len(rest))
		text = rest
	}
}

// longBlank is the shortest run of blanks that is counted instead of shown.
var longBlank = strings.Repeat(" ", 60)

// foldLines breaks text into lines of at most width cells; 0 is no limit.
func foldLines(text string, width int) []string {
	width = cmp.Or(width, len(text)*2+1)
	var lines []string
	var line strings.Builder
	cells := 0
	for _, r := range text {
		cell := 1
		if r >= 0x1100 { // the first character that may need two cells
			cell = 2
		}
		if r == '\n' || cells+cell > width {
			lines = append(lines, line.String())
			line.Reset()
			cells = 0
		}
		if r == '\n' {
			continue
		}
		if r == '\t' {
			r = ' '
		}
		line.WriteRune(r)
		cells += cell
	}
	return append(lines, line.String())
}
