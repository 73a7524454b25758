package exec

import (
	"cmp"
	"context"
	"regexp"
	"strings"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/sandbox"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/tools/exec/judge"
	"github.com/mcp-tools/mcp-tools/tools/exec/terminal"
)

// processTool manages commands that run in the background.
type processTool struct{ *runner }

// Errors name the limits. The schema does not, since every conversation pays for it.
type processArgs struct {
	Action  string   `json:"action" jsonschema:"list, poll (new output), wait (see until), log (by offset or pattern), write (data), send_keys, kill, remove" alias:"command,operation"`
	ID      string   `json:"id,omitempty" jsonschema:"command id from exec or list" alias:"session_id,handle,process_id,process,shell_id,bash_id,task_id,command_id"`
	Data    string   `json:"data,omitempty" jsonschema:"text for standard input" alias:"text,input,content,chars"`
	Keys    []string `json:"keys,omitempty" jsonschema:"keys to press, such as C-c or Up" alias:"key"`
	Until   string   `json:"until,omitempty" jsonschema:"wait for exit (default), idle or pattern"`
	Pattern string   `json:"pattern,omitempty" jsonschema:"RE2 pattern for wait or log" alias:"regex,grep,filter"`
	Timeout int      `json:"timeout_seconds,omitempty" jsonschema:"seconds to wait"`
	Offset  *int64   `json:"offset,omitempty" jsonschema:"output byte to start at"`

	End     bool     `json:"end,omitempty" jsonschema:"close stdin, as C-d does" hidden:"true" alias:"eof"`
	Tail    int      `json:"tail,omitempty" jsonschema:"lines of log" hidden:"true" alias:"lines"`
	Limit   int      `json:"limit,omitempty" jsonschema:"lines of log" hidden:"true"`
	Hex     []string `json:"hex,omitempty" jsonschema:"bytes in hex" hidden:"true"`
	Literal string   `json:"literal,omitempty" jsonschema:"another name of data" hidden:"true"`
	Other   int      `json:"timeout,omitempty" jsonschema:"seconds to wait, from 121 on milliseconds" hidden:"true"`
	InMS    bool     `json:"timeout_is_ms,omitempty" jsonschema:"timeout is always in milliseconds" hidden:"true"`
	Block   *bool    `json:"block,omitempty" jsonschema:"wait for the end" hidden:"true"`
	Yield   int      `json:"yield_ms,omitempty" jsonschema:"milliseconds to wait for output; it has no effect" hidden:"true" alias:"yield_time_ms"`
	Tokens  unused   `json:"max_output_tokens,omitempty,omitzero" jsonschema:"max output; it has no effect" hidden:"true"`
	Peek    bool     `json:"peek,omitempty" jsonschema:"a person looks: all stays new for the next poll" hidden:"true"`
	Wrapped bool     `json:"bracketed,omitempty" jsonschema:"bracketed paste; it has no effect" hidden:"true"`
}

func (processTool) Spec() tool.Spec {
	return tool.Spec{
		Name: "process", Group: group, Title: "Background commands", Risk: tool.Runs, Viewed: true,
		Doc: "Manages background commands of exec. Returns their state and new output.",
		Also: []string{
			"BashOutput", "TaskOutput", "KillShell", "KillBash", "TaskStop", "write_stdin", "get_terminal_output",
		},
		Means: map[string]string{
			"BashOutput":          `{"action":"poll","block":false}`,
			"TaskOutput":          `{"action":"poll","block":true,"timeout_is_ms":true}`,
			"get_terminal_output": `{"action":"poll","block":false}`, "KillShell": `{"action":"kill"}`,
			"KillBash": `{"action":"kill"}`, "TaskStop": `{"action":"kill"}`, "write_stdin": `{"action":"input"}`,
		},
		Keywords: "background job jobs session output printed kill stop end interrupt ctrl-c signal stdin pty type " +
			"answer press wait poll still running finished status server build watcher",
		Timeout: waitLongest + time.Minute,
		Output:  processes{},
		Repeats: true,
		MaxText: 64 << 10,
	}
}

const (
	waitUsual = 30 * time.Second
	// maxWaitSeconds is the greatest timeout without a unit that counts as seconds.
	// Other systems have a tool of this name whose timeout is in milliseconds.
	maxWaitSeconds = 120
	waitLongest    = 10 * time.Minute
	// waitAgain is the default wait for a matching line if an earlier one was shown before,
	// since the caller may mean the earlier one.
	waitAgain = 5 * time.Second
	keysMost  = 200
	// waitQuiet is how long there must be no new output for until: idle.
	waitQuiet = 2 * time.Second
	// echo is how long to wait for output after typing.
	echo      = 2 * time.Second
	echoQuiet = 300 * time.Millisecond
)

// check refuses arguments that make no sense.
func (a processArgs) check() error {
	switch {
	case len(a.Keys) > keysMost || len(a.Hex) > keysMost:
		return tool.Errorf(tool.Invalid, "there are more than %d keys", keysMost).Try("send text as data")
	case a.Timeout < 0 || a.Other < 0 || a.Tail < 0 || a.Limit < 0 || a.Offset != nil && *a.Offset < 0:
		return tool.Errorf(tool.Invalid, "a number is negative").Try("leave it out for the default")
	}
	return nil
}

// action returns the action by its main name.
func (a processArgs) action() (string, error) {
	if err := a.check(); err != nil {
		return "", err
	}
	name := strings.ToLower(strings.ReplaceAll(strings.TrimSpace(a.Action), "-", "_"))
	switch {
	case name == "input" && a.Data+a.Literal == "" && len(a.Keys)+len(a.Hex) == 0 && !a.End: // for new output
		return "poll", nil
	case name == "poll" && a.Block != nil && !*a.Block && a.Pattern != "":
		return "log", nil
	case name == "poll" && a.Block != nil && *a.Block:
		return "wait", nil
	}
	switch name {
	case "list", "poll", "wait", "log", "write", "send_keys", "kill", "remove", "submit", "clear":
		return name, nil
	case "ls", "ps":
		return "list", nil
	case "status", "output", "get", "check":
		return "poll", nil
	case "logs", "read", "tail":
		return "log", nil
	case "paste", "input", "stdin", "send":
		return "write", nil
	case "keys", "sendkeys", "key", "press":
		return "send_keys", nil
	case "stop", "terminate", "end":
		return "kill", nil
	case "delete", "rm", "forget":
		return "remove", nil
	}
	return "", tool.Errorf(tool.Invalid, "there is no action %.40q", a.Action).
		Try("use list, poll, wait, log, write, send_keys, kill or remove")
}

// typed returns the bytes that the arguments type, as a terminal would send it.
func (a processArgs) typed(action string) ([]byte, error) {
	data := []byte(a.Data + a.Literal)
	keys := a.Keys
	for _, h := range a.Hex {
		keys = append(keys, "0x"+strings.TrimPrefix(strings.ToLower(h), "0x"))
	}
	if action == "submit" {
		keys = append(keys, "Enter")
	}
	pressed, err := terminal.Keys(keys)
	if err != nil {
		return nil, tool.Errorf(tool.Invalid, "%w", err).
			Try("use names such as Enter, Tab, Escape, Up, F1, C-c, M-x; text goes into data")
	}
	data = append(data, pressed...)
	if len(data) == 0 && !a.End {
		return nil, tool.Errorf(tool.Invalid, "there is nothing to type").Try("send data or keys; C-d closes stdin")
	}
	return data, nil
}

// types reports whether an action types into a process.
func types(action string) bool {
	return action == "write" || action == "send_keys" || action == "submit"
}

// Prepare returns the risk of an action: reading changes nothing, and a command that was ended
// can be started again. Typing is as risky as the typed text: a command for a shell, code for
// an interpreter, or an answer for other programs.
func (t processTool) Prepare(ctx context.Context, a processArgs) (tool.Plan, error) {
	action, err := a.action()
	if err != nil {
		return tool.Plan{Risk: tool.Reads}, err
	}
	if types(action) {
		return t.prepareTyping(ctx, a, action)
	}
	run := func(ctx context.Context) (tool.Result, error) { return t.act(ctx, a, action) }
	plan := tool.Plan{Risk: tool.Writes, Run: run}
	if action == "list" || action == "poll" || action == "wait" || action == "log" {
		plan.Risk = tool.Reads
	}
	return plan, nil
}

// prepareTyping judges the typed text. An approval depends on the process that gets it.
func (t processTool) prepareTyping(ctx context.Context, a processArgs, action string) (tool.Plan, error) {
	refused := tool.Plan{Risk: tool.Reads} // it has no effect but its error
	p, err := t.find(ctx, a)
	if err != nil {
		return refused, err
	}
	data, err := a.typed(action)
	if err != nil {
		return refused, err
	}
	st := p.Status()
	v, err := t.typing(ctx, st, a, data)
	if err != nil {
		return refused, err
	}
	facts := tool.Facts{"process": st.ID + ", " + st.Text, "directory": st.Dir, "sandbox": st.Tier}
	return tool.Plan{
		Risk: v.Risk, Why: v.Why, Once: true,
		Facts: func(context.Context) (tool.Facts, error) { return facts, nil },
		Run:   func(ctx context.Context) (tool.Result, error) { return t.write(ctx, p, a, data) },
	}, refusal(v)
}

// typing judges text that is typed into a process.
func (t processTool) typing(ctx context.Context, st sandbox.Status, a processArgs, data []byte) (judge.Verdict, error) {
	site, err := t.site(ctx, "", false)
	if err != nil {
		return judge.Verdict{}, err
	}
	site.Dir, site.Isolated = cmp.Or(st.Dir, site.Dir), site.Isolated && st.Tier != "host"
	running := judge.Request{Command: st.Text, Dir: site.Dir, Roots: site.Roots, Isolated: site.Isolated}
	into := readerOf(judge.Judge(running, t.rules(ctx)))
	line := strings.TrimRight(string(data), "\r\n")
	switch {
	case into == other, harmless(line) && len(line) == len(data):
		return judge.Verdict{Risk: tool.Writes}, nil
	case into == shell && len(line) < len(data) && a.typesLine():
		// It may end a line that was begun before, so a rule for all times is not possible.
		request := judge.Request{
			Command: line, Dir: site.Dir, Roots: site.Roots, Home: site.Home, Isolated: site.Isolated,
			Network: site.Network && !site.Asks, Disposable: site.Disposable,
		}
		v := judge.Judge(request, t.rules(ctx))
		v.Always = false
		return v, nil
	}
	why := "types code into " + st.Text
	if into == shell {
		why = "types a part of a command into " + st.Text
	}
	return judge.Verdict{Risk: tool.Runs, Why: why}, nil
}

// typesLine reports whether everything that is typed is text that ends its line.
func (a processArgs) typesLine() bool {
	for _, key := range a.Keys {
		if !strings.EqualFold(key, "Enter") && !strings.EqualFold(key, "Return") {
			return false
		}
	}
	return a.Data+a.Literal != "" && len(a.Hex) == 0
}

// harmless reports whether data consists of keys that only stop or leave a program.
func harmless(data string) bool { return strings.Trim(data, "\x03\x04\x1a\x1b\x1c") == "" }

// find returns the process of the call. Without an id that is the only process
// there is, for actions that only read.
func (t processTool) find(ctx context.Context, a processArgs) (sandbox.Process, error) {
	if t.Commands == nil {
		return nil, errNoCommands()
	}
	if a.ID != "" {
		return t.Commands.Process(ctx, strings.TrimSpace(a.ID))
	}
	all, err := t.Commands.Processes(ctx)
	if err != nil {
		return nil, err
	}
	action, err := a.action()
	if err == nil && len(all) == 1 && (action == "poll" || action == "wait" || action == "log") {
		return all[0], nil
	}
	var ids []string
	for _, p := range all {
		ids = append(ids, p.Status().ID)
	}
	for _, p := range t.elsewhere(ctx) {
		ids = append(ids, p.ID)
	}
	refused := tool.Errorf(tool.Invalid, "id is missing")
	if len(ids) == 0 {
		return nil, refused.Try("there is no command in the background; exec with background: true starts one")
	}
	return nil, refused.Try("there are %s", strings.Join(ids[:min(len(ids), 20)], ", "))
}

// expression compiles the pattern.
func (a processArgs) expression() (*regexp.Regexp, error) {
	if len(a.Pattern) > 1000 {
		return nil, tool.Errorf(tool.Invalid, "pattern has %d bytes, the max is 1000", len(a.Pattern)).
			Try("use a part of it")
	}
	re, err := regexp.Compile(a.Pattern)
	if err != nil {
		return nil, tool.Errorf(tool.Invalid, "pattern %.60q: %w", a.Pattern, err).
			Try(`escape literal characters, as in \( or \.`)
	}
	return re, nil
}
