package policy

// findDeadRules warns of entries without effect, since they mislead their readers.
// It reports only what has no effect for any caller: a dead rule that is missed is
// harmless, a warning about a rule that has an effect is not.
func (k *compiler) findDeadRules() {
	for _, name := range sortedKeys(k.rules.Profiles) {
		k.deadInProfile(k.policy.profiles[name])
	}
	k.deadGlobally()
	for _, name := range sortedKeys(k.rules.ByProvider) {
		k.deadAllow(k.policy.providers[name].allow)
	}
	for _, name := range sortedKeys(k.rules.Agents) {
		k.deadForAgent(k.policy.agents[name], k.rules.Agents[name])
	}
	for _, name := range sortedKeys(k.rules.Groups) {
		k.deadAllow(k.policy.chats[name].allow)
	}
}

// dead warns of every entry of c that matches a tool and has a set for which fits
// returns true.
func (k *compiler) dead(c *clause, why string, fits func(set) bool) {
	if c == nil {
		return
	}
	for i, e := range c.entries {
		if !e.holds.empty() && fits(e.holds) {
			k.report(Warning, item(c.path, i), quote(e.text)+" "+why, "")
		}
	}
}

// outside returns a function that matches sets without a tool of reach.
func outside(reach set) func(set) bool {
	return func(s set) bool { return s.and(reach).empty() }
}

// inside returns a function that matches sets within floor.
func inside(floor set) func(set) bool {
	return func(s set) bool { return s.within(floor) }
}

// deadAllow checks a list that comes after the global allow.
func (k *compiler) deadAllow(c *clause) {
	reach := k.policy.allow.keep(k.catalogue.all())
	k.dead(c, "has no effect: allow does not name it, and lists only narrow each other", outside(reach))
}

func (k *compiler) deadInProfile(p *profile) {
	all := k.catalogue.all()
	if p.parent != nil {
		k.dead(p.allow, "has no effect: profile "+quote(p.parent.name)+" does not hold it; also_allow would add it",
			outside(p.parent.holds))
	}
	start := p.start(all)
	k.dead(p.deny, "has no effect: the profile does not hold it anyway", outside(start.or(p.also.tools())))
	k.dead(p.deny, "has no effect: also_allow adds it back; use deny_hard", inside(p.also.tools()))
	k.dead(p.also, "has no effect: the profile holds it already", inside(p.deny.drop(start)))
	for _, hard := range p.hard {
		k.dead(p.also, "has no effect: "+hard.path+" removes it permanently", inside(hard.holds))
	}
	if own := k.rules.Profiles[p.name].Autonomy; own.rank() > k.policy.limit.level.rank() {
		k.report(Warning, under("profiles", p.name)+".autonomy",
			quote(string(own))+" has no effect: autonomy is "+string(k.policy.limit.level)+" for all profiles", "")
	}
}

func (k *compiler) deadGlobally() {
	p := k.policy
	reach := p.allow.keep(k.catalogue.all())
	k.dead(p.deny, "has no effect: allow does not name it anyway", outside(reach.or(p.also.tools())))
	k.dead(p.deny, "has no effect: also_allow adds it back; use deny_hard", inside(p.also.tools()))
	k.dead(p.hard, "has no effect: nothing allows it anyway", outside(reach.or(k.added())))
	k.dead(p.also, "has no effect: deny_hard removes it permanently", inside(p.hard.tools()))
	k.dead(p.also, "has no effect: all callers already have it in the profiles that these rules use", inside(k.floor()))
}

func (k *compiler) deadForAgent(a *agent, rules AgentRules) {
	p := k.policy
	k.deadAllow(a.allow)
	for _, name := range sortedKeys(rules.ByProvider) {
		k.deadAllow(a.byProvider[p.providers[name]])
	}
	reach := p.deny.drop(a.allow.keep(p.allow.keep(k.catalogue.all())))
	added := a.also.tools().or(p.also.tools())
	k.dead(a.deny, "has no effect: the agent is not allowed it anyway", outside(reach.or(added)))
	k.dead(a.deny, "has no effect: also_allow adds it back; use deny_hard", inside(added))
	k.dead(a.hard, "has no effect: nothing allows it anyway", outside(reach.or(added)))
	k.dead(a.also, "has no effect: deny_hard removes it permanently", inside(p.hard.tools().or(a.hard.tools())))
	k.dead(a.also, "has no effect: the agent has it already", inside(k.floor().or(p.also.tools())))
}

// added returns the tools that any also_allow adds.
func (k *compiler) added() set {
	added := k.policy.also.tools()
	for _, a := range k.policy.agents {
		added = added.or(a.also.tools())
	}
	return added
}

// floor returns the tools that all callers have, whichever lists apply, in each
// profile that these rules use or define.
func (k *compiler) floor() set {
	p := k.policy
	floor := p.deny.drop(p.allow.keep(p.fallback.holds))
	for name := range k.rules.Profiles {
		floor = floor.and(p.profiles[name].holds)
	}
	for _, provider := range p.providers {
		if provider.profile != nil {
			floor = floor.and(provider.profile.holds)
		}
		floor = provider.allow.keep(floor)
	}
	for _, a := range p.agents {
		floor = a.deny.drop(a.allow.keep(floor))
		for _, list := range a.byProvider {
			floor = list.keep(floor)
		}
	}
	for _, c := range p.chats {
		floor = c.allow.keep(floor)
	}
	return floor
}
