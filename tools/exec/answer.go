package exec

import (
	"fmt"
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/sandbox"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// An answer is the model's view of a command: its output, then one line with notes, then
// perhaps a hint.
//
// It has no structured content, since clients that get some show their model
// that instead of the text.
type answer struct {
	status sandbox.Status
	site   sandbox.Site
	printed
	kept   string // handle of the whole output, if the text is a part of it
	k      *task  // nil when the call only asks about it
	lost   error  // why its remaining processes could not be kept
	report bool   // say how it ended even if the exit code is 0
	// refused is why it could not connect to a host, or "".
	refused string
	also    []string
	view    any // the data for the page of an app, or nil
}

// endedBySignal is the exit code for a command that a signal ended.
const endedBySignal = 128

// An outcome is the result of a command for programs.
type outcome struct {
	State    string   `json:"state"`
	ExitCode int      `json:"exit_code"`
	Signal   string   `json:"signal,omitempty"`
	Output   string   `json:"output"` // stdout, then stderr, as the model gets it
	Stdout   string   `json:"stdout,omitempty"`
	Stderr   string   `json:"stderr,omitempty"`
	Notes    []string `json:"notes,omitempty"`
	Seconds  float64  `json:"seconds"`
	Process  string   `json:"process,omitempty"` // the handle of the running command
}

// process returns the handle of the running command.
func (a answer) process() string {
	if a.status.State == sandbox.Running || a.status.Left > 0 {
		return a.status.ID
	}
	return ""
}

// outcome returns the result for programs.
func (a answer) outcome(notes []string) outcome {
	st := a.status
	return outcome{
		State: string(st.State), ExitCode: st.Code, Signal: st.Signal, Output: a.text, Stdout: a.stdout, Stderr: a.stderr, Notes: notes,
		Seconds: st.Took.Seconds(), Process: a.process(),
	}
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
	res := tool.Text(strings.Join(lines, "\n")).With(a.outcome(notes)).Showing(a.view)
	if a.kept != "" {
		res = res.Add(tool.LinkToResult(a.kept))
	}
	res.Failed, res.Kind = kind != "", kind
	res.End = Ending(a.status)
	if a.status.State == sandbox.Exited {
		if res.ExitCode = a.status.Code; a.status.Signal != "" {
			res.ExitCode = endedBySignal
		}
	}
	return res
}

// ending describes how the command ended. An exit code other than 0 is not a failure
// of the tool: grep uses one for "nothing found".
func (a answer) ending() ([]string, tool.Kind) {
	st := a.status
	switch st.State {
	case sandbox.Exited:
		switch {
		case st.Signal != "":
			return []string{"ended by " + st.Signal}, ""
		case st.Code != 0:
			return []string{fmt.Sprintf("exit code %d", st.Code)}, ""
		case a.report:
			return []string{"exit code 0 after " + brief(st.Took)}, ""
		}
		return nil, ""
	case sandbox.TimedOut:
		note := "stopped after " + brief(st.Took) + ", when its time was up"
		if a.k != nil && !a.k.args.inBackground() {
			note += fmt.Sprintf("; timeout_seconds can be %d at most, background has no end",
				int(a.site.MaxTimeout.Seconds()))
		}
		return []string{note}, tool.Timeout
	case sandbox.Killed:
		return []string{because("ended on request", st.Why)}, tool.Cancelled
	case sandbox.LimitExceeded:
		return []string{because("killed because it used too much", st.Why)}, tool.TooLarge
	case sandbox.Lost:
		return []string{because("it was lost with its sandbox", st.Why)}, tool.Unavailable
	}
	return a.running(), ""
}

// Ending returns in a few words how a command ended, or that it runs in the background, for the audit log.
func Ending(st sandbox.Status) string {
	switch st.State {
	case sandbox.Exited:
		if st.Signal != "" {
			return "ended by " + st.Signal
		}
		return fmt.Sprintf("exit code %d", st.Code)
	case sandbox.TimedOut:
		return "stopped when its time was up"
	case sandbox.Killed:
		return "ended on request"
	case sandbox.LimitExceeded:
		return "killed because it used too much"
	case sandbox.Lost:
		return "lost with its sandbox"
	}
	return "runs in the background as " + st.ID
}

func because(what, why string) string {
	if why == "" {
		return what
	}
	return what + ": " + why
}

// running describes a command that still runs.
func (a answer) running() []string {
	id := a.status.ID
	switch {
	case a.status.Waiting && a.lost != nil:
		return []string{"it waited for input"}
	case a.status.Waiting:
		return []string{fmt.Sprintf("%s runs and waits for input: process write or send_keys", id)}
	case a.k != nil && a.k.args.inBackground():
		notes := []string{id + " runs; go on with process: wait, poll, log, write, kill"}
		if a.site.Isolated {
			notes = append(notes, "browser and web_fetch reach what it serves at localhost")
		}
		return notes
	}
	return []string{fmt.Sprintf("%s has been running for %s", id, brief(a.status.Took))}
}

// left describes processes that still run although the command itself has ended.
func (a answer) left() []string {
	n := a.status.Left
	switch {
	case a.lost != nil:
		return []string{fmt.Sprintf("what still ran of it was ended, since it could not be kept: %s",
			tool.AsError(a.lost))}
	case n == 0 || a.status.State == sandbox.Running:
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

// note reports that the command ran in another sandbox than configured.
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
