package app

import (
	"slices"

	"github.com/mcp-tools/mcp-tools/tools/web/access"

	"github.com/mcp-tools/mcp-tools/internal/config"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/policy"
	"github.com/mcp-tools/mcp-tools/tools"
)

// A View has the state that is known without starting a server: the settings, the tools, and the policy.
type View struct {
	Loaded   *Loaded
	Tools    *tool.Set
	Policy   *policy.Policy
	Warnings config.Problems // rules without effect
}

// Examine reads and checks the settings. It returns mistakes as config.Problems.
func (e *Env) Examine() (*View, error) {
	set, err := tools.All(tools.World{})
	if err != nil {
		return nil, err
	}
	var rules *policy.Policy
	loaded, warnings, err := SettingsReader().Examine(e.loadOptions(), func(l *Loaded) (found config.Problems) {
		rules, found = PolicyOf(l, set.Catalogue())
		return found
	})
	if err != nil {
		return nil, explainMissing(err)
	}

	if _, err := compileCommands(loaded, nil); err != nil {
		return nil, err
	}
	if err := access.Check(loaded.Config.Web); err != nil {
		return nil, err
	}
	return &View{loaded, set, rules, warnings}, nil
}

// Subject returns the caller in the flags and settings: the caller on stdio.
func (v *View) Subject() policy.Subject {
	c := v.Loaded.Config.Connections.Stdio
	return policy.Subject{Profile: c.Profile, Agent: c.Agent, Provider: c.Provider, Person: userNamed(c.User)}
}

// Find returns the tool with a name or an alias.
func (v *View) Find(name string) (tool.Tool, error) {
	if t, ok := v.Tools.Lookup(name); ok {
		return t, nil
	}
	names := v.Tools.Names()
	for t := range v.Tools.All() {
		names = append(names, t.Spec.Also...)
	}
	if near := tool.Nearest(name, names); near != "" {
		return tool.Tool{}, Usagef("there is no tool %q; did you mean %q?", name, near)
	}
	return tool.Tool{}, Usagef("there is no tool %q; mcp-tools tools list shows all", name)
}

// Visible returns the tools that a subject can see.
func (v *View) Visible(s policy.Subject) []tool.Tool {
	return slices.DeleteFunc(slices.Collect(v.Tools.All()), func(t tool.Tool) bool {
		return t.Spec.Internal || v.Policy.Verdict(s, t.Spec.Name) == policy.Deny ||
			!v.Policy.Lists(s, t.Spec.Name, false)
	})
}
