package main

import (
	"fmt"
	"slices"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/config"
	"github.com/mcp-tools/mcp-tools/policy"
	"github.com/mcp-tools/mcp-tools/tools/exec/cli"
	"github.com/mcp-tools/mcp-tools/tools/exec/judge"
)

// commandRules translates how commands are judged. Mistakes have their place in
// the settings.
func commandRules(l *config.Loaded, profiles []policy.Profile) (judge.Rules, error) {
	c := l.Config.Exec
	rules := judge.Rules{Groups: make(map[string]judge.Action), Mode: map[string]judge.Mode{
		"risky": judge.Risky, "unknown": judge.Unknown, "always": judge.Always,
	}[c.Ask]}
	var wrong config.Problems
	for name, action := range c.Groups {
		if !judge.KnownGroup(name) {
			wrong = append(wrong, l.Problem("exec.groups."+name, "there is no such group of commands; docs/commands.md lists them"))
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
	for i, p := range l.Config.Sandbox.Profiles {
		if !slices.ContainsFunc(profiles, func(known policy.Profile) bool { return known.Name == p.Profile }) {
			wrong = append(wrong, l.Problem(fmt.Sprintf("sandbox.profiles[%d].profile", i), "the policy has no profile %q", p.Profile))
		}
	}
	for i := range c.Programs {
		if err := cli.Check(cliPrograms(c.Programs[i : i+1])); err != nil {
			wrong = append(wrong, l.Problem(fmt.Sprintf("exec.programs[%d]", i), "%v", err))
		}
	}
	if len(wrong) > 0 {
		slices.SortFunc(wrong, func(a, b config.Problem) int { return a.Line - b.Line })
		return rules, wrong
	}
	return rules, nil
}

func cliPrograms(list []config.Program) []cli.Program {
	var all []cli.Program
	for _, p := range list {
		preset := p.Preset
		if preset == "" && slices.Contains(cli.Presets(), p.Name) {
			preset = p.Name
		}
		all = append(all, cli.Program{
			Name: p.Name, Path: p.Path, SHA256: p.SHA256, Preset: preset, Env: p.Secrets, Files: p.Files, Set: p.Set,
			Allow: p.Allow, Reads: p.Reads, Deny: p.Deny, Timeout: time.Duration(p.Timeout), Hosts: p.Hosts,
		})
	}
	return all
}
