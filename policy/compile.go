package policy

import (
	"cmp"
	"maps"
	"slices"
)

// The rules of one provider, agent or chat, made ready. Ids start at 1; 0 is
// all callers without rules.
type (
	provider struct {
		id      uint32
		profile *profile
		allow   *clause
	}
	agent struct {
		id                      uint32
		allow, deny, hard, also *clause
		byProvider              map[*provider]*clause
	}
	chat struct {
		id    uint32
		allow *clause
	}
)

type compiler struct {
	rules     Rules
	catalogue *Catalogue
	policy    *Policy
	problems  []Problem
}

// Compile compiles rules for the tools of a catalogue. If the problems have an
// Error, the Policy is nil. The same input gives the same output.
func Compile(rules Rules, catalogue Catalogue) (*Policy, []Problem) {
	p := &Policy{
		catalogue: catalogue,
		profiles:  make(map[string]*profile),
		providers: make(map[string]*provider),
		agents:    make(map[string]*agent),
		chats:     make(map[string]*chat),
	}
	k := &compiler{rules: rules, catalogue: &p.catalogue, policy: p}
	k.compileProfiles()
	k.compileGlobal()
	k.compileProviders()
	k.compileAgents()
	k.compileChats()
	for _, problem := range k.problems {
		if problem.Severity == Error {
			return nil, k.problems
		}
	}
	k.findDeadRules()
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
	if p.subagents = k.clause("subagents.deny", r.Subagents.Deny); p.subagents == nil {
		p.subagents = k.builtin("built-in subagents.deny", subagentDeny)
	}
	if p.leaves = k.clause("subagents.leaf_deny", r.Subagents.LeafDeny); p.leaves == nil {
		p.leaves = k.builtin("built-in subagents.leaf_deny", leafDeny)
	}
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
		made = &provider{id: uint32(len(k.policy.providers) + 1)}
		k.policy.providers[name] = made
	}
	return made
}

func (k *compiler) compileAgents() {
	for _, name := range sortedKeys(k.rules.Agents) {
		rules, path := k.rules.Agents[name], under("agents", name)
		made := &agent{
			id:         uint32(len(k.policy.agents) + 1),
			allow:      k.clause(path+".allow", rules.Allow),
			deny:       k.clause(path+".deny", rules.Deny),
			hard:       k.clause(path+".deny_hard", rules.DenyHard),
			also:       k.clause(path+".also_allow", rules.AlsoAllow),
			byProvider: make(map[*provider]*clause),
		}
		for _, provider := range sortedKeys(rules.ByProvider) {
			list := under(path+".by_provider", provider) + ".allow"
			made.byProvider[k.provider(provider)] = k.clause(list, rules.ByProvider[provider].Allow)
		}
		k.policy.agents[name] = made
	}
}

func (k *compiler) compileChats() {
	for _, name := range sortedKeys(k.rules.Groups) {
		path := under("groups", name)
		k.policy.chats[name] = &chat{
			id:    uint32(len(k.policy.chats) + 1),
			allow: k.clause(path+".allow", k.rules.Groups[name].Allow),
		}
	}
}

func (k *compiler) checkAutonomy(path string, a Autonomy) {
	if a != "" && a.rank() == 0 {
		levels := []string{string(ReadOnly), string(Supervised), string(Full)}
		k.report(Error, path, "there is no autonomy "+quote(string(a))+"; it is readonly, supervised or full",
			Nearest(string(a), levels))
	}
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
