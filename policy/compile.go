package policy

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// The rules of one provider, agent or chat, made ready.
type (
	provider struct {
		profile *profile
		allow   *clause
	}
	agent struct {
		allow, deny, also *clause
		byProvider        map[*provider]*clause
	}
	chat struct{ allow *clause }
)

type compiler struct {
	rules     Rules
	catalogue *Catalogue
	policy    *Policy
	problems  []Problem
}

// Compile compiles rules for the tools of a catalogue. The problems are the mistakes in the
// rules, each with its path in the policy section. If one of them is more than a warning, the
// Policy is nil. The same input gives the same output.
func Compile(rules Rules, catalogue Catalogue) (*Policy, []Problem) {
	p := &Policy{
		catalogue: catalogue,
		profiles:  make(map[string]*profile),
		providers: make(map[string]*provider),
		agents:    make(map[string]*agent),
		chats:     make(map[string]*chat),
		writers:   rules.Writers,
		worked:    make(map[Class]*rights),
	}
	k := &compiler{rules: rules, catalogue: &p.catalogue, policy: p}
	k.compileProfiles()
	k.compileGlobal()
	k.compileProviders()
	k.compileAgents()
	k.compileChats()
	for _, problem := range k.problems {
		if !problem.Warning {
			return nil, k.problems
		}
	}
	return p, k.problems
}

func (k *compiler) compileGlobal() {
	p, r := k.policy, k.rules
	name := cmp.Or(r.Profile, DefaultProfile)
	if p.fallback = p.profiles[name]; p.fallback == nil {
		k.noProfile("profile", name)
	}
	k.checkAutonomy("autonomy", r.Autonomy)
	p.limit = limit{cmp.Or(r.Autonomy, Supervised), "autonomy"}
	p.allow = k.clause("allow", r.Allow)
	p.deny = k.clause("deny", r.Deny)
	p.hard = k.clause("deny_hard", r.DenyHard)
	p.also = k.clause("also_allow", r.AlsoAllow)
	p.subagents = k.read("the list for subagents", subagentDeny)
	p.subagents = p.subagents.without(k.clause("subagents", r.Subagents).tools())
	p.apart = p.subagents.without(k.read("the list for subagents in workspaces of their own", apartAllow).tools())
	p.leaves = k.read("the list for subagents that cannot start others", leafDeny)
}

func (k *compiler) compileProviders() {
	for _, name := range sortedKeys(k.rules.ByProvider) {
		rules, path := k.rules.ByProvider[name], under("by_provider", name)
		made := k.provider(name)
		made.allow = k.clause(path+".allow", rules.Allow)
		if rules.Profile != "" {
			if made.profile = k.policy.profiles[rules.Profile]; made.profile == nil {
				k.noProfile(path+".profile", rules.Profile)
			}
		}
	}
}

// provider returns the provider of this name, and creates it if necessary.
func (k *compiler) provider(name string) *provider {
	made := k.policy.providers[name]
	if made == nil {
		made = new(provider)
		k.policy.providers[name] = made
	}
	return made
}

func (k *compiler) compileAgents() {
	for _, name := range sortedKeys(k.rules.Agents) {
		rules, path := k.rules.Agents[name], under("agents", name)
		made := &agent{
			allow:      k.clause(path+".allow", rules.Allow),
			deny:       k.clause(path+".deny", rules.Deny),
			also:       k.clause(path+".also_allow", rules.AlsoAllow),
			byProvider: make(map[*provider]*clause),
		}
		for _, provider := range sortedKeys(rules.ByProvider) {
			made.byProvider[k.provider(provider)] = k.clause(under(path+".by_provider", provider),
				rules.ByProvider[provider])
		}
		k.policy.agents[name] = made
	}
}

func (k *compiler) compileChats() {
	for _, name := range sortedKeys(k.rules.Groups) {
		k.policy.chats[name] = &chat{k.clause(under("groups", name), k.rules.Groups[name])}
	}
}

func (k *compiler) checkAutonomy(path string, a Autonomy) {
	if a != "" && a.rank() == 0 {
		levels := []string{string(ReadOnly), string(Supervised), string(Full)}
		k.report(path, "there is no autonomy "+quote(string(a))+"; it is readonly, supervised or full",
			Nearest(string(a), levels))
	}
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// A clause is one compiled list of the rules: the registered tools that it
// names. The nil clause is an absent list.
type clause struct {
	path    string
	entries []entry
	holds   set
}

type entry struct {
	text  string
	holds set
}

// tools returns the tools of the clause; an absent list has none.
func (c *clause) tools() set {
	if c == nil {
		return nil
	}
	return c.holds
}

// keep returns the tools of s that the clause names, or s if the list is absent.
func (c *clause) keep(s set) set {
	if c == nil {
		return s
	}
	return s.and(c.holds)
}

// drop returns s without the tools of the clause.
func (c *clause) drop(s set) set { return s.minus(c.tools()) }

// without returns the clause without some tools.
func (c *clause) without(s set) *clause {
	less := &clause{path: c.path, holds: c.holds.minus(s)}
	for _, e := range c.entries {
		less.entries = append(less.entries, entry{e.text, e.holds.minus(s)})
	}
	return less
}

// cite returns the entry that decides about tool i, or the list if no entry does.
func (c *clause) cite(i int) string {
	for n, e := range c.entries {
		if e.holds.has(i) {
			return item(c.path, n) + " " + quote(e.text)
		}
	}
	return c.path
}

// namesServers reports whether an entry stands for the tools of servers. Servers come and go.
func namesServers(entry string) bool {
	kind, name := split(entry)
	return kind == "mcp" || kind == "group" && name == Bridged
}

// clause compiles the list at path and reports its problems.
func (k *compiler) clause(path string, list List) *clause {
	c := k.read(path, list)
	if c == nil {
		return nil
	}
	for i, e := range c.entries {
		if text, nearest := k.catalogue.unknown(e.text); text != "" {
			k.report(item(path, i), text, nearest)
		} else if e.holds.empty() && !namesServers(e.text) {
			k.problems = append(k.problems,
				Problem{Path: item(path, i), Text: quote(e.text) + " names no tool that is registered", Warning: true})
		}
	}
	return c
}

// read compiles a list without looking for problems: built-in lists may name tools
// that are not registered.
func (k *compiler) read(path string, list List) *clause {
	if list == nil {
		return nil
	}
	c := &clause{path: path, holds: k.catalogue.none()}
	for _, text := range list {
		e := entry{text, k.catalogue.selected(text)}
		c.entries = append(c.entries, e)
		c.holds = c.holds.or(e.holds)
	}
	return c
}

// A Problem is something in the rules that their author should know.
type Problem struct {
	Path    string // within the policy section: agents.researcher.allow[2]
	Text    string
	Nearest string // the most similar valid name; may be empty
	Warning bool   // the rule has no effect; other problems make the rules unusable
}

func (p Problem) String() string {
	text := p.Path + ": " + p.Text
	if p.Nearest != "" {
		text += "; did you mean " + quote(p.Nearest) + "?"
	}
	return text
}

func (k *compiler) report(path, text, nearest string) {
	k.problems = append(k.problems, Problem{Path: path, Text: text, Nearest: nearest})
}

// under extends a path by the key of a map. It quotes a key that could be read as
// a longer path.
func under(path, key string) string {
	if key == "" || strings.ContainsAny(key, " \t\n\f\r.\"[]") {
		key = strconv.Quote(key)
	}
	return path + "." + key
}

func item(path string, i int) string { return path + "[" + strconv.Itoa(i) + "]" }

// quote quotes text from the rules or from a request.
func quote(s string) string { return strconv.Quote(s) }

// unknownProfile returns the text of the problem that a profile does not exist,
// and the nearest name.
func unknownProfile(name string, names []string) (text, nearest string) {
	return "there is no profile " + quote(name), Nearest(name, names)
}
