package exec

import (
	"maps"

	"github.com/mcp-tools/mcp-tools/internal/config"
	"github.com/mcp-tools/mcp-tools/tools/exec/cli"
	"github.com/mcp-tools/mcp-tools/tools/exec/judge"
)

// Rules are the compiled settings for the commands of all agents.
type Rules struct {
	usual  AgentRules
	agents map[string]AgentRules // agents with settings of their own
}

// AgentRules are the commands of an agent that are refused or asked about, and the programs with
// credentials.
type AgentRules struct {
	Judge    judge.Rules
	Programs cli.Programs
}

// Of returns the rules of an agent.
func (r *Rules) Of(agent string) AgentRules {
	if own, ok := r.agents[agent]; ok {
		return own
	}
	return r.usual
}

// Compile returns the rules of the settings, and reports mistakes to add. ours are the paths of this server's own files.
func (s Settings) Compile(ours []string, add config.Add) *Rules {
	r := &Rules{agents: make(map[string]AgentRules, len(s.Agents))}
	r.usual.Judge = judge.Rules{Ours: ours, Mode: map[string]judge.Mode{
		"risky": judge.Risky, "unknown": judge.Unknown, "always": judge.Always,
	}[s.Ask]}
	for i, text := range s.Allow {
		pattern, err := judge.ParsePattern(text)
		if err != nil {
			add(config.Indexed("allow", i), "%v", err)
		}
		r.usual.Judge.Allow = append(r.usual.Judge.Allow, pattern)
	}
	compileInto(&r.usual.Judge, s.Groups, s.Programs, add)
	r.usual.Programs = cli.Compile(cli.ProgramsOf(s.Programs))
	for name, own := range s.Agents {
		of := r.usual
		compileInto(&of.Judge, own.Groups, own.Programs, add.In(config.Under("agents", name)))
		programs := maps.Clone(s.Programs)
		if programs == nil {
			programs = make(map[string]cli.ProgramSettings)
		}
		maps.Copy(programs, own.Programs)
		of.Programs = cli.Compile(cli.ProgramsOf(programs))
		r.agents[name] = of
	}
	return r
}

// compileInto adds actions of groups to rules, and checks groups and programs.
func compileInto(r *judge.Rules, groups map[string]string, programs map[string]cli.ProgramSettings, add config.Add) {
	r.Groups = maps.Clone(r.Groups)
	if r.Groups == nil {
		r.Groups = make(map[string]judge.Action)
	}
	for name, action := range groups {
		if !judge.KnownGroup(name) {
			add(config.Under("groups", name), "there is no such group of commands; docs/commands.md lists them")
		}
		r.Groups[name] = judge.Action(action)
	}
	for _, p := range cli.ProgramsOf(programs) {
		if err := cli.Check([]cli.Program{p}); err != nil {
			add(config.Under("programs", p.Name), "%v", err)
		}
	}
}
