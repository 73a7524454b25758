package exec

import (
	"context"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/sandbox"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

const (
	// firstLook is how long to watch a command in the background at first: most
	// commands that cannot start have reported it by then.
	firstLook = 1500 * time.Millisecond
	// settled is how long a command is quiet when its start-up messages are complete.
	settled = 600 * time.Millisecond
)

// background starts a command and returns with its first output.
func (t execTool) background(ctx context.Context, k task) (tool.Result, error) {
	p, stopped, err := t.start(ctx, k.args.command(k.site), k)
	if err != nil {
		return tool.Result{}, err
	}
	if err := p.Keep(ctx, k.args.Keep); err != nil {
		remove(ctx, p)
		stopped(sandbox.Status{})
		return tool.Result{}, err
	}
	patience, until := firstLook, sandbox.WaitCondition{Idle: settled}
	if k.args.Yield > 0 {
		patience, until = min(time.Duration(k.args.Yield)*time.Millisecond, maxYield), sandbox.WaitCondition{}
	}
	within, cancel := context.WithTimeout(ctx, patience)
	if until.Idle > 0 { // quiet counts after the first output
		p.Wait(within, sandbox.WaitCondition{Pattern: "."})
	}
	st := p.Wait(within, until)
	cancel()
	stopped(st)
	if err := ctx.Err(); err != nil { // no caller gets its id
		remove(ctx, p)
		return tool.Result{}, err
	}
	size := p.Log(sandbox.Stdout).Size()
	out, kept, err := t.output(ctx, p)
	if err != nil {
		remove(ctx, p)
		return tool.Result{}, err
	}
	a := answer{status: st, site: k.site, printed: out, kept: kept, k: &k, refused: t.refusedHost(ctx),
		also: t.setAside(ctx), view: t.view(ctx, p, st)}
	if st.State != sandbox.Running && st.Left == 0 {
		remove(ctx, p)
		return a.result(), nil
	}
	t.places.shown(tool.CallerFrom(ctx), st.ID, size, 0)
	if st.State == sandbox.Running {
		t.notices.report(ctx, p, t.Finished, t.Ended)
	}
	return following(ctx, a.result(), st), nil
}
