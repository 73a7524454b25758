package config

import (
	"errors"
	"fmt"

	"github.com/mcp-tools/mcp-tools/policy"
)

// Examine does Load and Policy. It finds problems of the policy also if other
// settings have problems, so that one run shows all. Without errors, its problems
// are warnings.
func Examine(o LoadOptions, catalogue policy.Catalogue) (*Loaded, *policy.Policy, Problems, error) {
	if o.Getenv == nil {
		o.Getenv = func(string) string { return "" }
	}
	l, err := load(o, nil)
	var wrong Problems
	if err != nil && !errors.As(err, &wrong) || l.unread() {
		return nil, nil, nil, err
	}
	rules, found := l.Policy(catalogue)
	if err == nil && rules != nil {
		return l, rules, found, nil
	}
	for _, p := range found {
		if err == nil || !p.Warning { // a rule may be without effect for lack of what is wrong elsewhere
			wrong = append(wrong, p)
		}
	}
	return nil, nil, nil, wrong
}

// unread reports whether there is a file of which nothing could be read. Then
// problems of the policy are not about the rules in the file.
func (l *Loaded) unread() bool { return l.Path != "" && l.lines == nil }

// Policy compiles the policy for the tools of a catalogue. It returns problems of
// the rules, and of the profiles that other settings name, each with its place. If
// one is more than a warning, the policy is nil.
func (l *Loaded) Policy(catalogue policy.Catalogue) (*policy.Policy, Problems) {
	rules, found := policy.Compile(l.Config.Messaging.withChats(l.Config.Policy), catalogue)
	var problems Problems
	for _, p := range found {
		text := p.Text
		if p.Nearest != "" {
			text += fmt.Sprintf("; did you mean %q?", p.Nearest)
		}
		problem := l.Problem(join("policy", p.Path), "%s", text)
		problem.Warning = p.Warning
		problems = append(problems, problem)
	}
	if rules == nil {
		return nil, problems
	}
	unknown := l.unknownProfiles(rules)
	if len(unknown) > 0 {
		rules = nil
	}
	return rules, append(problems, unknown...)
}

// unknownProfiles finds profiles that do not exist in settings of callers and web
// rules. Otherwise the callers would be refused much later, and the web rules would
// apply to no caller.
func (l *Loaded) unknownProfiles(rules *policy.Policy) (problems Problems) {
	check := func(path, name string) {
		if _, err := rules.ResolveProfile(name); err != nil {
			problems = append(problems, l.Problem(path, "%v", err))
		}
	}
	connections := &l.Config.Connections
	check("connections.stdio.profile", connections.Stdio.Profile)
	for _, token := range sorted(connections.Tokens) {
		for i, name := range connections.Tokens[token].Profiles {
			if name != policy.AnyProfile {
				check(indexed(under("connections.tokens", token)+".profiles", i), name)
			}
		}
	}
	for _, scope := range sorted(connections.OAuth.Scopes) {
		for i, name := range connections.OAuth.Scopes[scope] {
			if name != policy.AnyProfile {
				check(indexed(under("connections.oauth.scopes", scope), i), name)
			}
		}
	}
	for _, profile := range sorted(l.Config.Sandbox.Profiles) {
		check(under("sandbox.profiles", profile), profile)
	}
	for _, profile := range sorted(l.Config.Messaging.Targets) {
		if profile != policy.AnyProfile {
			check(under("messaging.targets", profile), profile)
		}
	}
	for i, b := range l.Config.Messaging.Bindings {
		if b.Profile != "" {
			check(indexed("messaging.bindings", i)+".profile", b.Profile)
		}
	}
	for _, credential := range sorted(l.Config.Web.Credentials) {
		for i, name := range l.Config.Web.Credentials[credential].Profiles {
			check(indexed(under("web.credentials", credential)+".profiles", i), name)
		}
	}
	return problems
}
