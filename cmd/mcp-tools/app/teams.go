package app

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/ask"
	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/internal/workspace"
	"github.com/mcp-tools/mcp-tools/tools/agents"
	"github.com/mcp-tools/mcp-tools/tools/messaging"
	"github.com/mcp-tools/mcp-tools/tools/questions"
	"github.com/mcp-tools/mcp-tools/tools/teams"
)

// openTeams makes the teams and the questions of agents. They open nothing yet.
func (a *App) openTeams() {
	a.questions = questions.New(a.store, a.jobs, a.log)
	a.questions.Page = a.questionPage
	a.teams = teams.New(teams.Options{
		Store: a.store, Unused: a.unused, Log: a.log, Inbox: a.inbox, Withdraw: ask.WithdrawAbout, Start: a.startMember,
		Done:     a.taskDone,
		Describe: func(_ context.Context, agent string) string { return a.loaded.Config.Agents[agent].About },
		Ask: func(ctx context.Context, q questions.Question) (answer string, err error) {
			answer, _, err = a.questions.Ask(ctx, q)
			return answer, err
		},
	})
}

// startMember starts an agent for a task of its team, unless one of its clients is connected. Without a model, or if
// the lead may not delegate to it, the agent finds the task in its inbox when it comes.
func (a *App) startMember(ctx context.Context, s teams.Start) error {
	if !a.agents.CanSpawn() {
		return nil
	}
	var clients int
	err := a.store.Row(ctx, `SELECT count(*) FROM session WHERE agent = $1 AND ended = 0 AND depth = 0
		AND host IN (SELECT id FROM session_host WHERE until > {{now}})`, []any{s.Agent}, &clients)
	if err != nil || clients > 0 {
		return err
	}
	_, err = a.agents.Spawn(ctx, agents.Spawn{
		Agent: s.Agent, Task: s.Task, Label: "team task", Ref: teamRef + s.Ref, With: s.Claim,
	})
	if known := (*tool.Error)(nil); errors.As(err, &known) && known.Kind == tool.Refused {
		a.log.Debug("an agent was not started for a task", "agent", s.Agent, "err", err)
		return nil
	}
	return err
}

// teamRef is the beginning of the Ref of a subagent that works on a task of a team.
const teamRef = "team "

// subagentEnded ends the task of a team that a subagent was started for, or sends its answer to a chat.
func (a *App) subagentEnded(t *store.Tx, end agents.End) (noticed bool, err error) {
	if chat, ok := strings.CutPrefix(end.Ref, answerRef); ok && a.inbound != nil {
		return true, a.inbound.RunEnded(t, chat, end.Session, end.Done, end.Text)
	}
	ref, ok := strings.CutPrefix(end.Ref, teamRef)
	if !ok {
		return false, nil
	}
	return a.teams.RunEnded(t, ref, end.Session, end.Done, end.Text)
}

// teamRoute shows the files of the caller's team in the workspace, unless it has such files on disk.
func (a *App) teamRoute() workspace.Route {
	files := a.teams.Files()
	return workspace.Route{Serves: a.unlessOnDisk(files.Serves), Source: files}
}

// noTeams are the groups that do not work for an agent without a team.
var noTeams = []string{teams.Group}

// unusable returns the tools, and groups of tools, that do not work for a caller.
func (a *App) unusable(c tool.Caller) (all []string) {
	all = slices.Clone(a.noMedia)
	if len(a.rules.load().commands.Of(c.Agent).Programs) == 0 {
		all = append(all, "credentialed_exec")
	}
	if !a.teams.Has(c.Agent) {
		all = append(all, noTeams...)
	}
	if len(a.accounts.Names()) == 0 {
		all = append(all, messaging.Group)
	}
	all = append(all, a.bridge.Hidden(c)...)
	all = append(all, a.custom.hidden(c.Agent)...)
	return all
}

// beginSession prepares the workspace of a caller that may run commands there.
func (a *App) beginSession(c tool.Caller, mayUse func(name string) bool) {
	if c.Workspace != "" && mayUse("exec") {
		a.files.Prepare(c)
	}
}

// endSession ends the work that a session has left behind: commands in the background, and tasks of a team.
func (a *App) endSession(c tool.Caller) {
	a.sessions.Ended(c)
	a.commands.EndSession(c.Session)
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if err := a.teams.EndSession(ctx, c.Session); err != nil {
		a.log.Warn("the tasks of a session could not be given to others; they are when their time is over", "err", err)
	}
}
