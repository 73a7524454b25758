package exec

import (
	"cmp"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/sandbox"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

type execArgs struct {
	Command    string            `json:"command,omitempty" jsonschema:"shell command to run" list:"argv" alias:"cmd,script,shell_command,bash,sh,powershell,command_line"`
	Argv       []string          `json:"argv,omitempty" jsonschema:"command as words, run without a shell" alias:"args"`
	Cwd        string            `json:"cwd,omitempty" jsonschema:"directory to run in" alias:"working_dir,workdir,working_directory,directory,dir,dir_path,cd"`
	Timeout    int               `json:"timeout_seconds,omitempty" jsonschema:"timeout in seconds" alias:"timeout_secs,timeout_sec"`
	Background bool              `json:"background,omitempty" jsonschema:"return at once; continue with the process tool" alias:"run_in_background,is_background"`
	Keep       bool              `json:"keep,omitempty" jsonschema:"with background: keep it after the session" alias:"detach"`
	Env        map[string]string `json:"env,omitempty" jsonschema:"environment variables to set" alias:"environment"`
	Stdin      string            `json:"stdin,omitempty" jsonschema:"text for standard input" alias:"input"`
	TTY        bool              `json:"tty,omitempty" jsonschema:"run in a terminal" alias:"pty"`

	// Elevated is mentioned only where the operator allows it: see Spec.
	Elevated bool `json:"elevated,omitempty" jsonschema:"run on the host, outside the sandbox" hidden:"true"`

	Other   int  `json:"timeout,omitempty" jsonschema:"timeout in seconds, from 1000 on in milliseconds" hidden:"true"`
	Millis  int  `json:"timeout_ms,omitempty" jsonschema:"timeout in milliseconds" hidden:"true"`
	InMS    bool `json:"timeout_is_ms,omitempty" jsonschema:"timeout is always in milliseconds" hidden:"true"`
	Yield   int  `json:"yield_ms,omitempty" jsonschema:"milliseconds to wait before the command continues in the background" hidden:"true" alias:"yield_time_ms"`
	IsInput bool `json:"is_input,omitempty" jsonschema:"the command is input for a running command" hidden:"true"`
	Subtask bool `json:"run_in_subtask,omitempty" jsonschema:"return the result in the envelope of a subtask" hidden:"true"`
	InPS    bool `json:"in_powershell,omitempty" jsonschema:"command is for PowerShell" hidden:"true"`
	others
}

// others are arguments that other systems have: texts for people, and settings
// of their own sandboxes and approvals.
type others struct {
	About1 unused `json:"description,omitempty,omitzero" jsonschema:"what it is for" hidden:"true"`
	About2 unused `json:"explanation,omitempty,omitzero" jsonschema:"what it is for" hidden:"true"`
	About3 unused `json:"justification,omitempty,omitzero" jsonschema:"what it is for" hidden:"true" alias:"goal,thought"`
	Risky1 unused `json:"requires_approval,omitempty,omitzero" jsonschema:"whether to ask for approval" hidden:"true" alias:"require_user_approval,safe_to_auto_run"`
	Risky2 unused `json:"security_risk,omitempty,omitzero" jsonschema:"how risky it seems" hidden:"true"`
	Walls1 unused `json:"sandbox_permissions,omitempty,omitzero" jsonschema:"another sandbox" hidden:"true" alias:"with_escalated_permissions,dangerously_disable_sandbox"`
	Risky3 unused `json:"security,omitempty,omitzero" jsonschema:"another policy" hidden:"true" alias:"ask,approved"`
	Walls2 unused `json:"host,omitempty,omitzero" jsonschema:"another machine" hidden:"true" alias:"node"`
	Login1 unused `json:"login,omitempty,omitzero" jsonschema:"run a login shell" hidden:"true"`
	Most1  unused `json:"max_output_tokens,omitempty,omitzero" jsonschema:"how much to show" hidden:"true"`
}

// unused is an argument of other systems that has no effect: the approver does not see it, and
// calls that differ only in it are equal.
type unused string

// IsZero leaves it out of JSON.
func (unused) IsZero() bool { return true }

const (
	maxEnv   = 100
	maxYield = 2 * time.Minute
	// maxSeconds is the greatest timeout that counts as seconds where neither the argument nor
	// the name of the tool gives the unit: a caller that means milliseconds must not wait for
	// an hour.
	maxSeconds = 999
)

// check refuses arguments that make no sense, before anyone has to approve them.
func (a execArgs) check() error {
	switch {
	case a.IsInput:
		return tool.Errorf(tool.Invalid, "is_input: exec only starts commands").
			Try("write to the running command with the process tool; process list has its id")
	case strings.TrimSpace(a.Command) == "" && len(a.Argv) == 0:
		return tool.Errorf(tool.Invalid, "the command is missing").Try(`send {"command":"..."}`)
	case strings.TrimSpace(a.Command) != "" && len(a.Argv) > 0:
		return tool.Errorf(tool.Invalid, "both command and argv are given").
			Try("send command to use a shell, or argv to use none")
	case len(a.Argv) > 0 && a.Argv[0] == "":
		return tool.Errorf(tool.Invalid, "the first word of argv is empty").Try("begin argv with the program")
	case len(a.Argv) == 1 && strings.ContainsAny(strings.TrimSpace(a.Argv[0]), " \t\n"):
		return tool.Errorf(tool.Invalid, "argv has only one word, %.60q", a.Argv[0]).
			Try("send the text as command, or each word as its own element")
	case a.Keep && !a.inBackground():
		return tool.Errorf(tool.Invalid, "keep needs background").Try("send background: true too")
	case a.Timeout < 0 || a.Other < 0 || a.Millis < 0 || a.Yield < 0:
		return tool.Errorf(tool.Invalid, "a time is negative").Try("leave it out for the default")
	case len(a.Env) > maxEnv:
		return tool.Errorf(tool.Invalid, "env has %d variables, the max is %d", len(a.Env), maxEnv).
			Try("write them to a file and read that")
	}
	for name, value := range a.Env {
		if !isVariable(name) || strings.ContainsRune(value, 0) {
			return tool.Errorf(tool.Invalid, "env: %.40q is not a valid variable", name).
				Try("use letters, digits and _ in its name, and no NUL in its value")
		}
	}
	for _, word := range append([]string{a.Command}, a.Argv...) {
		if strings.ContainsRune(word, 0) {
			return tool.Errorf(tool.Invalid, "the command contains a NUL").
				Try(`write \0 where the program understands it`)
		}
	}
	return nil
}

// exitCode makes PowerShell end with the exit code of the last program: without it every failure is 1.
const exitCode = "\nif (-not $?) { if ($LASTEXITCODE) { exit $LASTEXITCODE }; exit 1 }"

// withoutShell returns the arguments without a shell around the command: some
// systems send bash -lc with every shell command. A command for PowerShell gets that
// around it where it is not the only shell.
func (a execArgs) withoutShell() execArgs {
	if a.InPS && a.Command != "" && runtime.GOOS != "windows" {
		a.Argv = []string{"pwsh", "-NoProfile", "-NonInteractive", "-Command", a.Command}
		a.Command = ""
		return a
	}
	if len(a.Argv) != 3 || a.Command != "" || a.Argv[1] != "-c" && a.Argv[1] != "-lc" {
		return a
	}
	switch a.Argv[0] {
	case "bash", "/bin/bash", "/usr/bin/bash", "sh", "/bin/sh", "/usr/bin/sh":
		a.Command, a.Argv = a.Argv[2], nil
	}
	return a
}

// inBackground reports whether the command runs in the background, at once or later.
func (a execArgs) inBackground() bool { return a.Background || a.Yield > 0 }

func isVariable(name string) bool {
	for i, c := range []byte(name) {
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return name != ""
}

// timeout returns the time limit of the command: at most the maximum of the site. In the
// background there is no maximum, and 0 means no limit.
func (a execArgs) timeout(s sandbox.Site) time.Duration {
	d := a.asked()
	if a.inBackground() {
		return d
	}
	return min(cmp.Or(d, s.DefaultTimeout), s.MaxTimeout)
}

// asked returns the timeout that the arguments ask for, 0 for none.
func (a execArgs) asked() time.Duration {
	return cmp.Or(time.Duration(a.Timeout)*time.Second, time.Duration(a.Millis)*time.Millisecond,
		duration(a.Other, a.InMS, maxSeconds))
}

// duration returns a time that was given without a unit: seconds, unless it is
// known to be in milliseconds or too great for seconds.
func duration(n int, milliseconds bool, maxSeconds int) time.Duration {
	if milliseconds || n > maxSeconds {
		return time.Duration(n) * time.Millisecond
	}
	return time.Duration(n) * time.Second
}

// variables returns the environment as NAME=value, sorted.
func (a execArgs) variables() []string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(a.Env)) {
		all = append(all, name+"="+a.Env[name])
	}
	return all
}

// text returns the command as process list shows it.
func (a execArgs) text() string {
	if len(a.Argv) == 0 {
		return a.Command
	}
	return joined(a.Argv)
}

// joined quotes words so that their borders can be seen.
func joined(words []string) string {
	quoted := make([]string, len(words))
	for i, word := range words {
		quoted[i] = word
		if word == "" || strings.ContainsAny(word, " \t\r\n\"'\\$`;|&<>()*?[]{}!#~") {
			quoted[i] = "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
		}
	}
	return strings.Join(quoted, " ")
}

// argv returns the program to start with its arguments. A shell is not a login shell and reads
// no start-up file: it runs only the command.
func (a execArgs) argv(s sandbox.Site) []string {
	switch {
	case len(a.Argv) > 0:
		return a.Argv
	case runtime.GOOS == "windows" && s.Tier == "host":
		return []string{"powershell", "-NoProfile", "-NonInteractive", "-Command", a.Command + exitCode}
	}
	for _, shell := range []string{"/bin/bash", "/bin/sh"} {
		if path, _ := s.Find(shell); path != "" {
			return []string{shell, "-c", a.Command}
		}
	}
	// The shells of the sandbox are not known here: the command looks for one.
	return []string{"/bin/sh", "-c", `[ -x /bin/bash ] && exec /bin/bash -c "$1"; exec /bin/sh -c "$1"`, "sh",
		a.Command}
}

// command returns the command to start.
func (a execArgs) command(s sandbox.Site) sandbox.Command {
	return sandbox.Command{
		Argv: a.argv(s), Text: a.text(), Dir: a.Cwd, At: s, Env: a.variables(), Stdin: []byte(a.Stdin),
		// A command in the background can be written to; many commands end when
		// their input ends.
		Open: a.TTY || a.inBackground(), TTY: a.TTY, Merge: a.inBackground(), Timeout: a.timeout(s),
	}
}

// brief writes a duration in one unit.
func brief(d time.Duration) string {
	switch {
	case d < 10*time.Second:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d < 2*time.Minute:
		return fmt.Sprintf("%d s", d/time.Second)
	case d < 2*time.Hour:
		return fmt.Sprintf("%d min", d/time.Minute)
	}
	return fmt.Sprintf("%d h", d/time.Hour)
}
