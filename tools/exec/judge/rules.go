package judge

import (
	"slices"
	"strings"
	"sync"

	"github.com/mcp-tools/mcp-tools/tools/exec/table"
)

// Action is the action of a deny group for a command that one of its rules matches.
type Action string

// The actions.
const (
	Deny Action = "deny" // refuse it in every mode
	Ask  Action = "ask"  // count it as running code
	Off  Action = "off"  // ignore it
)

// GroupInfo describes a deny group.
type GroupInfo struct {
	Name  string
	For   string
	Rules []RuleInfo
}

// RuleInfo describes one thing that a group looks for in a parsed command, and the action
// unless the operator chose one for the group.
type RuleInfo struct {
	Name    string
	Default Action // Off is for rules that operators must turn on
	Reason  string // completes "the command ..."
	Instead string // advice; "" for none
}

// Groups returns the deny groups of rules.txt, in the order of the documentation.
func Groups() []GroupInfo { return slices.Clone(groups()) }

var groups = sync.OnceValue(func() []GroupInfo {
	var all []GroupInfo
	for _, b := range table.Embedded(tableFiles, "rules.txt") {
		g := GroupInfo{}
		g.Name, g.For, _ = strings.Cut(b.Heading, ": ")
		for _, l := range b.Lines {
			does, instead, _ := strings.Cut(l.Text, "; ")
			words := strings.SplitN(does, " ", 3)
			g.Rules = append(g.Rules, RuleInfo{Name: words[0], Default: Action(words[1]), Reason: words[2], Instead: instead})
		}
		all = append(all, g)
	}
	return all
})

// KnownGroup reports whether there is a deny group of this name.
func KnownGroup(name string) bool {
	return slices.ContainsFunc(groups(), func(g GroupInfo) bool { return g.Name == name })
}

// ruleNamed returns a rule and the name of its group. An unknown name is a mistake in our
// tables; it refuses the command.
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
