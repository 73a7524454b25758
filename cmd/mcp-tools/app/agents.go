package app

import (
	"context"
	"path/filepath"

	"github.com/mcp-tools/mcp-tools/server/identity"

	"github.com/mcp-tools/mcp-tools/internal/config"
	"github.com/mcp-tools/mcp-tools/internal/inbox"
	"github.com/mcp-tools/mcp-tools/internal/llm"
	"github.com/mcp-tools/mcp-tools/internal/sandbox/program"
	"github.com/mcp-tools/mcp-tools/internal/telemetry"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/server"
	"github.com/mcp-tools/mcp-tools/tools/agents"
	"github.com/mcp-tools/mcp-tools/tools/agents/worktree"
	"github.com/mcp-tools/mcp-tools/tools/automation"
	"github.com/mcp-tools/mcp-tools/tools/sessions"
)

// worktreesDir is the directory in the data directory for working trees of subagents.
const worktreesDir = "worktrees"

// openAgents opens the engine of subagents. It works when the server does.
func (a *App) openAgents(context.Context) error {
	c := a.loaded.Config
	limits, err := c.Subagents.Limits()
	if err != nil {
		return err
	}
	o := agents.Options{
		Store: a.store, Jobs: a.jobs, Able: a.records, Inbox: a.inbox, Models: a.models.Names(), Complete: a.models.Complete, Limits: limits,
		Call: func(ctx context.Context, c agents.Call) tool.Result {
			return a.Server.CallFor(ctx, server.Request{
				Access: server.AccessOf(c.Grant), Tool: c.Tool, Args: c.Args, Parent: c.Parent, Trace: c.Trace,
			}, c.Asker)
		},
		Tools:   func(g tool.Grant) []tool.Tool { return a.Server.Tools(server.AccessOf(g)) },
		Revoked: a.revoked, Context: a.contextFiles.Combined, Answer: a.sessions.Answer, Scrub: a.scrub.Text,
		Began: a.sessions.Begin, Over: a.sessions.End, Ended: a.subagentEnded,
		Trace:  telemetry.Traceparent,
		Agents: make(map[string]agents.Agent), Log: a.log,
	}
	for name, one := range c.Agents {
		o.Agents[name] = agents.Agent{
			About: one.About, Model: one.Model, DelegateTo: one.DelegateTo, Load: c.Subagents.Tasks,
		}
	}
	hooks := a.hookOptions()
	o.Trees = &worktree.Trees{
		Dir: filepath.Join(a.data, worktreesDir), Programs: &program.Runner{Tiers: a.tiers}, Workspace: hooks.Dir, Checkpoint: hooks.Checkpoint,
	}
	o.Executors = map[string]agents.Executor{agents.ProgramKind: a.programs()}
	a.agents = agents.New(o)
	a.sessions.Engine = subagentSessions{a.agents}
	return nil
}

// openScheduler makes the jobs with schedules. They run while the server does.
func (a *App) openScheduler(context.Context) error {
	a.scheduler = automation.NewScheduler(automation.SchedulerOptions{
		Store: a.store, Jobs: a.jobs, Able: a.records, Revoked: a.revoked, Over: a.endSession, Failed: a.jobFailed, Log: a.log,
		Call: func(ctx context.Context, c automation.ScheduledCall) tool.Result {
			return a.Server.CallFor(ctx, server.Request{
				Access: server.AccessOf(c.Grant), Tool: c.Tool, Args: c.Args, Parent: c.Parent, Scheduled: true,
			}, c.Asker)
		},
	})
	return nil
}

// records reports whether calls can be recorded now. On a full disk a job would fail, which another server can do.
func (a *App) records() bool { return a.audit.Ready() == nil }

// startJobs runs the jobs that are due, and goes on with subagents and orders that other
// processes have left, from when there is a store.
func (a *App) startJobs(ctx context.Context) {
	if !a.due(ctx) {
		return
	}
	a.scheduler.Start()
	a.sweepBlobs.Start()
	if a.undoing != nil {
		a.undoing.Start()
	}
	if a.agents.CanSpawn() {
		a.agents.Start()
	}
	a.outbox.Start()
	if a.orders.CanWork() {
		a.orders.Start()
	}
}

// revoked returns why the token of a grant is no longer valid for it, or "".
func (a *App) revoked(ctx context.Context, g tool.Grant) (reason string, err error) {
	return identity.Revoked(ctx, a.store, a.listed(), g)
}

// listed returns the tokens of the settings that are in force.
func (a *App) listed() map[string]config.Token { return a.inForce().Config.Connections.Tokens }

// subagentSessions shows subagents as sessions.
type subagentSessions struct{ engine *agents.Engine }

// Wake reports whether a subagent works: then it reads its messages before its next turn.
func (s subagentSessions) Wake(ctx context.Context, to inbox.To) (bool, error) {
	return s.engine.Works(ctx, to.Session)
}

// Turns returns the conversation of a subagent.
func (s subagentSessions) Turns(ctx context.Context, of inbox.To) (turns []sessions.Turn, ok bool, err error) {
	list, ok, err := s.engine.Conversation(ctx, of.Session)
	for _, m := range list {
		for _, r := range m.Results {
			turns = append(turns, sessions.Turn{ID: r.ID, Role: "tool", Text: r.Text})
		}
		role := "agent" // the agent that started this one or has written to it
		if m.Role == llm.Assistant {
			role = "assistant"
		}
		if m.Text != "" {
			turns = append(turns, sessions.Turn{Role: role, Text: m.Text})
		}
		for _, c := range m.Calls {
			turns = append(turns, sessions.Turn{ID: c.ID, Role: "tool", Text: c.Name + " " + c.Args})
		}
	}
	return turns, ok, err
}
