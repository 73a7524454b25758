package exec

import (
	"cmp"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

type execArgs struct {
	Command    string            `json:"command,omitempty" jsonschema:"for the shell" list:"argv" alias:"cmd,script,shell_command,bash,sh,powershell,command_line"`
	Argv       []string          `json:"argv,omitempty" jsonschema:"or words, no shell" alias:"args"`
	Cwd        string            `json:"cwd,omitempty" jsonschema:"directory" alias:"working_dir,workdir,working_directory,directory,dir,dir_path,cd"`
	Timeout    int               `json:"timeout_seconds,omitempty" jsonschema:"how long at most" alias:"timeout_secs,timeout_sec"`
	Background bool              `json:"background,omitempty" jsonschema:"go on with process" alias:"run_in_background,is_background"`
	Keep       bool              `json:"keep,omitempty" jsonschema:"also when the session ends" alias:"detach"`
	Env        map[string]string `json:"env,omitempty" jsonschema:"variables" alias:"environment"`
	Stdin      string            `json:"stdin,omitempty" jsonschema:"input" alias:"input"`
	TTY        bool              `json:"tty,omitempty" jsonschema:"in a terminal" alias:"pty"`

	Other   int  `json:"timeout,omitempty" jsonschema:"as other systems have it: seconds, or milliseconds from 10000" hidden:"true"`
	Millis  int  `json:"timeout_ms,omitempty" jsonschema:"milliseconds" hidden:"true"`
	Yield   int  `json:"yield_ms,omitempty" jsonschema:"milliseconds until it goes on in the background" hidden:"true" alias:"yield_time_ms"`
	IsInput bool `json:"is_input,omitempty" jsonschema:"it answers a command that runs" hidden:"true"`
	others
}

// others are arguments that other systems have for people and for their own
// walls and approvals.
type others struct {
	About1 unused `json:"description,omitempty,omitzero" jsonschema:"what it is for" hidden:"true"`
	About2 unused `json:"explanation,omitempty,omitzero" jsonschema:"what it is for" hidden:"true"`
	About3 unused `json:"justification,omitempty,omitzero" jsonschema:"what it is for" hidden:"true" alias:"goal,thought"`
	Risky1 unused `json:"requires_approval,omitempty,omitzero" jsonschema:"whether somebody is to be asked" hidden:"true" alias:"require_user_approval,safe_to_auto_run"`
	Risky2 unused `json:"security_risk,omitempty,omitzero" jsonschema:"how risky it seems" hidden:"true"`
	Walls1 unused `json:"sandbox_permissions,omitempty,omitzero" jsonschema:"other walls" hidden:"true" alias:"with_escalated_permissions,dangerously_disable_sandbox"`
	Login1 unused `json:"login,omitempty,omitzero" jsonschema:"a login shell" hidden:"true"`
	Most1  unused `json:"max_output_tokens,omitempty,omitzero" jsonschema:"how much to show" hidden:"true"`
}

// unused is an argument that other systems have and that must not matter: no
// person is shown it, and calls that differ in it only are the same.
type unused string

// IsZero leaves it out of JSON.
func (unused) IsZero() bool { return true }

const (
	maxEnv   = 100
	maxYield = 2 * time.Minute
	// milliseconds begin here where the unit is not said. Who means seconds asks
	// for less, and who means milliseconds and gets seconds only waits longer.
	milliseconds = 10_000
)

// check refuses what cannot be meant, before anybody is asked about it.
func (a execArgs) check() error {
	switch {
	case a.IsInput:
		return tool.Errorf(tool.Invalid, "is_input: exec only starts commands").Try("type with process write; process list has the id")
	case strings.TrimSpace(a.Command) == "" && len(a.Argv) == 0:
		return tool.Errorf(tool.Invalid, "there is no command").Try(`the least is {"command":"..."}`)
	case strings.TrimSpace(a.Command) != "" && len(a.Argv) > 0:
		return tool.Errorf(tool.Invalid, "there are both command and argv").Try("send command for the shell, or argv for none")
	case len(a.Argv) > 0 && a.Argv[0] == "":
		return tool.Errorf(tool.Invalid, "the first word of argv is empty").Try("begin argv with the program")
	case len(a.Argv) == 1 && strings.ContainsAny(strings.TrimSpace(a.Argv[0]), " \t\n"):
		return tool.Errorf(tool.Invalid, "argv is one word, %.60q", a.Argv[0]).Try("send it as command, or each word on its own")
	case a.Keep && !a.behind():
		return tool.Errorf(tool.Invalid, "keep is for commands in the background").Try("send background: true with it")
	case a.Timeout < 0 || a.Other < 0 || a.Millis < 0 || a.Yield < 0:
		return tool.Errorf(tool.Invalid, "a time is negative").Try("leave it out for the usual time")
	case len(a.Env) > maxEnv:
		return tool.Errorf(tool.Invalid, "env has %d variables, the most is %d", len(a.Env), maxEnv).Try("write them to a file and read that")
	}
	for name, value := range a.Env {
		if !isVariable(name) || strings.ContainsRune(value, 0) {
			return tool.Errorf(tool.Invalid, "env: %.40q is no variable that a command can be given", name).Try("use letters, digits and _")
		}
	}
	for _, word := range append([]string{a.Command}, a.Argv...) {
		if strings.ContainsRune(word, 0) {
			return tool.Errorf(tool.Invalid, "there is a NUL in the command").Try(`write \0 where the program understands it`)
		}
	}
	return nil
}

// plain is the same without a shell around the command: some systems send
// bash -lc with all that is meant for a shell, which runs in one anyway.
func (a execArgs) plain() execArgs {
	if len(a.Argv) != 3 || a.Command != "" || a.Argv[1] != "-c" && a.Argv[1] != "-lc" {
		return a
	}
	switch a.Argv[0] {
	case "bash", "/bin/bash", "/usr/bin/bash", "sh", "/bin/sh", "/usr/bin/sh":
		a.Command, a.Argv = a.Argv[2], nil
	}
	return a
}

// behind reports whether it is for the background, now or in a while.
func (a execArgs) behind() bool { return a.Background || a.Yield > 0 }

func isVariable(name string) bool {
	for i, c := range []byte(name) {
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return name != ""
}

// timeout is how long it may take: at most what the site allows, unless it is
// in the background, where nobody waits and 0 is for ever.
func (a execArgs) timeout(s Site) time.Duration {
	d := cmp.Or(time.Duration(a.Timeout)*time.Second, time.Duration(a.Millis)*time.Millisecond, span(a.Other))
	if a.behind() {
		return d
	}
	return min(cmp.Or(d, s.Limit), s.Most)
}

// span is a time whose unit was not said.
func span(n int) time.Duration {
	if n >= milliseconds {
		return time.Duration(n) * time.Millisecond
	}
	return time.Duration(n) * time.Second
}

// variables are the environment as a command gets it, in order.
func (a execArgs) variables() []string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(a.Env)) {
		all = append(all, name+"="+a.Env[name])
	}
	return all
}

// text is the command as it is listed.
func (a execArgs) text() string {
	if len(a.Argv) == 0 {
		return a.Command
	}
	return joined(a.Argv)
}

// joined writes words so that their borders can be seen.
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

// argv is what is started. A shell reads no file of its own first, and is no
// login shell: what it does is in the command.
func (a execArgs) argv(s Site) []string {
	switch {
	case len(a.Argv) > 0:
		return a.Argv
	case runtime.GOOS == "windows" && s.Tier == "host":
		return []string{"powershell", "-NoProfile", "-NonInteractive", "-Command", a.Command}
	}
	for _, shell := range []string{"/bin/bash", "/bin/sh"} {
		if path, _ := s.Find(shell); path != "" {
			return []string{shell, "-c", a.Command}
		}
	}
	// It cannot be told from here what there is: the command finds out.
	return []string{"/bin/sh", "-c", `[ -x /bin/bash ] && exec /bin/bash -c "$1"; exec /bin/sh -c "$1"`, "sh", a.Command}
}

// command is the whole of what is started.
func (a execArgs) command(s Site) Command {
	return Command{
		Argv: a.argv(s), Text: a.text(), Dir: a.Cwd, At: s, Env: a.variables(), Stdin: []byte(a.Stdin),
		// A command in the background can be written to, and many end when
		// their input does.
		Open: a.TTY || a.behind(), TTY: a.TTY, Merge: a.behind(), Timeout: a.timeout(s),
	}
}

// brief is a time as people write it.
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
