package pauses

import (
	"cmp"
	"context"

	"github.com/mcp-tools/mcp-tools/internal/room"
	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/terminal"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// Room returns the operators' verbs for pauses of calls.
func Room() *room.Room {
	o := new(operator)
	return &room.Room{
		Name: "pauses",
		Open: func(h *room.Host) error { o.store = h.Store; return nil },
		Verbs: []room.Verb{
			room.Do(room.Verb{
				Name: "pause", Title: "Stop all calls, or the calls of an agent or a session", Top: true, Risk: tool.Writes,
				Where: room.Operator,
				Doc: `pause is the emergency stop. On all servers with the same store it ends running
calls, commands in the background and subagents, and refuses new calls, also after
a restart. A server notices the pause within a second; a call that comes before it
does may still run. mcp-tools resume ends the pause.

Changes of a stopped call stay.`,
				Example: `  mcp-tools pause --reason 'the deployment is broken'
  mcp-tools pause --agent builder
  mcp-tools pause --session stdio-4711-a1b2c3`,
			}, o.pause),
			room.Do(room.Verb{
				Name: "resume", Title: "End all pauses, or the pause of an agent or a session", Top: true, Risk: tool.Writes,
				Where: room.Operator,
				Doc: `resume ends pauses. Without flags it ends all of them, with flags only the pause
that was made with the same flags.`,
				Example: "  mcp-tools resume\n  mcp-tools resume --agent builder",
			}, o.resume),
		},
	}
}

// operator has the verbs of pauses.
type operator struct{ store *store.Store }

// whom names the calls that a pause covers.
type whom struct {
	Agent   string `json:"agent,omitempty" jsonschema:"only this agent"`
	Session string `json:"session,omitempty" jsonschema:"only this session; mcp-tools audit tail shows sessions"`
}

type pauseArgs struct {
	whom
	Reason string `json:"reason,omitempty" jsonschema:"reason, for the agents and their users"`
}

func (o *operator) pause(ctx context.Context, a pauseArgs) (tool.Result, error) {
	p := Pause{Agent: a.Agent, Session: a.Session, Reason: cmp.Or(a.Reason, "no reason was given"), By: room.By(ctx).Name}
	if err := Add(ctx, o.store, p); err != nil {
		return tool.Result{}, err
	}
	return o.list(ctx)
}

func (o *operator) resume(ctx context.Context, a whom) (tool.Result, error) {
	all := a == whom{}
	n, err := Remove(ctx, o.store, a.Agent, a.Session, all)
	if err == nil && n == 0 && !all {
		err = tool.Errorf(tool.NotFound, "there is no such pause").Try("mcp-tools resume without flags ends all pauses")
	}
	if err != nil {
		return tool.Result{}, err
	}
	return o.list(ctx)
}

// list returns the pauses of now.
func (o *operator) list(ctx context.Context) (tool.Result, error) {
	list, err := List(ctx, o.store)
	head := []string{"PAUSED AGENT", "SESSION", "SINCE", "BY", "REASON"}
	return room.Rows(list, "Nothing is paused.", head, func(p Pause) []string {
		return []string{
			cmp.Or(p.Agent, "all"), cmp.Or(p.Session, "all"), p.At.Local().Format("15:04:05"), p.By,
			terminal.Short(terminal.OneLine(p.Reason), 80),
		}
	}), err
}
