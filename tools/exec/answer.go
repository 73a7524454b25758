package exec

import (
	"fmt"
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// An answer is what the model reads about a command: what it wrote, then in one
// line whatever else there is to know, then perhaps a hint.
//
// It has no structured content: clients that are given some show their model
// that, and not the text.
type answer struct {
	status Status
	site   Site
	text   string
	k      *task // nil when it was asked about later
	lost   error // why what is left of it could not be kept
	told   bool  // the end is told even if it is an ordinary one
	also   []string
}

func (a answer) result() tool.Result {
	notes, kind := a.ending()
	notes = append(notes, a.also...)
	notes = append(notes, a.left()...)
	if note := a.note(); note != "" {
		notes = append(notes, note)
	}
	if a.k != nil && a.k.note != "" {
		notes = append(notes, a.k.note)
	}
	var lines []string
	if a.text != "" {
		lines = append(lines, a.text)
	} else if a.k != nil {
		lines = append(lines, "(no output)")
	}
	if len(notes) > 0 {
		lines = append(lines, "["+strings.Join(notes, "; ")+"]")
	}
	if hint := a.hint(); hint != "" {
		lines = append(lines, "hint: "+hint)
	}
	res := tool.Text(strings.Join(lines, "\n"))
	res.Failed, res.Kind = kind != "", kind
	return res
}

// ending tells how it ended. An exit code that is not 0 is no failure of the
// tool: grep has one for «nothing found».
func (a answer) ending() ([]string, tool.Kind) {
	st := a.status
	switch st.State {
	case Exited:
		switch {
		case st.Signal != "":
			return []string{"ended by " + st.Signal}, ""
		case st.Code != 0:
			return []string{fmt.Sprintf("exit code %d", st.Code)}, ""
		case a.told:
			return []string{"exit code 0 after " + brief(st.Took)}, ""
		}
		return nil, ""
	case TimedOut:
		note := "stopped after " + brief(st.Took) + ", when its time was up"
		if a.k != nil && !a.k.args.inBackground() {
			note += fmt.Sprintf("; timeout_seconds can be %d at most, background has no end",
				int(a.site.Most.Seconds()))
		}
		return []string{note}, tool.Timeout
	case Killed:
		return []string{because("ended on request", st.Why)}, tool.Cancelled
	case Starved:
		return []string{because("killed because it took too much", st.Why)}, tool.TooLarge
	case Vanished:
		return []string{because("it is gone with its sandbox", st.Why)}, tool.Unavailable
	}
	return a.running(), ""
}

func because(what, why string) string {
	if why == "" {
		return what
	}
	return what + ": " + why
}

// running tells of a command that goes on.
func (a answer) running() []string {
	id := a.status.ID
	switch {
	case a.status.Waiting && a.lost != nil:
		return []string{"it waited for input"}
	case a.status.Waiting:
		return []string{fmt.Sprintf("%s runs and waits for input: process write or send_keys", id)}
	case a.k != nil && a.k.args.inBackground():
		note := id + " runs; go on with process: wait, poll, log, write, kill"
		if a.k.args.Keep {
			note += "; it outlives this session"
		}
		return []string{note}
	}
	return []string{fmt.Sprintf("%s has been running for %s", id, brief(a.status.Took))}
}

// left tells of what goes on although the command itself has ended.
func (a answer) left() []string {
	n := a.status.Left
	switch {
	case a.lost != nil:
		return []string{fmt.Sprintf("what still ran of it was ended, since it could not be kept: %s",
			tool.AsError(a.lost))}
	case n == 0 || a.status.State == Running:
		return nil
	}
	return []string{fmt.Sprintf("%s it started still %s as %s; process log or kill", count(n, "process", "processes"),
		be(n, "runs", "run"), a.status.ID)}
}

func count(n int, one, many string) string { return fmt.Sprintf("%d %s", n, be(n, one, many)) }

func be(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

// note tells when it ran elsewhere than it should have.
func (a answer) note() string {
	note := a.status.Note
	if note == "" {
		note = a.site.Note
	}
	if note == "" || a.k == nil {
		return ""
	}
	tier := a.status.Tier
	if tier == "" {
		tier = a.site.Tier
	}
	return "ran in " + tier + ": " + note
}
