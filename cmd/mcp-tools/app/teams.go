package app

import (
	"context"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/internal/workspace"
	"github.com/mcp-tools/mcp-tools/tools/questions"
	"github.com/mcp-tools/mcp-tools/tools/teams"
)

// openTeams makes the teams and the questions of agents, which open nothing yet.
func (a *App) openTeams() {
	a.questions = questions.New(a.store, a.log)
	a.teams = teams.New(teams.Options{
		Store: a.store, Unused: a.unused, Log: a.log, Withdraw: questions.Withdraw,
		Ask: func(ctx context.Context, q questions.Question) (answer string, err error) {
			answer, _, err = a.questions.Ask(ctx, q)
			return answer, err
		},
	})
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
	if len(a.rules.load().commandsOf(c.Agent).programs) == 0 {
		all = append(all, "credentialed_exec")
	}
	if !a.teams.Has(c.Agent) {
		all = append(all, noTeams...)
	}
	return all
}

// endSession ends what a session has left behind: commands in the background, and tasks of a team.
func (a *App) endSession(c tool.Caller) {
	a.sessions.Ended(c)
	a.commands.EndSession(c.Session)
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if err := a.teams.EndSession(ctx, c.Session); err != nil {
		a.log.Warn("the tasks of a session could not be given to others; they are when their time is over", "err", err)
	}
}
