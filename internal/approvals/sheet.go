package approvals

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/mcp-tools/mcp-tools/internal/terminal"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// Sheet returns what a person decides on: who wants what, and its effect.
func (q *Question) Sheet() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s  %s, %s\n\n", q.ID, q.State, q.Expires.Local().Format("until "+time.DateTime))
	for _, who := range [][2]string{{"User", q.User}, {"Agent", q.Agent}} {
		if who[1] != "" {
			fmt.Fprintf(&b, "%-10s %s\n", who[0]+":", terminal.OneLine(who[1]))
		}
	}
	fmt.Fprintf(&b, "Tool:      %s (%s)\nEffect:    %s\n", terminal.OneLine(q.Title), terminal.OneLine(q.Tool),
		q.Effect())
	if q.Why != "" {
		fmt.Fprintf(&b, "Reason:    %s\n", terminal.OneLine(q.Why))
	}
	fmt.Fprintf(&b, "Workspace: %s\n", orDash(terminal.OneLine(q.Workspace)))
	for _, name := range slices.Sorted(maps.Keys(q.Facts)) {
		if name != IdentityFact {
			fmt.Fprintf(&b, "%-10s %s\n", capital(terminal.OneLine(name))+":", terminal.OneLine(q.Facts[name]))
		}
	}
	fmt.Fprintf(&b, "Arguments: %s\n", folded(tool.Visible(q.Shown)))
	if q.Once {
		b.WriteString("Only this call can be approved, not calls like it.\n")
	}
	if d := q.Decision; d != nil {
		word := "denied"
		if d.Allow {
			word = "allowed " + string(d.Scope)
		}
		fmt.Fprintf(&b, "Decision:  %s by %s (%s)\n", word, orDash(terminal.OneLine(d.By)), terminal.OneLine(d.Channel))
	}
	return b.String()
}

// Details returns what identifies a call for the audit log and for rules.
func (q *Question) Details() string {
	text := fmt.Sprintf("Caller:    %s\nSession:   %s\nProfile:   %s\nDigest:    %s\n",
		callerOf(q.Principal), terminal.OneLine(q.Session), terminal.OneLine(q.Profile), q.Digest)
	if identity := q.Facts[IdentityFact]; identity != "" {
		text += fmt.Sprintf("Identity:  %s\n", terminal.OneLine(identity))
	}
	return text
}

func capital(text string) string { return strings.ToUpper(text[:1]) + text[1:] }

// callerOf returns a caller for people: "/ann" is the user ann without an agent, and would look like a path.
func callerOf(principal string) string { return terminal.OneLine(strings.TrimPrefix(principal, "/")) }

// sheetWidth is the width of long texts in cells. It is less than the width of
// terminals, so that the terminal does not break lines where the author of a text
// chooses.
const sheetWidth = 72

// folded breaks text into lines and marks each, so that none of them looks like a
// line of the sheet. Text that fits beside its name stays there.
func folded(text string) string {
	lines := foldLines(text)
	if len(lines) == 1 && utf8.RuneCountInString(text) <= sheetWidth-len("Arguments: ") {
		return text
	}
	return "\n  | " + strings.Join(lines, "\n  | ")
}

func foldLines(text string) []string {
	var lines []string
	var line strings.Builder
	cells := 0
	for _, r := range text {
		width := 1
		if r >= 0x1100 { // the first character that may need two cells
			width = 2
		}
		if r == '\n' || cells+width > sheetWidth {
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
		cells += width
	}
	return append(lines, line.String())
}

// Sheet returns all details of a rule.
func (r *Rule) Sheet() string {
	var b strings.Builder
	fmt.Fprintf(&b, "Allows:     %s, as long as it %s at most\nArguments:  %s\n", terminal.OneLine(r.Tool), r.Risk,
		folded(tool.Visible(r.likeText())))
	fmt.Fprintf(&b, "Caller:     %s\nProfile:    %s\nWorkspace:  %s\n", callerOf(r.Principal),
		terminal.OneLine(r.Profile), terminal.OneLine(r.Workspace))
	if r.Scope == Session {
		fmt.Fprintf(&b, "Session:    %s, until its server ends\n", terminal.OneLine(r.Session))
	}
	if r.Basis != "" {
		b.WriteString("Facts:      must be the same as now\n")
	}
	fmt.Fprintf(&b, "Expires:    %s\n", r.Expires.Local().Format(time.DateTime))
	return b.String()
}

// likeText describes the arguments that a rule allows.
func (r *Rule) likeText() string {
	if r.Digest != "" {
		return "exactly " + r.Shown
	}
	var all []string
	for _, name := range slices.Sorted(maps.Keys(r.Match)) {
		all = append(all, fmt.Sprintf("%s like %q", name, r.Match[name]))
	}
	for _, name := range r.Any {
		all = append(all, name+" anything")
	}
	text := strings.Join(all, ", ")
	if len(r.Same) > 0 {
		text += "; " + strings.Join(slices.Sorted(maps.Keys(r.Same)), ", ") + " as in " + r.Shown
	}
	return text
}

func orDash(text string) string { return cmp.Or(text, "-") }
