package app

import (
	"fmt"

	"github.com/mcp-tools/mcp-tools/internal/config"
	"github.com/mcp-tools/mcp-tools/policy"
)

// PolicyOf compiles the policy of the settings for the tools of a catalogue. It returns problems of
// the rules, and of the profiles that other settings name, each with its place. If one is more than a
// warning, the policy is nil.
func PolicyOf(l *Loaded, catalogue policy.Catalogue) (*policy.Policy, config.Problems) {
	rules, found := policy.Compile(l.Config.Messaging.WithChats(l.Config.Policy), catalogue)
	var problems config.Problems
	for _, p := range found {
		text := p.Text
		if p.Nearest != "" {
			text += fmt.Sprintf("; did you mean %q?", p.Nearest)
		}
		problem := l.Problem("policy."+p.Path, "%s", text)
		problem.Warning = p.Warning
		problems = append(problems, problem)
	}
	if rules == nil {
		return nil, problems
	}
	unknown := unknownProfiles(l, rules)
	if len(unknown) > 0 {
		rules = nil
	}
	return rules, append(problems, unknown...)
}

// unknownProfiles finds profiles that do not exist in settings of callers and web
// rules. Otherwise the callers would be refused much later, and the web rules would
// apply to no caller.
func unknownProfiles(l *Loaded, rules *policy.Policy) (problems config.Problems) {
	check := func(path, name string) {
		if _, err := rules.ResolveProfile(name); err != nil {
			problems = append(problems, l.Problem(path, "%v", err))
		}
	}
	l.Texts(config.Profile, check)
	l.Texts(config.AnyProfile, func(path, name string) {
		if name != policy.AnyProfile {
			check(path, name)
		}
	})
	return problems
}
