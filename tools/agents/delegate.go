package agents

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/text"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// delegate hands tasks to other agents that the operator has set up.
type delegate struct{ follower }

type delegateArgs struct {
	Agent   string `json:"agent,omitempty" jsonschema:"name of the agent" alias:"agent_key,agentId"`
	Task    string `json:"task,omitempty" jsonschema:"complete instructions for the agent" alias:"prompt,message" maxlen:"204800"`
	Mode    string `json:"mode,omitempty" jsonschema:"async (default), or sync to wait"`
	Timeout int    `json:"timeout,omitempty" jsonschema:"seconds to work or wait" alias:"timeout_seconds" hidden:"true"`

	Action     string   `json:"action,omitempty" jsonschema:"what to do" enum:"delegate,agents,check_result,await_sessions,list_results,cancel_task,list,history,cancel,wait" hidden:"true"`
	ID         string   `json:"id,omitempty" jsonschema:"id of a task" alias:"task_id" hidden:"true"`
	IDs        []string `json:"task_ids,omitempty" jsonschema:"ids of tasks" hidden:"true" maxitems:"128"`
	Label      string   `json:"label,omitempty" jsonschema:"short name of the task" hidden:"true"`
	Context    string   `json:"context,omitempty" jsonschema:"what the agent should know" hidden:"true"`
	Background *bool    `json:"background,omitempty" jsonschema:"whether not to wait" hidden:"true"`
	Parallel   []string `json:"parallel,omitempty" jsonschema:"several agents for the same task" hidden:"true" maxitems:"5"`
	Millis     int      `json:"timeout_ms,omitempty" jsonschema:"time to wait in milliseconds" hidden:"true" min:"0" max:"1800000"`
}

func (delegate) Spec() tool.Spec {
	return tool.Spec{
		Name: "delegate", Group: group, Title: "Delegate", Risk: tool.Runs, Hints: tool.Hints{OpenWorld: true},
		Doc: "Hands a task to another agent, with its own files and knowledge; without a task it lists the agents. " +
			"The result comes with a later result of yours. spawn lists, cancels and waits for it.",
		Also:    []string{"agents_list", "agent_list"},
		Means:   map[string]string{"agents_list": `{"action":"agents"}`, "agent_list": `{"action":"agents"}`},
		Timeout: maxWait + 30*time.Second, Output: subagents{}, Repeats: true,
	}
}

func (t delegate) Prepare(_ context.Context, a delegateArgs) (tool.Plan, error) {
	plan := tool.Plan{
		Risk: tool.Writes, Why: "it hands a task to another agent",
		Run: func(ctx context.Context) (tool.Result, error) { return t.run(ctx, a) },
	}
	switch a.Action {
	case "check_result", "await_sessions", "list_results", "list", "history", "wait", "agents":
		plan.Risk, plan.Why = tool.Reads, ""
	case "":
		if a.lists() {
			plan.Risk, plan.Why = tool.Reads, ""
		}
	}
	return plan, nil
}

// lists reports whether the call only asks for the agents.
func (a delegateArgs) lists() bool { return a.Task == "" && len(a.Parallel) == 0 }

func (t delegate) run(ctx context.Context, a delegateArgs) (tool.Result, error) {
	e, c := t.engine, tool.CallerFrom(ctx)
	limit := cmp.Or(seconds(a.Timeout), time.Duration(a.Millis)*time.Millisecond)
	names := a.IDs
	if a.ID != "" {
		names = append(names, a.ID)
	}
	switch a.Action {
	case "agents":
		return e.targets(ctx, c)
	case "list", "list_results", "history":
		return e.show(ctx, c)
	case "cancel", "cancel_task":
		return e.cancel(ctx, c, a.ID)
	case "check_result", "await_sessions", "wait":
		if a.Action == "check_result" {
			limit = time.Millisecond
		}
		return e.awaitEach(ctx, c, names, limit)
	}
	if a.lists() {
		return e.targets(ctx, c)
	}
	s := Spawn{Task: a.Task, Label: a.Label, Agent: a.Agent, Limit: limit}
	if a.Context != "" {
		s.Task += "\n\nContext:\n" + a.Context
	}
	if a.Mode != "" && a.Mode != "async" && a.Mode != "sync" {
		return tool.Result{}, tool.Errorf(tool.Invalid, "mode is %q", text.Clip(a.Mode, 50)).Try("use async or sync")
	}
	wait := a.Mode == "sync" || a.Background != nil && !*a.Background
	if len(a.Parallel) == 0 {
		if s.Agent == "" {
			return tool.Result{}, tool.Errorf(tool.Invalid, `"agent" is missing`).
				Try("delegate without a task lists the agents")
		}
		return e.launch(ctx, s, wait, limit)
	}
	var ids []string
	for _, name := range a.Parallel {
		s.Agent = name
		id, err := e.Spawn(ctx, s)
		if err != nil {
			for _, started := range ids { // all or none
				if _, err := e.cancel(ctx, c, started); err != nil {
					e.Log.Warn("a delegated task cannot be cancelled", "id", started, "err", err)
				}
			}
			return tool.Result{}, err
		}
		ids = append(ids, id)
	}
	if wait {
		return e.awaitEach(ctx, c, ids, limit)
	}
	return tool.Textf("%d tasks accepted (ids %s). Their results come with later results of yours.", len(ids),
		strings.Join(ids, ", ")).With(subagents{"accepted", []envelope{}}), nil
}

// awaitEach waits for several subagents, or for all if none is named.
func (e *Engine) awaitEach(ctx context.Context, c tool.Caller, names []string, limit time.Duration) (tool.Result,
	error) {
	if len(names) == 0 {
		return e.await(ctx, c, "all", limit)
	}
	deadline := time.Now().Add(min(cmp.Or(limit, defaultWait), maxWait))
	var words []string
	data := subagents{Status: "ok"}
	for _, name := range names {
		res, err := e.await(ctx, c, name, max(time.Until(deadline), time.Millisecond))
		if err != nil {
			return tool.Result{}, err
		}
		words = append(words, res.Text())
		if one, ok := res.Data.(subagents); ok {
			data.Subagents = append(data.Subagents, one.Subagents...)
		}
	}
	return tool.Text(strings.Join(words, "\n\n")).With(data), nil
}

// targets lists the agents for tasks: their strengths, and their load.
func (e *Engine) targets(ctx context.Context, c tool.Caller) (tool.Result, error) {
	names := e.Targets(c.Agent)
	if len(names) == 0 {
		return tool.Text("You may not delegate to any agent."), nil
	}
	var lines []string
	err := e.Store.View(ctx, func(tx *store.Tx) error {
		lines = nil
		for _, name := range names {
			var load int
			if err := tx.Row("SELECT count(*) FROM subagent WHERE agent = $1 AND ended = 0", []any{name},
				&load); err != nil {
				return err
			}
			agent := e.Agents[name]
			line := fmt.Sprintf("- %s (%d/%d busy)", name, load, agent.Load)
			if agent.About != "" {
				line += ": " + agent.About
			}
			lines = append(lines, line)
		}
		return nil
	})
	return tool.Text(strings.Join(lines, "\n")), err
}
