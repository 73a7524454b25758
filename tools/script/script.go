// Package script holds the tool that runs JavaScript. The script can call other tools. A script
// runs in a process of its own, package engine; this package starts it, makes its calls through
// the pipeline of the server, and ends it.
//
// Begin with [Runner.Run].
package script

import (
	"context"
	"strings"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/internal/workspace"
)

const group = "script"

// Tools returns the tools of the group.
func Tools(r *Runner, files workspace.Files) []tool.Tool {
	return []tool.Tool{tool.New(runScript{r, files})}
}

// runScript runs a script.
type runScript struct {
	runner *Runner
	files  workspace.Files
}

type runScriptArgs struct {
	Code string `json:"code" jsonschema:"body of an async function; end with return" alias:"script,source,javascript,js"`
}

// patience is how long people may take to answer the questions of a script.
const patience = time.Hour

func (runScript) Spec() tool.Spec {
	return tool.Spec{
		Name: "script", Group: group, Title: "Run a script", Risk: tool.Reads, Composes: true,
		Doc: `Runs JavaScript that calls tools and returns only the code's result. For loops, joins and filters over
many results. tools.NAME({...}) calls a tool; JSON comes back as a value, other results as text, a failure throws.
print(x) adds a line. No files, network or imports; 200 calls, 60 s.`,
		Also: []string{"run_script", "run_code", "execute_code", "code_mode", "javascript"},
		Bare: "code", Timeout: maxTime + patience, MaxText: 256 << 10, MaxShown: 16 << 10,
		Keywords: "javascript code program loop batch automate",
	}
}

func (t runScript) Do(ctx context.Context, a runScriptArgs) (tool.Result, error) {
	if strings.TrimSpace(a.Code) == "" {
		return tool.Result{}, tool.Errorf(tool.Invalid, "the code is empty").
			Try(`send code such as: return tools.list_files({path: "."})`)
	}
	out, err := t.runner.Run(ctx, a.Code, nil)
	undo := t.undoHint(ctx, out)
	if err != nil {
		if known := tool.AsError(err); undo != "" && known.Kind != tool.Internal {
			with := *known
			with.What += undo
			return tool.Result{}, &with
		}
		return tool.Result{}, err
	}
	return tool.Text(out.String() + undo), nil
}

// undoHint returns how to undo the changes that the script has made, or "" if there are none.
func (t runScript) undoHint(ctx context.Context, o Outcome) string {
	id := tool.RunningFrom(ctx).Call
	if o.Calls == 0 || t.files == nil {
		return ""
	}
	past, err := t.files.History(context.WithoutCancel(ctx), "", maxCalls)
	if err != nil {
		return "" // a caller without a workspace has changed nothing
	}
	for _, p := range past {
		if p.Script == id {
			return "\nto undo the changes of the script use undo " + id
		}
	}
	return ""
}
