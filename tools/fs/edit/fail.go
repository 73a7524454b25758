package edit

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/scrub"
	"github.com/mcp-tools/mcp-tools/tools/fs/textfile"
)

// unwritable explains why a text cannot be written in its encoding.
func unwritable(err error) error {
	var char *textfile.CharError
	if !errors.As(err, &char) {
		return err
	}
	return tool.Errorf(tool.Invalid, "the file is in %s, which has no character %q (%U); nothing was changed",
		char.Encoding, char.Char, char.Char).
		Try("write it differently, or convert the file to utf-8 first")
}

// numbered adds to err the number of the failed edit.
func numbered(err error, i, n int) error {
	var known *tool.Error
	if n == 1 || !errors.As(err, &known) {
		return err
	}
	return tool.Errorf(known.Kind, "edits[%d]: %s; none of the %d edits was made", i, known.What, n).
		Try("%s", known.Next).Because(known)
}

// several returns the error about a text that occurs more than once, with the lines.
func several(text string, found []match) error {
	const most = 20
	var lines []string
	line, at := 1, 0
	for _, m := range found[:min(most, len(found))] {
		line += countLines(text[at:m.start])
		at = m.start
		lines = append(lines, strconv.Itoa(line))
	}
	if lines = slices.Compact(lines); len(found) > most {
		lines = append(lines, "…")
	}
	where := "line"
	if len(lines) > 1 {
		where = "lines"
	}
	how := ""
	if rungs := found[0].rungs; len(rungs) > 0 {
		how = fmt.Sprintf(" (matched %s)", Step{rungs: rungs})
	}
	return tool.Errorf(tool.Invalid, "old_string occurs %d times%s, in %s %s", len(found), how, where,
		strings.Join(lines, ", ")).Try("add lines around the occurrence you mean, or set replace_all")
}

// missing returns the error that e.Old is not between two positions, with the likely reason or similar text.
func (d *draft) missing(e Edit, from, to int) error {
	where := "the file"
	if to-from < len(d.text) {
		first := 1 + countLines(d.text[:from])
		where = lineRange(first, first+len(SplitLines(d.text[from:to]))-1)
	}
	err := tool.Errorf(tool.Invalid, "old_string is not in %s", where)
	if why := d.why(e); why != "" {
		return err.Try("%s", why)
	}
	near := Candidates(d.shown(from, to), d.secrets.Hide(e.Old), 2)
	if len(near) == 0 {
		return err.Try("no similar text found; read the file again, or search for a word of it")
	}
	var b strings.Builder
	for _, c := range near {
		if lines := countLines(d.text[:from]); lines > 0 {
			c.First, c.Last = c.First+lines, c.Last+lines
			if c.Line > 0 {
				c.Line += lines
			}
		}
		b.WriteString("\n" + c.String())
	}
	return err.Try("copy it from the file. The most similar text:%s", b.String())
}

// why returns an obvious reason why e.Old was not found, or "".
func (d *draft) why(e Edit) string {
	switch {
	case scrub.HasMask(e.Old):
		return "text such as " + scrub.Mask + " stands for a hidden secret and matches nothing, unless it has the mark " +
			"that read_file shows now; choose lines around it"
	case strings.TrimSpace(e.Old) == "":
		return "it has only blanks: add text next to them"
	case strings.ContainsRune(e.Old, '\uFFFD') && strings.ToValidUTF8(d.text, "") != d.text:
		return "the file has invalid bytes, which are shown as \uFFFD: choose text without them"
	case d.text != d.original && len(find(d.original, e.Old, e.New)) > 0:
		return "it was in the file before the earlier edits of this call, which changed it"
	case hasNumbers(e.Old):
		return "remove the line numbers of the listing"
	}
	const telling = 8 // shorter texts occur by chance
	if len(strings.TrimSpace(e.New)) < telling {
		return ""
	}
	masked := d.shown(0, len(d.text))
	if at := strings.Index(masked, d.secrets.Hide(e.New)); at >= 0 {
		return fmt.Sprintf("but new_string is, in line %d; this edit may have been made already",
			1+countLines(masked[:at]))
	}
	return ""
}

// shown returns the text between two positions with masks in place of secrets, line by line.
func (d *draft) shown(from, to int) string {
	if !d.hidden.Any() {
		return d.text[from:to]
	}
	return d.secrets.Lines(from, to)
}

// hasNumbers reports whether all lines begin with a number and a mark, like 12: or 12| or 12#a3|.
func hasNumbers(text string) bool {
	for line := range strings.Lines(text) {
		rest := strings.TrimLeft(line, " \t")
		digits := len(rest) - len(strings.TrimLeft(rest, "0123456789"))
		if rest = rest[digits:]; digits == 0 || digits > 8 {
			return false
		}
		if strings.HasPrefix(rest, "#") && len(rest) > 3 {
			rest = rest[3:]
		}
		if !strings.HasPrefix(rest, "|") && !strings.HasPrefix(rest, ":") && !strings.HasPrefix(rest, "\t") &&
			!strings.HasPrefix(rest, "→") {
			return false
		}
	}
	return true
}
