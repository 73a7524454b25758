package policy

import (
	"regexp"
	"slices"
	"strings"
)

// A profile is compiled ProfileRules. Its hard denies are separate, because they
// also remove tools that rules outside the profile add.
type profile struct {
	id      uint32
	name    string
	doc     string
	builtIn bool

	parent            *profile
	allow, deny, also *clause
	hard              []*clause // its own and those of its parents
	holds             set
	limit             limit
}

// clause returns the profile as a clause of a decision.
func (p *profile) clause() *clause {
	return &clause{holds: p.holds, profile: p}
}

// cite returns the name of the profile, and its entry that decides about tool i.
func (p *profile) cite(i int) string {
	name := "profile " + quote(p.name)
	if line := p.line(i); line != "" {
		return name + " (" + line + ")"
	}
	return name
}

func (p *profile) line(i int) string {
	switch {
	case p.also.tools().has(i):
		return p.also.cite(i)
	case p.deny.tools().has(i):
		return p.deny.cite(i)
	case p.parent != nil && (p.allow == nil || !p.parent.holds.has(i)):
		return p.parent.line(i)
	case p.allow.tools().has(i):
		return p.allow.cite(i)
	}
	return ""
}

// start returns the tools to which the profile's denies and additions apply.
func (p *profile) start(all set) set {
	if p.parent != nil {
		all = p.parent.holds
	}
	return p.allow.keep(all)
}

func (p *profile) fill(all set) {
	p.holds = p.deny.drop(p.start(all)).or(p.also.tools())
	if p.parent != nil {
		p.hard = slices.Concat(p.hard, p.parent.hard)
		p.limit = p.limit.lower(p.parent.limit.level, p.parent.limit.by)
	}
}

// compileProfiles compiles every profile, parents before children.
func (k *compiler) compileProfiles() {
	for _, b := range builtinProfiles {
		k.addProfile(&profile{
			name: b.name, doc: b.rules.Doc, builtIn: true,
			allow: k.builtin("", b.rules.Allow),
			limit: limit{}.lower(b.rules.Autonomy, "profile "+quote(b.name)),
		})
		k.policy.ordered = append(k.policy.ordered, b.name)
	}
	for _, name := range sortedKeys(k.rules.Profiles) {
		if p := k.policy.profiles[name]; p != nil && p.builtIn {
			k.report(Error, under("profiles", name),
				"profile "+quote(name)+" is built in; give yours another name and let it extend this one", "")
		} else if k.ownProfile(name, nil) != nil {
			k.policy.ordered = append(k.policy.ordered, name)
		}
	}
}

func (k *compiler) addProfile(p *profile) {
	p.id = uint32(len(k.policy.profiles) + 1)
	p.fill(k.catalogue.all())
	k.policy.profiles[p.name] = p
}

// ownProfile compiles the operator's profile of this name, once. It returns nil
// if the profile does not exist, or if it extends itself through trail.
func (k *compiler) ownProfile(name string, trail []string) *profile {
	if done, ok := k.policy.profiles[name]; ok {
		return done
	}
	rules, ok := k.rules.Profiles[name]
	if !ok {
		return nil
	}
	path := under("profiles", name)
	if slices.Contains(trail, name) {
		k.report(Error, path+".extends",
			"profiles extend each other in a circle: "+strings.Join(append(trail, name), " extends "), "")
		return nil
	}
	p := &profile{name: name, doc: rules.Doc}
	if rules.Extends != "" {
		p.parent = k.parent(rules.Extends, path+".extends", append(trail, name))
	}
	k.readProfile(p, path, rules)
	k.addProfile(p)
	return p
}

// parent returns the profile that another one extends, and reports an unknown
// name. ownProfile reports circles.
func (k *compiler) parent(name, path string, trail []string) *profile {
	if _, ok := k.rules.Profiles[name]; !ok && k.policy.profiles[name] == nil {
		k.noProfile(path, name)
		return nil
	}
	return k.ownProfile(name, trail)
}

// profileName matches valid names. They are part of URLs that choose a profile.
var profileName = regexp.MustCompile(`^[a-z][a-z0-9_-]{0,31}$`)

func (k *compiler) readProfile(p *profile, path string, rules ProfileRules) {
	if !profileName.MatchString(p.name) {
		k.report(Error, path, "the name of a profile is part of a URL: lower-case letters, digits, - and _, at most 32",
			"")
	}
	if rules.Extends == "" && rules.Allow == nil {
		k.report(Error, path,
			"a profile says what it extends or what it allows; to start from every tool write extends: full", "")
	}
	k.checkAutonomy(path+".autonomy", rules.Autonomy)
	p.allow = k.clause(path+".allow", rules.Allow)
	p.deny = k.clause(path+".deny", rules.Deny)
	p.also = k.clause(path+".also_allow", rules.AlsoAllow)
	if hard := k.clause(path+".deny_hard", rules.DenyHard); hard != nil {
		p.hard = []*clause{hard}
	}
	p.limit = limit{}.lower(rules.Autonomy, "profile "+quote(p.name))
}

// noProfile reports a profile that does not exist.
func (k *compiler) noProfile(path, name string) {
	var names []string
	for _, b := range builtinProfiles {
		names = append(names, b.name)
	}
	text, nearest := unknownProfile(name, append(names, sortedKeys(k.rules.Profiles)...))
	k.report(Error, path, text, nearest)
}
