package main

import (
	"slices"

	"github.com/mcp-tools/mcp-tools/internal/config"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/policy"
	toolweb "github.com/mcp-tools/mcp-tools/tools/web"
)

// A view is what can be known without starting anything: the settings, the
// tools, and who may use which of them.
type view struct {
	loaded   *config.Loaded
	tools    *tool.Set
	policy   *policy.Policy
	warnings config.Problems // rules without effect
}

// look reads the settings. Mistakes in them are the error, as config.Problems.
func (a *app) look() (*view, error) {
	set, err := registry(world{})
	if err != nil {
		return nil, err
	}
	loaded, rules, warnings, err := config.Examine(a.loadOptions(), set.Catalogue())
	if err != nil {
		return nil, missingSettings(err)
	}
	if loaded.Config.Web.Browser.Sessions == 0 {
		if set, err = registry(world{web: toolweb.Options{NoBrowser: true}}); err != nil {
			return nil, err
		}
	}
	if _, err := commandRules(loaded, rules.Profiles()); err != nil {
		return nil, err
	}
	if err := checkWebSettings(loaded.Config.Web); err != nil {
		return nil, err
	}
	return &view{loaded, set, rules, warnings}, nil
}

// subject is the caller that the flags and settings describe: the one that
// serve would serve over stdio.
func (v *view) subject() policy.Subject {
	c := v.loaded.Config.Connections.Stdio
	return policy.Subject{Profile: c.Profile, Agent: c.Agent, Provider: c.Provider}
}

// find looks a tool up by any of its names.
func (v *view) find(name string) (tool.Tool, error) {
	if t, ok := v.tools.Lookup(name); ok {
		return t, nil
	}
	names := v.tools.Names()
	for t := range v.tools.All() {
		names = append(names, t.Spec.Also...)
	}
	if near := tool.Nearest(name, names); near != "" {
		return tool.Tool{}, usagef("there is no tool %q; did you mean %q?", name, near)
	}
	return tool.Tool{}, usagef("there is no tool %q; mcp-tools tools list shows what there is", name)
}

// seen are the tools that a subject gets to see.
func (v *view) seen(s policy.Subject) []tool.Tool {
	return slices.DeleteFunc(slices.Collect(v.tools.All()), func(t tool.Tool) bool {
		return v.policy.Verdict(s, t.Spec.Name) == policy.Deny
	})
}
