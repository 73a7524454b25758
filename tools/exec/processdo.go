package exec

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/sandbox"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// act runs an action that does not type.
func (t processTool) act(ctx context.Context, a processArgs, action string) (tool.Result, error) {
	if action == "list" {
		return t.list(ctx)
	}
	p, err := t.find(ctx, a)
	if err != nil {
		return tool.Result{}, err
	}
	defer t.notices.look(p.Status().ID)()
	switch action {
	case "poll":
		if a.Block != nil || a.patience(0) == 0 && a.Until == "" && a.Pattern == "" {
			return t.news(ctx, p, p.Status(), a)
		}
		return t.wait(ctx, p, a)
	case "wait":
		return t.wait(ctx, p, a)
	case "log":
		res, err := t.log(ctx, p, a)
		return res.Showing(t.view(ctx, p, p.Status())), err
	case "kill":
		return t.kill(ctx, p, a)
	}
	return t.remove(ctx, p, action)
}

// patience returns how long an action may wait.
func (a processArgs) patience(usual time.Duration) time.Duration {
	d := time.Duration(a.Timeout) * time.Second
	if d == 0 {
		d = duration(a.Other, a.InMS, maxWaitSeconds)
	}
	if d == 0 {
		d = usual
	}
	return min(d, waitLongest)
}

const listMost = 100

// processes is the result of the tool for programs.
type processes struct {
	List    []background `json:"list,omitempty"`    // of the action list
	Command *outcome     `json:"command,omitempty"` // of the other actions
}

type background struct {
	ID       string    `json:"id"`
	Command  string    `json:"command"`
	Dir      string    `json:"dir"`
	State    string    `json:"state"`
	ExitCode int       `json:"exit_code"` // once it has ended
	Waiting  bool      `json:"waiting,omitempty"`
	Started  time.Time `json:"started,omitzero"`
	Server   string    `json:"server,omitempty"` // the server that has it, if there are several
	shown    string    // its state in words
}

// about returns a result about one process.
func about(st sandbox.Status, text, output string) tool.Result {
	done := answer{status: st, printed: printed{text: output}}.outcome(nil)
	return tool.Text(text).With(processes{Command: &done})
}

func (t processTool) list(ctx context.Context) (tool.Result, error) {
	if t.Commands == nil {
		return tool.Result{}, errNoCommands()
	}
	all, err := t.Commands.Processes(ctx)
	if err != nil {
		return tool.Result{}, err
	}
	var list []background
	for _, p := range all {
		st := p.Status()
		list = append(list, background{
			ID: st.ID, Command: st.Text, Dir: st.Dir, State: string(st.State), ExitCode: st.Code, Waiting: st.Waiting,
			Started: st.Started.UTC(), shown: state(st),
		})
	}
	if others := t.elsewhere(ctx); len(others) > 0 {
		for i := range list {
			list[i].Server = t.Server
		}
		list = append(list, others...)
	}
	if len(list) == 0 && t.Elsewhere != nil {
		return tool.Text("(there are no commands of yours in the background)").With(processes{}), nil
	}
	if len(list) == 0 {
		return tool.Text("(this server has no commands of yours in the background)").With(processes{}), nil
	}
	var b strings.Builder
	if more := len(list) - listMost; more > 0 {
		fmt.Fprintf(&b, "[%d older ones not shown]\n", more)
		list = list[more:]
	}
	for _, p := range list {
		line := []string{p.ID, p.shown}
		if p.Command != "" {
			line = append(line, firstLine(p.Command), "["+p.Dir+"]")
		}
		if p.Server != "" {
			line = append(line, fmt.Sprintf("on %q", p.Server))
		}
		b.WriteString(strings.Join(line, "  ") + "\n")
	}
	return tool.Text(strings.TrimSuffix(b.String(), "\n")).With(processes{List: list}), nil
}

// elsewhere returns the commands of the caller that other servers have.
func (t processTool) elsewhere(ctx context.Context) (list []background) {
	if t.Elsewhere == nil || tool.RunningFrom(ctx).Remote {
		return nil
	}
	for _, other := range t.Elsewhere(ctx) {
		var theirs processes
		if listed, err := json.Marshal(other.Listed); err == nil {
			_ = json.Unmarshal(listed, &theirs) // of another version: it lists none
		}
		for _, p := range theirs.List {
			p.Server = other.Server
			p.shown = state(sandbox.Status{
				State: sandbox.State(p.State), Waiting: p.Waiting, Code: p.ExitCode, Took: time.Since(p.Started),
			})
			list = append(list, p)
		}
		for _, id := range other.IDs {
			list = append(list, background{ID: id, State: "unknown", shown: "its server " + other.Why, Server: other.Server})
		}
	}
	return list
}

// state returns how a process is, in a few words.
func state(st sandbox.Status) string {
	switch {
	case st.State == sandbox.Running && st.Waiting:
		return "waits for input, " + brief(st.Took)
	case st.State == sandbox.Running:
		return "running, " + brief(st.Took)
	case st.Left > 0:
		return fmt.Sprintf("ended, %s of it left", count(st.Left, "process", "processes"))
	case st.State == sandbox.Exited && st.Signal == "":
		return fmt.Sprintf("exit code %d", st.Code)
	case st.Signal != "":
		return string(st.State) + " by " + st.Signal
	}
	return string(st.State)
}

// firstLine returns the beginning of a command.
func firstLine(text string) string {
	const most = 100
	line, _, more := strings.Cut(tool.Visible(strings.TrimSpace(text)), "\n")
	if len(line) > most {
		line, more = trimRune(line[:most]), true
	}
	if more {
		line += " ..."
	}
	return line
}

// wait waits on the server, so that the model need not poll.
func (t processTool) wait(ctx context.Context, p sandbox.Process, a processArgs) (tool.Result, error) {
	out, _ := t.places.of(tool.CallerFrom(ctx), p.Status().ID)
	if a.Offset != nil {
		out = *a.Offset
	}
	until, re, err := a.until(out)
	if err != nil {
		return tool.Result{}, err
	}
	before := re != nil && t.matched(ctx, p, re, out)
	limit := a.patience(waitUsual)
	if before && a.patience(0) == 0 {
		limit = waitAgain
	}
	news := (&runner{}).follow(ctx, limit) // it only shows the client that the call still waits
	within, cancel := context.WithTimeout(ctx, limit)
	tool.Idle(ctx)
	st := p.Wait(within, until)
	over := within.Err() != nil
	cancel()
	news.stop()
	if err := ctx.Err(); err != nil {
		return tool.Result{}, err
	}
	var also []string
	switch {
	case st.Matched != "":
		also = append(also, "matched: "+firstLine(st.Matched))
	case st.State == sandbox.Running && over && before:
		also = append(also, fmt.Sprintf("nothing new matched in %s; a line that was shown before does", brief(limit)))
	case st.State == sandbox.Running && over:
		also = append(also, "waited "+brief(limit))
	case st.State == sandbox.Running && st.WasIdle:
		also = append(also, "it is quiet")
	}
	return t.news(ctx, p, st, a, also...)
}

// until returns the condition of the wait.
func (a processArgs) until(from int64) (sandbox.WaitCondition, *regexp.Regexp, error) {
	switch what := strings.ToLower(a.Until); {
	case what == "idle":
		return sandbox.WaitCondition{Idle: waitQuiet}, nil, nil
	case a.Pattern != "" && (what == "" || what == "pattern"):
		re, err := a.expression()
		return sandbox.WaitCondition{Pattern: a.Pattern, From: from}, re, err
	case what == "" || what == "exit":
		return sandbox.WaitCondition{}, nil, nil
	case what == "pattern":
		return sandbox.WaitCondition{}, nil, tool.Errorf(tool.Invalid,
			"pattern is missing").Try("send the expression that a line has to match")
	}
	return sandbox.WaitCondition{}, nil, tool.Errorf(tool.Invalid, "there is no until %.40q",
		a.Until).Try("use exit, idle or pattern")
}

// matched reports whether a line near the end of the shown text matches.
func (t processTool) matched(ctx context.Context, p sandbox.Process, re *regexp.Regexp, to int64) bool {
	var b bytes.Buffer
	s := section{p.Log(sandbox.Stdout), max(0, to-lookBack), to}
	return s.clean(ctx, &b) == nil && re.Match(b.Bytes())
}

// news returns the new output of a process, and its state.
func (t processTool) news(ctx context.Context, p sandbox.Process, st sandbox.Status, a processArgs,
	also ...string) (tool.Result,
	error) {
	caller := tool.CallerFrom(ctx)
	if st.State != sandbox.Running && !a.Peek {
		t.notices.told(st.ID)
	}
	out, errs := t.places.of(caller, st.ID)
	if a.Offset != nil {
		out = *a.Offset
	}
	var b strings.Builder
	shown := [2]int64{}
	for i, s := range []section{{log: p.Log(sandbox.Stdout), from: out}, {log: p.Log(sandbox.Stderr), from: errs}} {
		s.to = s.log.Size()
		shown[i] = s.to
		text, err := t.latest(ctx, s)
		if err != nil {
			return tool.Result{}, err
		}
		if i == 1 && text != "" {
			b.WriteString(mark)
		}
		b.WriteString(text)
	}
	if !a.Peek {
		t.places.shown(caller, st.ID, shown[0], shown[1])
	}
	text := strings.TrimRight(b.String(), "\n")
	if text == "" {
		text = "(nothing new)"
	}
	res := answer{
		status: st, printed: printed{text: text}, report: true, also: append(also, t.setAside(ctx)...), view: t.view(ctx, p, st),
	}.result()
	res.Failed, res.Kind = false, "" // reading its state did not fail
	if done, ok := res.Data.(outcome); ok {
		res.Data = processes{Command: &done}
	}
	return res, nil
}

// latest returns the end of a section; for a section that is too long it names the omitted
// part.
func (t processTool) latest(ctx context.Context, s section) (string, error) {
	if s.from >= s.to {
		return "", nil
	}
	note := ""
	if left := s.to - s.from - outputMost; left > 0 {
		note = fmt.Sprintf("[%d bytes left out here: log with offset %d reads on from there]\n", left, s.from)
		s.from += left
	}
	text, err := t.window(ctx, s)
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	return note + text, err
}

func (t processTool) kill(ctx context.Context, p sandbox.Process, a processArgs) (tool.Result, error) {
	if st := p.Status(); st.State != sandbox.Running && st.Left == 0 {
		return t.news(ctx, p, st, a, "it had ended before")
	}
	if err := p.Kill(ctx); err != nil {
		return tool.Result{}, err
	}
	within, cancel := context.WithTimeout(ctx, endTime)
	defer cancel()
	return t.news(ctx, p, p.Wait(within, sandbox.WaitCondition{}), a)
}

func (t processTool) remove(ctx context.Context, p sandbox.Process, action string) (tool.Result, error) {
	st := p.Status()
	if action == "clear" && (st.State == sandbox.Running || st.Left > 0) {
		return tool.Result{}, tool.Errorf(tool.Conflict, "%s still runs",
			st.ID).Try("use remove to end it and to forget it")
	}
	if err := p.Remove(ctx); err != nil {
		return tool.Result{}, err
	}
	return about(st, st.ID+" was removed, with its output", ""), nil
}

// write types data, and waits a moment for the reply.
func (t processTool) write(ctx context.Context, p sandbox.Process, a processArgs, data []byte) (tool.Result, error) {
	st := p.Status()
	if st.State != sandbox.Running {
		return tool.Result{}, tool.Errorf(tool.Conflict, "%s has ended", st.ID).Try("start it again with exec")
	}
	if !st.TTY {
		if bytes.ContainsAny(data, "\x03\x1a\x1c\x1b") && len(a.Keys) > 0 {
			return tool.Result{}, tool.Errorf(tool.Invalid, "%s has no terminal: it would read these keys as text",
				st.ID).
				Try("end it with kill, or start it with tty: true")
		}
		data = bytes.ReplaceAll(data, []byte("\r"), []byte("\n"))
		if rest, ended := bytes.CutSuffix(data, []byte{4}); ended {
			data, a.End = rest, true
		}
	}
	defer t.notices.look(st.ID)()
	if err := p.Write(ctx, data, a.End); err != nil {
		return tool.Result{}, err
	}
	within, cancel := context.WithTimeout(ctx, a.patience(echo))
	defer cancel()
	return t.news(ctx, p, p.Wait(within, sandbox.WaitCondition{Idle: echoQuiet}), a)
}
