package app

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/audit"
	"github.com/mcp-tools/mcp-tools/internal/clock"
	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/policy"
	"github.com/mcp-tools/mcp-tools/server"
	"github.com/mcp-tools/mcp-tools/tools/agents"
	"github.com/mcp-tools/mcp-tools/tools/messaging/inbound"
	"github.com/mcp-tools/mcp-tools/tools/teams"
)

// openInbound makes the part that receives from channels and asks people there. It works while the server runs.
func (a *App) openInbound() {
	if len(a.accounts.Names()) == 0 {
		return
	}
	o := inbound.Options{
		Store: a.store, Jobs: a.jobs, Accounts: a.accounts, Outbox: a.outbox, Log: a.log,
		Rules: inbound.RulesOf(a.loaded.Config.Messaging), Approvals: a.approvals, Questions: a.questions,
		Lead: teams.LeadOf, Record: a.recordPerson,
	}
	if a.agents.CanSpawn() {
		o.Start = a.startAnswer
	}
	a.inbound = inbound.New(o)
	a.onClose(a.inbound.Close)
}

// receiveMessages receives messages and asks people until ctx ends. It begins when the store is
// used, and opens a store only for channels that can receive.
func (a *App) receiveMessages(ctx context.Context) {
	if a.inbound == nil || clock.Sleep(ctx, startFirst) != nil {
		return
	}
	if !a.unused() || a.mayReceive(ctx) || a.opened(ctx) {
		a.inbound.Run(ctx)
	}
}

// mayReceive reports whether messages arrive from a channel.
func (a *App) mayReceive(ctx context.Context) bool {
	for _, name := range a.accounts.Names() {
		if mode, err := a.inbound.Mode(ctx, name); err == nil && mode == inbound.Pull {
			return true
		}
	}
	return false
}

// hooks returns the handler of requests from services, nil without channels.
func (a *App) hooks() http.Handler {
	if a.inbound == nil {
		return nil
	}
	return a.inbound
}

// fetchFile writes a file that has arrived for the caller in ctx.
func (a *App) fetchFile(ctx context.Context, id string, into io.Writer) (name string, err error) {
	f, err := a.inbound.File(ctx, tool.CallerFrom(ctx), id)
	if err != nil {
		return "", err
	}
	return f.Name, a.inbound.Fetch(ctx, f, into)
}

// answerRef is the beginning of the Ref of a subagent that answers in a chat.
const answerRef = "chat "

// startAnswer starts an agent that answers in a chat. It works as the agent and the user of the
// binding, with the rules of its profile and of the chat.
func (a *App) startAnswer(ctx context.Context, r inbound.Run) error {
	c := r.Caller
	base, err := a.LocalCaller("chat")
	if err != nil {
		return err
	}
	c.Workspace = base.Caller.Workspace
	narrow := policy.Narrow{Tools: r.Tools}
	subject := server.SubjectOf(c)
	subject.Narrow = narrow
	inChat := subject // as the policy names the chat
	inChat.Group = c.Channel + ":" + c.ChatID
	grant := tool.Grant{Caller: c, Narrow: narrow, Within: []policy.Subject{subject, inChat}, Transport: "chat"}
	ctx = tool.With(ctx, &tool.Running{
		Caller: c, Call: store.NewID(), Grant: func() tool.Grant { return grant },
	})
	files := ""
	if c.Agent != "" { // the main agent has none
		if files, err = a.contextFiles.Combined(ctx); err != nil {
			return err
		}
	}
	_, err = a.agents.Spawn(ctx, agents.Spawn{
		Task: strings.TrimSpace(files + "\n\n" + r.Task), Label: r.Label, Model: a.loaded.Config.Agents[c.Agent].Model,
		Ref: answerRef + r.Ref, With: r.With,
	})
	return err
}

// recordPerson records in the audit log the decision of a person in a chat.
func (a *App) recordPerson(ctx context.Context, r inbound.Record) {
	if err := a.audit.Append(ctx, audit.Record{
		Phase: audit.Done, Call: store.NewID(), Kind: "chat", Tool: r.Action, User: r.Person, Transport: r.Channel,
		Approval: r.About, Outcome: r.Outcome, Error: a.scrub.Text(r.Why),
	}); err != nil {
		a.log.Error("what a person has decided is not in the audit log", "approver", r.Person, "call", r.About, "err",
			err)
	}
}

// jobFailed notifies people of a job that has failed.
func (a *App) jobFailed(t *store.Tx, o tool.Owner, job, why string) error {
	return a.inbound.Tell(t, inbound.Event{
		Kind: inbound.JobFailed, Agent: o.Agent, Key: o.Agent + "/" + o.User + "/" + job,
		Text: fmt.Sprintf("The job %s of agent %q failed: %s", job, o.Agent, a.scrub.Text(why)),
	})
}

// taskDone notifies people of a task of a team that has ended.
func (a *App) taskDone(t *store.Tx, lead, task, words string) error {
	return a.inbound.Tell(t, inbound.Event{Kind: inbound.TaskDone, Agent: lead, Key: task, Text: a.scrub.Text(words)})
}

// budgetNear notifies people of a budget that is nearly used up today.
func (a *App) budgetNear(t *store.Tx, principal, used string) error {
	whose := "all callers"
	agent, _, _ := strings.Cut(principal, "/")
	if principal != "" {
		whose = "agent and user " + principal
	}
	return a.inbound.Tell(t, inbound.Event{
		Kind: inbound.BudgetUsed, Agent: agent, Key: principal,
		Text: fmt.Sprintf("80 %% of the budget for models of %s is used today: %s", whose, used),
	})
}
