package app

import (
	"context"
	"log/slog"
	"sync/atomic"

	"github.com/mcp-tools/mcp-tools/tools/web/access"

	"github.com/mcp-tools/mcp-tools/internal/config"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/policy"
	"github.com/mcp-tools/mcp-tools/server"
	"github.com/mcp-tools/mcp-tools/tools"
	"github.com/mcp-tools/mcp-tools/tools/exec"
)

// rules is the part of the settings that decides about tools, commands and hosts for each caller. A reload replaces it
// as a whole.
type rules struct {
	policy   *policy.Policy
	commands *exec.Rules
	web      *access.Rules
}

// liveRules holds the rules that are in force.
type liveRules struct{ current atomic.Pointer[rules] }

func (l *liveRules) load() *rules { return l.current.Load() }

// profileOf returns the profile that counts for a caller.
func (l *liveRules) profileOf(c tool.Caller) string {
	return l.load().policy.ProfileOf(server.SubjectOf(c))
}

// autonomyOf returns the profile of a caller, and whether its commands run without questions.
func (a *App) autonomyOf(c tool.Caller) (profile string, full bool) {
	profile = a.rules.profileOf(c)
	p, ok := a.rules.load().policy.Profile(profile)
	return profile, !ok || p.Autonomy == policy.Full
}

// openRules compiles the rules. The catalogue of tools that the policy needs is
// taken from tools that have nothing to work with.
func (a *App) openRules(context.Context) error {
	a.catalogue = tools.Catalogue()
	first, err := compileRules(a.loaded, a.catalogue, a.ownPaths(), a.log)
	if err != nil {
		return err
	}
	a.rules = new(liveRules)
	a.rules.current.Store(first)
	return nil
}

// compileRules compiles the rules of the settings. ours are the paths of this server's own
// files.
func compileRules(l *Loaded, catalogue policy.Catalogue, ours []string, log *slog.Logger) (*rules, error) {
	compiled, err := compilePolicy(l, catalogue, log)
	if err != nil {
		return nil, err
	}
	commands, err := compileCommands(l, ours)
	if err != nil {
		return nil, err
	}
	web, err := access.Compile(l.Config.Web)
	if err != nil {
		return nil, err
	}
	return &rules{compiled, commands, web}, nil
}

// compilePolicy compiles the policy of the settings. Mistakes are an error, with
// their lines in the file; rules without effect are logged as warnings.
func compilePolicy(l *Loaded, catalogue policy.Catalogue, log *slog.Logger) (*policy.Policy, error) {
	compiled, problems := PolicyOf(l, catalogue)
	var wrong config.Problems
	for _, p := range problems {
		if p.Warning {
			log.Warn(p.String())
		} else {
			wrong = append(wrong, p)
		}
	}
	if len(wrong) > 0 {
		return nil, wrong
	}
	return compiled, nil
}

// compileCommands compiles the rules for commands. Mistakes are an error, with their lines in the file.
func compileCommands(l *Loaded, ours []string) (r *exec.Rules, err error) {
	if wrong := l.Collect("exec", func(add config.Add) { r = l.Config.Exec.Compile(ours, add) }); len(wrong) > 0 {
		return nil, wrong
	}
	return r, nil
}
