package app

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"os/exec"
	"path/filepath"
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
	commands commandRules
	agents   map[string]commandRules // by agent; the others have commands
	web      *webRules
}

// commandRules say which commands are refused or asked about, and which programs have
// credentials.
type commandRules struct {
	judge    judge.Rules
	programs cli.Programs
}

// commandsOf returns the rules for the commands of an agent.
func (r *rules) commandsOf(agent string) commandRules {
	if own, ok := r.agents[agent]; ok {
		return own
	}
	return r.commands
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
	commands, agents, err := compileCommands(l, ours)
	if err != nil {
		return nil, err
	}
	web, err := newWebRules(l.Config.Web)
	if err != nil {
		return nil, err
	}
	return &rules{compiled, commands, agents, web}, nil
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

// compileCommands converts the settings for commands: those of all agents, and those of
// agents with settings of their own. Errors have the line in the file.
func compileCommands(l *Loaded, ours []string) (usual commandRules, agents map[string]commandRules, err error) {
	c := l.Config.Exec
	var wrong config.Problems
	usual.judge = judge.Rules{Ours: ours, Mode: map[string]judge.Mode{
		"risky": judge.Risky, "unknown": judge.Unknown, "always": judge.Always,
	}[c.Ask]}
	for i, text := range c.Allow {
		pattern, err := judge.ParsePattern(text)
		if err != nil {
			wrong = append(wrong, l.Problem(fmt.Sprintf("exec.allow[%d]", i), "%v", err))
		}
		usual.judge.Allow = append(usual.judge.Allow, pattern)
	}
	add := func(r *commandRules, path string, groups map[string]string, programs map[string]cli.ProgramSettings) {
		r.judge.Groups = maps.Clone(r.judge.Groups)
		if r.judge.Groups == nil {
			r.judge.Groups = make(map[string]judge.Action)
		}
		for name, action := range groups {
			if !judge.KnownGroup(name) {
				wrong = append(wrong, l.Problem(path+".groups."+name,
					"there is no such group of commands; docs/commands.md lists them"))
			}
			r.judge.Groups[name] = judge.Action(action)
		}
		for _, p := range Programs(programs) {
			if err := cli.Check([]cli.Program{p}); err != nil {
				wrong = append(wrong, l.Problem(path+".programs."+p.Name, "%v", err))
			}
		}
	}
	add(&usual, "exec", c.Groups, c.Programs)
	usual.programs = cli.Compile(Programs(c.Programs))
	agents = make(map[string]commandRules, len(c.Agents))
	for name, own := range c.Agents {
		r := usual
		add(&r, "exec.agents."+name, own.Groups, own.Programs)
		programs := make(map[string]cli.ProgramSettings, len(c.Programs)+len(own.Programs))
		maps.Copy(programs, c.Programs)
		maps.Copy(programs, own.Programs)
		r.programs = cli.Compile(Programs(programs))
		agents[name] = r
	}
	if len(wrong) > 0 {
		slices.SortStableFunc(wrong, func(a, b config.Problem) int { return a.Line - b.Line })
		return usual, nil, wrong
	}
	return usual, agents, nil
}

// Programs returns the programs of the settings, by their names.
func Programs(list map[string]cli.ProgramSettings) []cli.Program {
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
		if made.Path == "" {
			if found, err := exec.LookPath(name); err == nil && filepath.IsAbs(found) {
				made.Path = filepath.Clean(found)
			}
		}
		if slices.Contains(cli.Presets(), name) {
			made.Preset = name
		}
		all = append(all, made)
	}
	return all
}
