package exec

import (
	"cmp"
	"context"
	"strings"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/sandbox"
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
		"bash", "Bash", "shell", "tool::shell_exec", "shell_exec", "run_command", "execute_command",
		"run_shell_command",
		"run_terminal_cmd", "run_in_terminal", "terminal", "Shell", "local_shell", "exec_command", "execute_bash",
		"powershell", "PowerShell",
	}
	doc := `Runs a shell command in the workspace. Returns its output, and its exit code if not 0.
For servers and long commands set background. To read or change files use the file tools.`
	if t.Elevated {
		doc += "\nWith elevated: true it runs on the host, outside the sandbox, once a person has approved it."
	}
	return tool.Spec{
		Name: "exec", Group: group, Title: "Run a command", Risk: tool.Runs, Core: true, Viewed: true,
		Doc:  doc,
		Also: also,
		// Their timeout is in milliseconds.
		Means: map[string]string{
			"Bash": `{"timeout_is_ms":true}`, "tool::shell_exec": `{"timeout_is_ms":true}`,
			"powershell": `{"in_powershell":true}`, "PowerShell": `{"in_powershell":true}`,
		},
		Bare: "command",
		Keywords: "bash sh shell terminal run execute command script program build compile make test lint format " +
			"git commit clone install npm pip python node go cargo disk space system powershell",
		// The timeout of the command itself ends before.
		Timeout: t.MaxTimeout + time.Minute,
		MaxText: 100 << 10,
		Hints:   tool.Hints{OpenWorld: true},
		Output:  outcome{},
	}
}

// A task is a command that was checked and judged and can be started.
type task struct {
	args    execArgs
	site    sandbox.Site
	verdict judge.Verdict
	note    string // for the model, in any case
}

// prepareTask checks the arguments, finds where the command would run, and judges
// it, without side effects.
func (t execTool) prepareTask(ctx context.Context, a execArgs) (task, error) {
	if err := a.check(); err != nil {
		return task{}, err
	}
	site, err := t.site(ctx, a.Cwd, a.Elevated)
	if err != nil {
		return task{}, err
	}
	if d := a.timeout(site); a.inBackground() && d > site.MaxTimeout {
		return task{}, tool.Errorf(tool.Invalid, "timeout_seconds is %d, the max is %d",
			int(d.Seconds()), int(site.MaxTimeout.Seconds())).
			Try("leave it out: in the background a command has no limit")
	}
	a = t.withAliases(ctx, a)
	k := task{args: a, site: site, verdict: t.judge(ctx, site, a)}
	k.note = t.withoutCredentials(ctx, k)
	if out := k.verdict.Outside; out != "" && site.Isolated {
		k.note = strings.TrimPrefix(k.note+"; "+out+" is outside the workspace: it is in the memory of the sandbox and not kept", "; ")
	}
	if site.Elevated {
		k.note = "it ran on the host, outside the sandbox"
	}
	if a.asked() > site.MaxTimeout && !a.inBackground() {
		k.note = strings.TrimPrefix(k.note+"; the timeout was "+brief(site.MaxTimeout)+", which is the max", "; ")
	}
	if a.Keep {
		k.note = strings.TrimPrefix(k.note+"; it outlives this session", "; ")
		if channel := tool.CallerFrom(ctx).Channel; channel == "stdio" || channel == "cli" {
			k.note += " if the server does, which ends with its client here"
		}
	}
	return k, nil
}

// Prepare judges a command once: the risk, the facts of an approval and the program to run come
// from the same verdict.
func (t execTool) Prepare(ctx context.Context, a execArgs) (tool.Plan, error) {
	a = a.withoutShell()
	if order, ok := t.order(ctx, a); ok {
		plan, err := t.creds.Prepare(ctx, order)
		if refused := a.alone(order); refused != nil {
			err = refused
		}
		return plan, err
	}
	k, err := t.prepareTask(ctx, a)
	if err != nil {
		return tool.Plan{}, err
	}
	run := t.foreground
	if a.inBackground() {
		run = t.background
	}
	ask, why := "", k.verdict.Why
	if k.site.Elevated {
		ask, why = "elevated", strings.TrimSuffix("on the host, outside the sandbox; "+why, "; ")
	}
	return tool.Plan{
		Risk: k.verdict.Risk, Why: why, Kept: k.verdict.Kept && t.Checkpoint != nil, Once: !k.verdict.Always || ask != "", Ask: ask,
		Facts: func(context.Context) (tool.Facts, error) { return k.facts(), nil },
		Run: func(ctx context.Context) (tool.Result, error) {
			res, err := run(ctx, k)
			if err == nil && a.Subtask {
				res = inSubtask(ctx, res)
			}
			return res, err
		},
	}, cmp.Or(refusal(k.verdict), k.lockedGit())
}
