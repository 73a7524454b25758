package config

import (
	"errors"
	"fmt"

	"github.com/mcp-tools/mcp-tools/policy"
)

// Examine is Load and Policy at once. It finds what is wrong with the rules also
// where other settings are wrong, so that one run shows all of it. Without
// mistakes, what it says of the rules are warnings.
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

// unread reports whether there is a file, and nothing of it could be taken: what
// is said about the rules then is not about those of the file.
func (l *Loaded) unread() bool { return l.Path != "" && l.lines == nil }

// Policy makes the rules ready for the tools of a catalogue, and finds what is
// wrong with them and with the profiles that are named elsewhere, each with
// its place. Where a problem is more than a warning there is no Policy.
func (l *Loaded) Policy(catalogue policy.Catalogue) (*policy.Policy, Problems) {
	rules, found := policy.Compile(l.Config.Policy, catalogue)
	var problems Problems
	for _, p := range found {
		text := p.Text
		if p.Nearest != "" {
			text += fmt.Sprintf("; did you mean %q?", p.Nearest)
		}
		problem := l.Problem(join("policy", p.Path), "%s", text)
		problem.Warning = p.Severity == policy.Warning
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

// unknownProfiles finds the callers whose profile does not exist: they would
// be turned away much later, far from the line that is to blame. What the web
// keeps from a profile that does not exist would be kept from nobody.
func (l *Loaded) unknownProfiles(rules *policy.Policy) (problems Problems) {
	check := func(path, name string) {
		if _, err := rules.ResolveProfile(name); err != nil {
			problems = append(problems, l.Problem(path, "%v", err))
		}
	}
	connections := &l.Config.Connections
	check("connections.stdio.profile", connections.Stdio.Profile)
	for i, token := range connections.Tokens {
		for j, name := range token.Profiles {
			if name != policy.AnyProfile {
				check(indexed(indexed("connections.tokens", i)+".profiles", j), name)
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
	for i, p := range l.Config.Web.Profiles {
		check(indexed("web.profiles", i)+".profile", p.Profile)
	}
	for i, c := range l.Config.Web.Credentials {
		for j, name := range c.Profiles {
			check(indexed(indexed("web.credentials", i)+".profiles", j), name)
		}
	}
	return problems
}
