package policy

import (
	"math/rand/v2"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A dice makes random rules and subjects, most of which have a point.
type dice struct{ *rand.Rand }

func (d dice) pick(from ...string) string { return from[d.IntN(len(from))] }

func (d dice) list() List {
	switch d.IntN(8) {
	case 0, 1, 2, 3:
		return nil
	case 4:
		return List{}
	}
	list := List{}
	for range 1 + d.IntN(4) {
		list = append(list, d.entry())
	}
	return list
}

func (d dice) entry() string {
	all := suite()
	switch d.IntN(7) {
	case 0:
		return "group:" + d.pick("fs", "runtime", "web", "memory", "sessions", "team", "teams", "goclaw", "mcp")
	case 1:
		return d.pick("*", "read_*", "*_get", "db__*", "?dit", "nothing_*")
	case 2:
		return d.pick("mcp:*", "mcp:git-hub", "mcp:db", "mcp:away")
	case 3:
		return "risk:" + d.pick("reads", "writes", "destroys", "runs")
	case 4:
		return d.pick("Read", "shell", "bash")
	}
	return all[d.IntN(len(all))].Name
}

func (d dice) autonomy() Autonomy {
	return Autonomy(d.pick("", "", "readonly", "supervised", "full", "full"))
}

func (d dice) rules() Rules {
	r := Rules{
		Profile: d.pick("", "full", "coding", "lean", "own", "child"), Autonomy: d.autonomy(),
		Allow: d.list(), Deny: d.list(), DenyHard: d.list(), AlsoAllow: d.list(),
		Profiles: map[string]ProfileRules{
			"own": {Allow: append(d.list(), d.entry()), Deny: d.list(), AlsoAllow: d.list(),
				Autonomy: d.autonomy()},
			"child": {Extends: d.pick("own", "coding", "full"), Allow: d.list(), Deny: d.list(),
				AlsoAllow: d.list()},
		},
		ByProvider: map[string]ProviderRules{"acme": {Profile: d.pick("", "", "messaging", "own"), Allow: d.list()}},
		Agents: map[string]AgentRules{"ada": {
			Allow: d.list(), Deny: d.list(), AlsoAllow: d.list(),
			ByProvider: map[string]List{"acme": d.list(), "other": d.list()},
		}},
		Groups: map[string]List{"chat": d.list()},
	}
	return r
}

func (d dice) subject() Subject {
	s := Subject{
		Profile:  d.pick("", "", "full", "coding", "messaging", "minimal", "readonly", "own", "child", "nobody"),
		Agent:    d.pick("", "ada", "ada", "bob"),
		Provider: d.pick("", "acme", "acme", "other"),
		Group:    d.pick("", "chat", "elsewhere"),
		Depth:    d.IntN(3),
		Leaf:     d.IntN(4) == 0,
	}
	if d.IntN(3) == 0 {
		s.Narrow = d.narrow()
	}
	return s
}

func (d dice) narrow() Narrow {
	n := Narrow{Tools: d.list(), Exclude: d.list(), ReadOnly: d.IntN(4) == 0}
	if d.IntN(2) == 0 {
		n.Toolsets = []string{d.pick("fs", "group:web", "team", "mcp", "no such group", "mcp:db")}
	}
	return n
}

// A model decides the slow way: one tool at a time, straight from the rules,
// with nothing prepared and none of the code it is compared with.
type model struct{ Rules }

func names1(entry string, s Tool) bool {
	kind, name, _ := strings.Cut(entry, ":")
	switch {
	case entry == "mcp:*" || entry == "group:mcp":
		return s.Group == "mcp"
	case kind == "mcp":
		return s.Group == "mcp" && strings.HasPrefix(s.Name, name+"__")
	case entry == "group:goclaw":
		return s.Group != "mcp"
	case kind == "group":
		return s.Group == name || s.Group == "teams" && name == "team"
	case kind == "risk":
		return s.Risk.String() == name
	case strings.ContainsAny(entry, "*?"):
		ok, err := path.Match(entry, s.Name)
		return ok && err == nil
	}
	return entry == s.Name || slices.Contains(s.Also, entry)
}

func in(list []string, s Tool) bool {
	return slices.ContainsFunc(list, func(entry string) bool { return names1(entry, s) })
}

func (m model) profile(name string) (rules ProfileRules, ok bool) {
	for _, b := range builtinProfiles {
		if b.name == name {
			return b.rules, true
		}
	}
	rules, ok = m.Profiles[name]
	return rules, ok
}

// holds reports whether a profile holds a tool, and the autonomy that it leaves.
func (m model) holds(name string, s Tool, level Autonomy) (held bool, left Autonomy) {
	rules, _ := m.profile(name)
	held = true
	if rules.Extends != "" {
		held, level = m.holds(rules.Extends, s, level)
	}
	held = held && (rules.Allow == nil || in(rules.Allow, s))
	held = held && !in(rules.Deny, s) || in(rules.AlsoAllow, s)
	return held, stricter(level, rules.Autonomy)
}

func stricter(a, b Autonomy) Autonomy {
	for _, level := range []Autonomy{ReadOnly, Supervised, Full} {
		if a == level || b == level {
			return level
		}
	}
	return ""
}

func (m model) decide(sub Subject, s Tool) Verdict {
	level := m.Autonomy
	if level == "" {
		level = Supervised
	}
	name := sub.Profile
	if name == "" {
		if name = m.Profile; name == "" {
			name = "full"
		}
		if other := m.ByProvider[sub.Provider].Profile; other != "" {
			name = other
		}
	}
	if _, ok := m.profile(name); !ok {
		return Deny
	}
	ok, level := m.holds(name, s, level)
	if other := m.ByProvider[sub.Provider].Profile; other != "" {
		ok2, level2 := m.holds(other, s, level)
		ok, level = ok && ok2, level2
	}
	agent := m.Agents[sub.Agent]
	for _, list := range []List{m.Allow, m.ByProvider[sub.Provider].Allow, agent.Allow,
		agent.ByProvider[sub.Provider], m.Groups[sub.Group]} {
		ok = ok && (list == nil || in(list, s))
	}
	ok = ok && !in(m.Deny, s) && !in(agent.Deny, s)
	ok = ok || in(m.AlsoAllow, s) || in(agent.AlsoAllow, s)
	ok = ok && !in(m.DenyHard, s)
	if !ok || subagentDenied(sub, s) || narrowed(sub.Narrow, s) {
		return Deny
	}
	if sub.Narrow.ReadOnly {
		level = ReadOnly
	}
	switch {
	case level == Full, s.Risk == Reads, level == Supervised && s.Risk == Writes:
		return Allow
	case level == Supervised:
		return Ask
	}
	return Deny
}

func subagentDenied(sub Subject, s Tool) bool {
	return (sub.Depth > 0 || sub.Leaf) && in(subagentDeny, s) || sub.Leaf && in(leafDeny, s)
}

func narrowed(n Narrow, s Tool) bool {
	if n.Tools != nil || n.Toolsets != nil {
		sets := slices.Clone(n.Toolsets)
		for i, name := range sets {
			if !strings.Contains(name, ":") {
				sets[i] = "group:" + name
			}
		}
		if !in(n.Tools, s) && !in(sets, s) && s.Group != groupResults {
			return true
		}
	}
	return in(n.Exclude, s)
}

// checkAll tries what must hold for all rules, subjects and tools.
func checkAll(t *testing.T, seed uint64) {
	d := dice{rand.New(rand.NewPCG(seed, 1))}
	rules, catalogue := d.rules(), NewCatalogue(suite())
	p, problems := Compile(rules, catalogue)
	if p == nil {
		t.Fatalf("seed %d: %v", seed, problems)
	}
	_, again := Compile(rules, catalogue)
	if diff := cmp.Diff(problems, again); diff != "" {
		t.Errorf("seed %d: compiling twice gives two answers:\n%s", seed, diff)
	}
	for range 10 {
		s := d.subject()
		for _, one := range catalogue.tools {
			checkDecision(t, seed, rules, p, s, one)
			checkNarrowing(t, seed, p, s, d.narrow(), one)
		}
	}
	checkWarnings(t, seed, rules, p, problems)
}

func checkDecision(t *testing.T, seed uint64, rules Rules, p *Policy, s Subject, one Tool) {
	got, decision := p.Verdict(s, one.Name), p.Explain(s, one.Name)
	if got != decision.Verdict {
		t.Errorf("seed %d: the verdict is %s, explained it is\n%s", seed, got, decision)
	}
	if want := (model{rules}).decide(s, one); got != want {
		t.Errorf("seed %d, %+v: want %s, got\n%s", seed, s, want, decision)
	}
	if got != Deny && in(rules.DenyHard, one) {
		t.Errorf("seed %d: a hard deny lost\n%s", seed, decision)
	}
	isIn := true
	for _, step := range decision.Steps {
		switch {
		case step.Effect == Adds && !strings.Contains(step.Name, "also_allow"):
			t.Errorf("seed %d: %q widens\n%s", seed, step.Name, decision)
		case step.Effect == Removes && !isIn, step.Effect == Keeps && !isIn, step.Effect == Asks && !isIn,
			step.Effect == Adds && isIn, step.Effect == Out && isIn:
			t.Errorf("seed %d: %q does not follow from what was before\n%s", seed, step.Name, decision)
		}
		if step.Effect != Silent {
			isIn = step.Effect == Keeps || step.Effect == Adds || step.Effect == Asks
		}
	}
	if isIn != (got != Deny) {
		t.Errorf("seed %d: the steps do not end in the verdict\n%s", seed, decision)
	}
}

func checkNarrowing(t *testing.T, seed uint64, p *Policy, s Subject, n Narrow, one Tool) {
	s.Narrow = Narrow{}
	free := p.Verdict(s, one.Name)
	s.Narrow = n
	if got := p.Verdict(s, one.Name); got > free {
		t.Errorf("seed %d: narrowing %s by %+v makes %s of %s", seed, one.Name, n, got, free)
	}
	for risk := Risk(0); risk <= Runs+1; risk++ {
		if p.For(s, one.Name, risk) != Deny && p.Verdict(s, one.Name) == Deny {
			t.Errorf("seed %d: rating %s %s frees it", seed, one.Name, risk)
		}
	}
}

// checkWarnings removes each entry that was reported as dead: no verdict may change,
// in the profiles that these rules use.
func checkWarnings(t *testing.T, seed uint64, rules Rules, p *Policy, problems []Problem) {
	for _, problem := range problems {
		if !strings.HasSuffix(problem.Path, "]") {
			continue
		}
		without, _ := Compile(remove(t, rules, problem.Path), p.catalogue)
		for _, s := range allSubjects() {
			for _, one := range p.catalogue.tools {
				if a, b := p.Verdict(s, one.Name), without.Verdict(s, one.Name); a != b {
					t.Fatalf("seed %d: %s; but without it %s is %s and not %s for %+v", seed, problem, one.Name, b, a,
						s)
				}
			}
		}
	}
}

func allSubjects() []Subject {
	var all []Subject
	for _, profile := range []string{"", "own", "child"} {
		for _, agent := range []string{"", "ada"} {
			for _, provider := range []string{"", "acme", "other"} {
				for _, group := range []string{"", "chat"} {
					for depth := range 2 {
						all = append(all, Subject{Profile: profile, Agent: agent, Provider: provider, Group: group,
							Depth: depth, Leaf: depth > 0 && group != ""})
					}
				}
			}
		}
	}
	return all
}

func TestProperties(t *testing.T) {
	for seed := range uint64(60) {
		checkAll(t, seed)
		if t.Failed() {
			return
		}
	}
}

func FuzzProperties(f *testing.F) {
	f.Add(uint64(1 << 20))
	f.Fuzz(checkAll)
}
