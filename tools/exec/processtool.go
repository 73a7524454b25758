package exec

import (
	"cmp"
	"context"
	"regexp"
	"strings"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/tools/exec/judge"
	"github.com/mcp-tools/mcp-tools/tools/exec/terminal"
)

// processTool looks after commands that go on in the background.
type processTool struct{ *runner }

// What the bounds are is said in errors and not in the schema, which every
// conversation pays for.
type processArgs struct {
	Action  string   `json:"action" jsonschema:"list, poll, wait, log, write, send_keys, kill, remove" alias:"command,operation"`
	ID      string   `json:"id,omitempty" jsonschema:"p_..." alias:"session_id,handle,process_id,process,shell_id,bash_id,task_id,command_id"`
	Data    string   `json:"data,omitempty" jsonschema:"to write" alias:"text,input,content,chars"`
	Keys    []string `json:"keys,omitempty" jsonschema:"C-c, Up, Enter" alias:"key"`
	Until   string   `json:"until,omitempty" jsonschema:"exit, idle or pattern"`
	Pattern string   `json:"pattern,omitempty" jsonschema:"RE2, for wait or log" alias:"regex,grep,filter"`
	Timeout int      `json:"timeout_seconds,omitempty" jsonschema:"default 30"`
	Offset  *int64   `json:"offset,omitempty" jsonschema:"byte of log"`

	End     bool     `json:"end,omitempty" jsonschema:"close stdin, as C-d does" hidden:"true" alias:"eof"`
	Tail    int      `json:"tail,omitempty" jsonschema:"lines of log" hidden:"true" alias:"lines"`
	Limit   int      `json:"limit,omitempty" jsonschema:"bytes of log" hidden:"true"`
	Hex     []string `json:"hex,omitempty" jsonschema:"bytes in hex" hidden:"true"`
	Literal string   `json:"literal,omitempty" jsonschema:"as data" hidden:"true"`
	Other   int      `json:"timeout,omitempty" jsonschema:"seconds, or milliseconds from 10000" hidden:"true"`
	Block   *bool    `json:"block,omitempty" jsonschema:"wait for the end" hidden:"true"`
	Yield   int      `json:"yield_ms,omitempty" jsonschema:"milliseconds to wait for an answer; ours is enough" hidden:"true" alias:"yield_time_ms"`
	Tokens  unused   `json:"max_output_tokens,omitempty,omitzero" jsonschema:"how much to show" hidden:"true"`
	Wrapped bool     `json:"bracketed,omitempty" jsonschema:"of paste; it is left to the program" hidden:"true"`
}

func (processTool) Spec() tool.Spec {
	return tool.Spec{
		Name: "process", Group: group, Title: "Background commands", Risk: tool.Runs,
		Doc:  "Looks after commands in the background. poll: what is new.",
		Also: []string{"BashOutput", "TaskOutput", "KillShell", "KillBash", "TaskStop", "write_stdin", "get_terminal_output"},
		Means: map[string]string{
			"BashOutput": `{"action":"poll","block":false}`, "TaskOutput": `{"action":"poll","block":true}`, "get_terminal_output": `{"action":"poll","block":false}`,
			"KillShell": `{"action":"kill"}`, "KillBash": `{"action":"kill"}`, "TaskStop": `{"action":"kill"}`, "write_stdin": `{"action":"input"}`,
		},
		Keywords: "background job jobs shell session output kill stdin pty wait poll",
		Timeout:  waitLongest + time.Minute,
		Repeats:  true,
		MaxText:  64 << 10,
	}
}

const (
	waitUsual   = 30 * time.Second
	waitLongest = 10 * time.Minute
	// waitAgain is how long for a line like one that was shown before, when
	// nobody says: it may be all that was meant.
	waitAgain = 5 * time.Second
	keysMost  = 200
	// waitQuiet is how long there must be nothing new for until: idle.
	waitQuiet = 2 * time.Second
	// echo is how long an answer to what was typed is waited for.
	echo      = 2 * time.Second
	echoQuiet = 300 * time.Millisecond
)

// check refuses what cannot be meant.
func (a processArgs) check() error {
	switch {
	case len(a.Keys) > keysMost || len(a.Hex) > keysMost:
		return tool.Errorf(tool.Invalid, "there are more than %d keys", keysMost).Try("send text as data")
	case a.Timeout < 0 || a.Other < 0 || a.Tail < 0 || a.Limit < 0 || a.Offset != nil && *a.Offset < 0:
		return tool.Errorf(tool.Invalid, "a number is negative").Try("leave it out for the usual")
	}
	return nil
}

// action is what is to be done, by our name for it.
func (a processArgs) action() (string, error) {
	if err := a.check(); err != nil {
		return "", err
	}
	name := strings.ToLower(strings.ReplaceAll(strings.TrimSpace(a.Action), "-", "_"))
	switch {
	case name == "input" && a.Data+a.Literal == "" && len(a.Keys)+len(a.Hex) == 0 && !a.End: // to see what is new
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
	return "", tool.Errorf(tool.Invalid, "there is no action %.40q", a.Action).Try("use list, poll, wait, log, write, send_keys, kill or remove")
}

// typed is what the arguments type, as a terminal would send it.
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
		return nil, tool.Errorf(tool.Invalid, "%w", err).Try("use names such as Enter, Tab, Escape, Up, F1, C-c, M-x; text goes into data")
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

// Prepare rates an action: looking changes nothing, and a command of one's own
// that was ended can be started again. Typing is as risky as what is typed: a
// command into a shell, code into an interpreter, an answer into anything else.
func (t processTool) Prepare(ctx context.Context, a processArgs) (tool.Plan, error) {
	action, err := a.action()
	if err != nil {
		return tool.Plan{Risk: tool.Reads}, err
	}
	if types(action) {
		return t.prepareTyping(ctx, a, action)
	}
	plan := tool.Plan{Risk: tool.Writes, Run: func(ctx context.Context) (tool.Result, error) { return t.act(ctx, a, action) }}
	if action == "list" || action == "poll" || action == "wait" || action == "log" {
		plan.Risk = tool.Reads
	}
	return plan, nil
}

// prepareTyping judges what is typed. An approval depends on the process that
// gets it.
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

// typing judges what is typed into a process.
func (t processTool) typing(ctx context.Context, st Status, a processArgs, data []byte) (judge.Verdict, error) {
	site, err := t.site(ctx, "")
	if err != nil {
		return judge.Verdict{}, err
	}
	site.Dir, site.Sealed = cmp.Or(st.Dir, site.Dir), site.Sealed && st.Tier != "host"
	into := typist(judge.Judge(judge.Request{Command: st.Text, Dir: site.Dir, Roots: site.Roots, Sealed: site.Sealed}, t.rules()))
	line := strings.TrimRight(string(data), "\r\n")
	switch {
	case into == other, harmless(line) && len(line) == len(data):
		return judge.Verdict{Risk: tool.Writes}, nil
	case into == shell && len(line) < len(data) && a.lone():
		// A line that was begun before may be what this ends: only a person knows.
		request := judge.Request{
			Command: line, Dir: site.Dir, Roots: site.Roots, Home: site.Home, Sealed: site.Sealed, Network: site.Network,
		}
		v := judge.Judge(request, t.rules())
		v.Always = false
		return v, nil
	}
	why := "types code into " + st.Text
	if into == shell {
		why = "types a part of a command into " + st.Text
	}
	return judge.Verdict{Risk: tool.Runs, Why: why}, nil
}

// lone reports whether all that is typed is text that ends its line.
func (a processArgs) lone() bool {
	for _, key := range a.Keys {
		if !strings.EqualFold(key, "Enter") && !strings.EqualFold(key, "Return") {
			return false
		}
	}
	return a.Data+a.Literal != "" && len(a.Hex) == 0
}

// harmless reports whether data is nothing but keys that stop or leave.
func harmless(data string) bool { return strings.Trim(data, "\x03\x04\x1a\x1b\x1c") == "" }

// find is the process that is meant: the only one when none was named and
// nothing is done to it.
func (t processTool) find(ctx context.Context, a processArgs) (Process, error) {
	if t.Commands == nil {
		return nil, tool.Errorf(tool.Unavailable, "commands cannot be run here").Try("do it with the file tools, or ask the operator")
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
	refused := tool.Errorf(tool.Invalid, "id is missing")
	if len(ids) == 0 {
		return nil, refused.Try("there is no command in the background; exec with background: true starts one")
	}
	return nil, refused.Try("there are %s", strings.Join(ids[:min(len(ids), 20)], ", "))
}

// expression checks a pattern before anybody waits for it.
func (a processArgs) expression() (*regexp.Regexp, error) {
	if len(a.Pattern) > 1000 {
		return nil, tool.Errorf(tool.Invalid, "pattern is %d bytes, the most is 1000", len(a.Pattern)).Try("use a part of it")
	}
	re, err := regexp.Compile(a.Pattern)
	if err != nil {
		return nil, tool.Errorf(tool.Invalid, "pattern %.60q: %w", a.Pattern, err).Try(`escape what is meant literally, as in \( or \.`)
	}
	return re, nil
}
