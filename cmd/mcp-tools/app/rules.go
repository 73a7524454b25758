package app

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/mcp-tools/mcp-tools/internal/config"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/policy"
	"github.com/mcp-tools/mcp-tools/server"
	"github.com/mcp-tools/mcp-tools/tools"
	"github.com/mcp-tools/mcp-tools/tools/exec/cli"
	"github.com/mcp-tools/mcp-tools/tools/exec/judge"
)

// rules is the part of the settings that decides who may do what. A reload
// replaces it as a whole.
type rules struct {
	policy   *policy.Policy
	commands judge.Rules
	web      *webRules
}

// liveRules holds the rules that are in force.
type liveRules struct{ current atomic.Pointer[rules] }

func (l *liveRules) load() *rules { return l.current.Load() }

// profileOf returns the profile that counts for a caller.
func (l *liveRules) profileOf(c tool.Caller) string {
	return l.load().policy.ProfileOf(server.SubjectOf(c))
}

// openRules compiles the rules. The catalogue of tools that the policy needs is
// taken from tools that have nothing to work with.
func (a *App) openRules(context.Context) error {
	a.catalogue = tools.Catalogue()
	first, err := compileRules(a.loaded, a.catalogue, a.log)
	if err != nil {
		return err
	}
	first.commands.Ours = a.ownPaths()
	a.rules = new(liveRules)
	a.rules.current.Store(first)
	return nil
}

func compileRules(l *config.Loaded, catalogue policy.Catalogue, log *slog.Logger) (*rules, error) {
	compiled, err := compilePolicy(l, catalogue, log)
	if err != nil {
		return nil, err
	}
	commands, err := commandRules(l)
	if err != nil {
		return nil, err
	}
	web, err := newWebRules(l.Config.Web)
	if err != nil {
		return nil, err
	}
	return &rules{compiled, commands, web}, nil
}

// compilePolicy compiles the policy of the settings. Mistakes are an error, with
// their lines in the file; rules without effect are logged as warnings.
func compilePolicy(l *config.Loaded, catalogue policy.Catalogue, log *slog.Logger) (*policy.Policy, error) {
	compiled, problems := l.Policy(catalogue)
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

// commandRules converts the settings for commands. Errors have the line in the
// file.
func commandRules(l *config.Loaded) (judge.Rules, error) {
	c := l.Config.Exec
	rules := judge.Rules{Groups: make(map[string]judge.Action), Mode: map[string]judge.Mode{
		"risky": judge.Risky, "unknown": judge.Unknown, "always": judge.Always,
	}[c.Ask]}
	var wrong config.Problems
	for name, action := range c.Groups {
		if !judge.KnownGroup(name) {
			wrong = append(wrong,
				l.Problem("exec.groups."+name, "there is no such group of commands; docs/commands.md lists them"))
		}
		rules.Groups[name] = judge.Action(action)
	}
	for i, text := range c.Allow {
		pattern, err := judge.ParsePattern(text)
		if err != nil {
			wrong = append(wrong, l.Problem(fmt.Sprintf("exec.allow[%d]", i), "%v", err))
		}
		rules.Allow = append(rules.Allow, pattern)
	}
	for _, p := range Programs(c.Programs) {
		if err := cli.Check([]cli.Program{p}); err != nil {
			wrong = append(wrong, l.Problem("exec.programs."+p.Name, "%v", err))
		}
	}
	if len(wrong) > 0 {
		slices.SortFunc(wrong, func(a, b config.Problem) int { return a.Line - b.Line })
		return rules, wrong
	}
	return rules, nil
}

// Programs returns the programs of the settings, by their names.
func Programs(list map[string]config.Program) []cli.Program {
	var all []cli.Program
	for _, name := range slices.Sorted(maps.Keys(list)) {
		p := list[name]
		made := cli.Program{Name: name, Path: p.Path, Env: make(map[string]string), Files: make(map[string]string),
			Set: make(map[string]string), Allow: p.Allow, Hosts: p.Hosts}
		for variable, value := range p.Environment {
			if secret, ok := strings.CutPrefix(value, "secret:"); ok {
				made.Env[variable] = secret
			} else if secret, ok := strings.CutPrefix(value, "secret-file:"); ok {
				made.Files[variable] = secret
			} else {
				made.Set[variable] = value
			}
		}
		if slices.Contains(cli.Presets(), name) {
			made.Preset = name
		}
		all = append(all, made)
	}
	return all
}
