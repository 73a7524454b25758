package server

import (
	"context"
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/hooks"
	"github.com/mcp-tools/mcp-tools/internal/text"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/policy"
)

// consult runs the operator's hooks before a call, and returns the call as they leave it. Changed arguments are decided about anew, and the
// hooks do not run again for them.
func (c *call) consult(ctx context.Context, a *attempt, bound tool.Call, plan tool.Plan, sealed callState) (tool.Call, tool.Plan, error) {
	ruling, err := c.now.Hooks.Before(ctx, c.hooked(a, bound))
	a.hooks = ruling.Ran
	if err != nil {
		c.withdraw(ctx, sealed)
		return bound, plan, err
	}
	if ruling.Args != nil {
		if a.edited.Question != "" {
			return bound, plan, tool.Errorf(tool.Refused, "the operator's hooks do not accept the arguments as a person has changed them").
				Try("ask the user how to continue")
		}
		if bound, err = a.tool.Bind(ruling.Args, c.now.Limits.Args); err != nil {
			return bound, plan, tool.Errorf(tool.Unavailable, "the operator's hooks (%s) changed the arguments of this call to invalid ones",
				strings.Join(ruling.Ran, ", ")).Because(err).Try("tell the operator; the server's log has the cause")
		}
		c.Args, a.changed = bound.JSON(), true
		a.args = sum(a.tool.Spec.Name, c.Args)
		if plan, err = c.decide(ctx, a, bound, sealed); err != nil {
			return bound, plan, err
		}
	}
	if ruling.Ask != "" && plan.Ask == "" {
		plan.Ask, a.ask = ruling.Ask, ruling.Ask
		if a.verdict == policy.Allow {
			a.verdict = policy.Ask
		}
	}
	return bound, plan, nil
}

// hooked returns the call as hooks see it.
func (c *call) hooked(a *attempt, bound tool.Call) hooks.Call {
	return hooks.Call{ID: c.id, Tool: a.tool.Spec.Name, Risk: a.risk, Args: bound.JSON()}
}

// afterwards runs the operator's hooks after a call, and adds their words to its result. Hooks get the result without
// credentials.
func (c *call) afterwards(ctx context.Context, a *attempt, bound tool.Call, res tool.Result) tool.Result {
	says, ran := c.now.Hooks.After(ctx, c.hooked(a, bound), func() string { return c.server.scrubFor(c.Caller).Text(res.Text()) })
	a.hooks = append(a.hooks, ran...)
	if a.changed {
		says = append(says, "the operator's hooks changed the arguments of this call. It ran with: "+
			text.Clip(plainJSON(c.Args), maxEditShown))
	}
	for _, said := range says {
		res = res.Add(tool.Part{Text: "[" + said + "]"})
	}
	return res
}
