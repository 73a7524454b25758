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

// Sheet returns the text of a call that a person decides on, for a terminal.
func (q *Question) Sheet() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s  %s, %s\n\n%s\n", q.ID, q.State, q.Expires.Local().Format("until "+time.DateTime),
		q.Show().text(sheetWidth))
	if q.Once {
		b.WriteString("Only this call can be approved, not calls like it.\n")
	}
	if e := q.Edited; e != nil {
		fmt.Fprintf(&b, "Arguments changed by %s (%s); the agent's were: %s\n", orDash(terminal.OneLine(e.By)),
			terminal.OneLine(e.Channel), folded(oneLine(e.Before)))
	}
	if d := q.Decision; d != nil {
		word := "denied"
		if d.Allow {
			word = "allowed " + string(d.Scope)
		}
		fmt.Fprintf(&b, "Decision: %s by %s (%s)\n", word, orDash(terminal.OneLine(d.By)), terminal.OneLine(d.Channel))
	}
	return b.String()
}

// Details returns the identity of a call for the audit log and for rules.
func (q *Question) Details() string {
	text := fmt.Sprintf("Caller: %s\nSession: %s\nProfile: %s\nDigest: %s\n",
		callerOf(q.Principal), terminal.OneLine(q.Session), terminal.OneLine(q.Profile), q.Digest)
	if identity := q.Facts[IdentityFact]; identity != "" {
		text += fmt.Sprintf("Identity: %s\n", terminal.OneLine(identity))
	}
	return text
}

// callerOf returns a caller for people: "/ann" is the user ann without an agent, and would look like a path.
func callerOf(principal string) string { return terminal.OneLine(strings.TrimPrefix(principal, "/")) }

// sheetWidth is the width of long texts in cells. It is less than the width of
// terminals, so that the terminal does not break lines where the author of a text
// chooses.
const sheetWidth = 72

// folded breaks text into lines and marks each, so that none of them looks like a
// line of the sheet. Text that fits beside its name stays there.
func folded(text string) string {
	lines := foldLines(text, sheetWidth)
	if len(lines) == 1 && utf8.RuneCountInString(text) <= sheetWidth-len("Arguments: ") {
		return text
	}
	return "\n  | " + strings.Join(lines, "\n  | ")
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
