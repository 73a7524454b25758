package judge

import (
	"slices"
	"strings"
	"sync"
)

// Action is what a deny group does with a command that one of its rules matches.
type Action string

// The actions.
const (
	Deny Action = "deny" // refuse it, whatever the autonomy
	Ask  Action = "ask"  // count it as running code
	Off  Action = "off"  // ignore it
)

// GroupInfo describes a deny group.
type GroupInfo struct {
	Name  string
	For   string
	Rules []RuleInfo
}

// RuleInfo describes one thing that a group looks for in a parsed command, and
// what it does about it unless the operator chose an action for the group.
type RuleInfo struct {
	Name    string
	Default Action // Off is for what only operators who say so want refused
	Reason  string // completes "the command ..."
	Instead string // what to do instead; "" when nothing is better
}

// Groups returns the deny groups of rules.txt, in the order in which they are
// documented.
func Groups() []GroupInfo { return slices.Clone(groups()) }

var groups = sync.OnceValue(func() []GroupInfo {
	var all []GroupInfo
	blocks("rules.txt", func(header string, lines []string) {
		g := GroupInfo{}
		g.Name, g.For, _ = strings.Cut(header, ": ")
		for _, l := range lines {
			parts := strings.SplitN(l, "; ", 2)
			words := strings.SplitN(parts[0], " ", 3)
			rule := RuleInfo{Name: words[0], Default: Action(words[1]), Reason: words[2]}
			if len(parts) > 1 {
				rule.Instead = parts[1]
			}
			g.Rules = append(g.Rules, rule)
		}
		all = append(all, g)
	})
	return all
})

// KnownGroup reports whether there is a deny group of this name.
func KnownGroup(name string) bool {
	return slices.ContainsFunc(groups(), func(g GroupInfo) bool { return g.Name == name })
}

// ruleNamed returns a rule and the name of its group. An unknown name is a
// mistake in our tables, which refuses the command.
func ruleNamed(name string) (string, RuleInfo) {
	for _, g := range groups() {
		for _, r := range g.Rules {
			if r.Name == name {
				return g.Name, r
			}
		}
	}
	return "", RuleInfo{name, Deny, "matches a rule that does not exist", "report this to the operator"}
}
