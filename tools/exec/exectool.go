package exec

import (
	"context"
	"runtime"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/tools/exec/judge"
)

// execTool runs a command.
type execTool struct {
	*runner
	creds credentials
}

func (t execTool) Spec() tool.Spec {
	also := []string{
		"bash", "Bash", "shell", "tool::shell_exec", "shell_exec", "run_command", "execute_command", "run_shell_command",
		"run_terminal_cmd", "run_in_terminal", "terminal", "Shell", "local_shell", "exec_command", "execute_bash",
	}
	if runtime.GOOS == "windows" {
		also = append(also, "powershell", "PowerShell")
	}
	return tool.Spec{
		Name: "exec", Group: group, Title: "Run a command", Risk: tool.Runs, Core: true,
		Doc:      "Runs a command in the workspace; returns its output, and its exit code unless 0.",
		Also:     also,
		Keywords: "bash sh shell terminal run command script build test git install powershell",
		// The commands' own time is up before.
		Timeout: t.Most + time.Minute,
		MaxText: 100 << 10,
		Hints:   tool.Hints{OpenWorld: true},
	}
}

// A task is a command that was looked at from all sides before it is started.
type task struct {
	args    execArgs
	site    Site
	verdict judge.Verdict
	note    string // what the model should know whatever comes of it
}

// look looks at a command. It has no side effects: before a command runs it is
// looked at up to three times, each time anew.
func (t execTool) look(ctx context.Context, a execArgs) (task, error) {
	if err := a.check(); err != nil {
		return task{}, err
	}
	site, err := t.site(ctx, a.Cwd)
	if err != nil {
		return task{}, err
	}
	if d := a.timeout(site); a.behind() && d > site.Most {
		return task{}, tool.Errorf(tool.Invalid, "timeout_seconds is %d, the most is %d", int(d.Seconds()), int(site.Most.Seconds())).
			Try("leave it out: in the background a command may take for ever")
	}
	k := task{args: a, site: site, verdict: t.judge(site, a)}
	k.note = t.bare(k)
	return k, nil
}

// Rate says how risky a command is by what it does. One that is not going to
// run, whatever a person says, is refused by Terms or Do.
func (t execTool) Rate(ctx context.Context, a execArgs) (tool.Risk, string) {
	a = a.plain()
	if order, ok := t.order(a); ok {
		return t.creds.Rate(ctx, order)
	}
	k, err := t.look(ctx, a)
	if err != nil {
		return tool.Runs, ""
	}
	return k.verdict.Risk, k.verdict.Why
}

// Terms are where it runs, and what its programs are today.
func (t execTool) Terms(ctx context.Context, a execArgs) (tool.Terms, error) {
	a = a.plain()
	if order, ok := t.order(a); ok {
		if err := a.alone(order); err != nil {
			return tool.Terms{}, err
		}
		return t.creds.Terms(ctx, order)
	}
	k, err := t.look(ctx, a)
	if err == nil {
		err = refusal(k.verdict)
	}
	if err != nil {
		return tool.Terms{}, err
	}
	return k.terms(), nil
}

func (t execTool) Do(ctx context.Context, a execArgs) (tool.Result, error) {
	a = a.plain()
	if order, ok := t.order(a); ok {
		if err := a.alone(order); err != nil {
			return tool.Result{}, err
		}
		return t.creds.Do(ctx, order)
	}
	k, err := t.look(ctx, a)
	if err == nil {
		err = refusal(k.verdict)
	}
	if err != nil {
		return tool.Result{}, err
	}
	if a.behind() {
		return t.background(ctx, k)
	}
	return t.foreground(ctx, k)
}
