package policy

import "slices"

// An action is the effect of a step on the tools that its list names.
type action uint8

const (
	narrows action = iota // only these stay
	removes               // these are removed
	adds                  // these are added
)

// A step is one list at its position in the order.
type step struct {
	name   string
	action action
	list   *clause // nil: absent
	absent string  // why list is nil
}

func (s step) apply(in set) set {
	switch s.action {
	case removes:
		return s.list.drop(in)
	case adds:
		return in.or(s.list.tools())
	}
	return s.list.keep(in)
}

// steps is the order of every decision. Only also_allow can add tools; the steps
// before and after it can only remove.
func (p *Policy) steps(c class) []step {
	first, second := p.profileSteps(c)
	var forProvider, forChat *clause
	if c.provider != nil {
		forProvider = c.provider.allow
	}
	if c.chat != nil {
		forChat = c.chat.allow
	}
	a := c.agent
	if a == nil {
		a = &agent{}
	}
	all := []step{
		first,
		second,
		{"allow", narrows, p.allow, "not set"},
		{"provider allow", narrows, forProvider, "not set for this provider"},
		{"agent allow", narrows, a.allow, "not set for this agent"},
		{"agent's provider allow", narrows, a.byProvider[c.provider], "not set for this agent with this provider"},
		{"group allow", narrows, forChat, "not set for this chat"},
		{"deny", removes, p.deny, "not set"},
		{"agent deny", removes, a.deny, "not set for this agent"},
		{"also_allow", adds, p.also, "not set"},
		{"agent also_allow", adds, a.also, "not set for this agent"},
		{"deny_hard", removes, p.hard, "not set"},
		{"agent deny_hard", removes, a.hard, "not set for this agent"},
	}
	all = append(all, p.hardSteps(c)...)
	return append(all, p.subagentSteps(c)...)
}

// profileSteps returns the first steps. The profile of a provider replaces the
// default, but can only narrow a profile that was chosen for the caller.
func (p *Policy) profileSteps(c class) (first, second step) {
	first = step{"profile", narrows, c.profile.clause(), ""}
	second = step{"provider profile", narrows, nil, "not set for this provider"}
	if c.provider != nil && c.provider.profile != nil {
		second.list = c.provider.profile.clause()
		if !c.chosen {
			first.list, first.absent = nil, "none was chosen, and the provider's stands in for the default"
		}
	}
	return first, second
}

// profilesOf returns the profiles that apply to c.
func (p *Policy) profilesOf(c class) []*profile {
	first, second := p.profileSteps(c)
	var applied []*profile
	for _, s := range []step{first, second} {
		if s.list != nil && !slices.Contains(applied, s.list.profile) {
			applied = append(applied, s.list.profile)
		}
	}
	return applied
}

func (p *Policy) hardSteps(c class) []step {
	var hard []step
	for _, applied := range p.profilesOf(c) {
		for _, list := range applied.hard {
			hard = append(hard, step{"profile deny_hard", removes, list, ""})
		}
	}
	return hard
}

func (p *Policy) subagentSteps(c class) []step {
	deny := step{"subagent deny", removes, nil, "not a subagent"}
	if c.subagent {
		deny.list = p.subagents
	}
	leaf := step{"leaf deny", removes, nil, "may start subagents"}
	if c.leaf {
		leaf.list = p.leaves
	}
	return []step{deny, leaf}
}

// work applies the steps to the registered tools. It calls see, unless nil, for
// each step with the tools before and after it.
func (p *Policy) work(c class, see func(s step, before, after set)) *rights {
	r := &rights{class: c}
	if c.profile == nil {
		return r
	}
	r.tools, r.limit = p.catalogue.all(), p.limit
	for _, s := range p.steps(c) {
		before := r.tools
		r.tools = s.apply(before)
		if see != nil {
			see(s, before, r.tools)
		}
	}
	for _, applied := range p.profilesOf(c) {
		r.limit = r.limit.lower(applied.limit.level, applied.limit.by)
	}
	return r
}

// narrow returns the limit for a request that narrows itself.
func (l limit) narrow(n Narrow) limit {
	if n.ReadOnly {
		return l.lower(ReadOnly, "this request")
	}
	return l
}

// refusal returns the reason why a request excludes tool i, or "".
func (c *Catalogue) refusal(n Narrow, i int) string {
	if n.Tools != nil || n.Toolsets != nil {
		if !c.anyMatches(n.Tools, i) && !c.anyToolset(n.Toolsets, i) {
			return "the request names other tools"
		}
	}
	if c.anyMatches(n.Exclude, i) {
		return "the request excludes it"
	}
	return ""
}

func (c *Catalogue) anyMatches(entries []string, i int) bool {
	for _, entry := range entries {
		if c.matches(entry, i) {
			return true
		}
	}
	return false
}

// anyToolset reports a match also for the plain names of groups.
func (c *Catalogue) anyToolset(groups []string, i int) bool {
	for _, name := range groups {
		if kind, _ := split(name); kind == "" && c.inGroup(name, i) || kind != "" && c.matches(name, i) {
			return true
		}
	}
	return false
}
