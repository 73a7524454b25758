package patch

import (
	"fmt"
	"strings"

	"github.com/mcp-tools/mcp-tools/tools/fs/edit"
)

// ambiguous returns the error that a hunk fits at several places.
func (a *applier) ambiguous(number int, h Hunk, found []int) error {
	lines := make([]string, min(len(found), maxPlaces))
	for i := range lines {
		lines[i] = fmt.Sprint(found[i] + 1)
	}
	more := ""
	if len(found) >= maxPlaces {
		more = " and more"
	}
	e := errorf("hunk %d fits at lines %s%s", number, strings.Join(lines, ", "), more)
	e.Mismatch = true
	if h.Numbered {
		return e.try("correct its line number, or add lines around it")
	}
	return e.try("add lines around it, or write a line above it after @@")
}

// lost returns the error that no line matches an anchor.
func (a *applier) lost(number int, anchors []string) error {
	e := errorf("hunk %d: the line %.200q of its @@ is not in the file", number, anchors[0])
	e.Mismatch, e.Wanted = true, anchors[0]
	return e.try("read the file and send a line as it is there")
}

// mismatch returns the error that a hunk fits nowhere, with the most similar lines. Lines of files come last, since a
// sentence after them would look like a part of them.
func (a *applier) mismatch(number int, h Hunk) error {
	wanted := join(old(h.Lines))
	e := errorf("hunk %d does not match", number)
	e.Mismatch, e.Wanted = true, wanted
	if at, ok := a.applied(h); ok {
		e.What += fmt.Sprintf(": its old lines are not in the file, but its new lines are already at line %d", at+1)
		return e.try("leave this hunk out")
	}
	const most = 2
	near := edit.Candidates(a.whole, wanted, most)
	if len(near) == 0 {
		return e.try("read the file and send the patch for it as it is. Not in the file:\n%s", clip(wanted))
	}
	shown := ""
	for _, c := range near {
		shown += "\nnearest: " + c.String()
	}
	return e.try("send the patch for the lines as they are. Not in the file:\n%s%s", clip(wanted), shown)
}

// applied returns where the file has the new lines of h but not the old ones.
func (a *applier) applied(h Hunk) (int, bool) {
	if added, _ := h.changes(); added == 0 {
		return 0, false
	}
	v := a.find.view(lookEndings)
	ids, ok := v.numbers(without(h.Lines, Removed), lookEndings)
	if !ok {
		return 0, false
	}
	found := a.find.from(v, ids, 0, 1, func(int) bool { return true })
	if len(found) == 0 {
		return 0, false
	}
	return found[0], true
}

func join(lines []Line) string {
	var b strings.Builder
	for _, l := range lines {
		b.WriteString(withoutEnding(l.Text) + "\n")
	}
	return b.String()
}

// clip shortens a part of a patch for an error.
func clip(wanted string) string {
	const mostLines, widest = 8, 160
	lines := strings.Split(strings.TrimSuffix(wanted, "\n"), "\n")
	more := len(lines) - mostLines
	lines = lines[:min(len(lines), mostLines)]
	for i, line := range lines {
		if len(line) > widest {
			lines[i] = strings.ToValidUTF8(line[:widest], "") + "…"
		}
	}
	shown := strings.Join(lines, "\n")
	if more > 0 {
		shown += fmt.Sprintf("\n(and %d more)", more)
	}
	return shown
}
