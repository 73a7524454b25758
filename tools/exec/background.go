package exec

import (
	"context"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

const (
	// look is how long a command that goes on in the background is watched
	// first: most that cannot start have said so by then.
	look = 1500 * time.Millisecond
	// settled is when it has said what it has to say at its start.
	settled = 600 * time.Millisecond
)

// background starts a command and returns when it has shown how it begins.
func (t execTool) background(ctx context.Context, k task) (tool.Result, error) {
	p, err := t.Commands.Start(ctx, k.args.command(k.site))
	if err != nil {
		return tool.Result{}, err
	}
	if err := p.Keep(ctx, k.args.Keep); err != nil {
		remove(ctx, p)
		return tool.Result{}, err
	}
	patience, until := look, Until{Idle: settled}
	if k.args.Yield > 0 {
		patience, until = min(time.Duration(k.args.Yield)*time.Millisecond, maxYield), Until{}
	}
	within, cancel := context.WithTimeout(ctx, patience)
	if until.Idle > 0 { // silence counts once it has begun to speak
		p.Wait(within, Until{Pattern: "."})
	}
	st := p.Wait(within, until)
	cancel()
	if err := ctx.Err(); err != nil { // nobody hears of its handle
		remove(ctx, p)
		return tool.Result{}, err
	}
	size := p.Log(Stdout).Size()
	text, err := t.output(ctx, p)
	if err != nil {
		remove(ctx, p)
		return tool.Result{}, err
	}
	a := answer{status: st, site: k.site, text: text, k: &k}
	if st.State != Running && st.Left == 0 {
		remove(ctx, p)
		return a.result(), nil
	}
	t.places.shown(tool.CallerFrom(ctx), st.ID, size, 0)
	return a.result(), nil
}
