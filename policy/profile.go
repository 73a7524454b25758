package policy

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// A profile is compiled ProfileRules.
type profile struct {
	name    string
	doc     string
	builtIn bool
	list    *clause // its tools
	listed  *clause // listed tools; nil for all
	limit   limit
}

// compileProfiles compiles every profile, parents before children.
func (k *compiler) compileProfiles() {
	for _, b := range builtinProfiles {
		p := &profile{
			name: b.name, doc: b.doc, builtIn: true,
			limit: limit{}.lower(b.rules.Autonomy, "profile "+quote(b.name)),
		}
		if b.rules.Listed != nil {
			p.listed = k.read("", b.rules.Listed)
		}
		k.addProfile(p, k.read("", b.rules.Allow).holds)
		k.policy.ordered = append(k.policy.ordered, b.name)
	}
	for _, name := range sortedKeys(k.rules.Profiles) {
		if p := k.policy.profiles[name]; p != nil && p.builtIn {
			k.report(under("profiles", name),
				"profile "+quote(name)+" is built in; give yours another name and let it extend this one", "")
		} else if k.ownProfile(name, nil) != nil {
			k.policy.ordered = append(k.policy.ordered, name)
		}
	}
}

func (k *compiler) addProfile(p *profile, holds set) {
	p.list = &clause{path: "profile " + quote(p.name), holds: holds}
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
		k.report(path+".extends",
			"profiles extend each other in a circle: "+strings.Join(append(trail, name), " extends "), "")
		return nil
	}
	var parent *profile
	if rules.Extends != "" {
		parent = k.parent(rules.Extends, path+".extends", append(trail, name))
	}
	return k.readProfile(name, path, rules, parent)
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

// validProfileName reports whether name can be part of a URL that chooses a profile.
func validProfileName(name string) bool {
	for i, c := range []byte(name) {
		if (c < 'a' || c > 'z') && (i == 0 || c != '_' && c != '-' && (c < '0' || c > '9')) {
			return false
		}
	}
	return name != "" && len(name) <= 32
}

func (k *compiler) readProfile(name, path string, rules ProfileRules, parent *profile) *profile {
	if !validProfileName(name) {
		k.report(path, "the name of a profile is part of a URL: lower-case letters, digits, - and _, at most 32", "")
	}
	if rules.Extends == "" && rules.Allow == nil {
		k.report(path,
			"a profile needs extends or allow; to start from every tool write extends: full", "")
	}
	k.checkAutonomy(path+".autonomy", rules.Autonomy)
	p := &profile{
		name: name, limit: limit{}.lower(rules.Autonomy, "profile "+quote(name)),
		listed: k.clause(path+".listed", rules.Listed),
	}
	holds := k.catalogue.all()
	if parent != nil {
		holds, p.limit = parent.list.holds, p.limit.lower(parent.limit.level, parent.limit.by)
		if p.listed == nil {
			p.listed = parent.listed
		}
	}
	holds = k.clause(path+".allow", rules.Allow).keep(holds)
	holds = k.clause(path+".deny", rules.Deny).drop(holds)
	holds = holds.or(k.clause(path+".also_allow", rules.AlsoAllow).tools())
	k.addProfile(p, holds)
	return p
}

// noProfile reports a profile that does not exist.
func (k *compiler) noProfile(path, name string) {
	var names []string
	for _, b := range builtinProfiles {
		names = append(names, b.name)
	}
	text, nearest := unknownProfile(name, append(names, sortedKeys(k.rules.Profiles)...))
	k.report(path, text, nearest)
}

// A Profile is a named selection of tools, as operators see it.
type Profile struct {
	Name     string   `json:"name"`
	Doc      string   `json:"doc"`
	BuiltIn  bool     `json:"built_in"`
	Autonomy Autonomy `json:"autonomy"` // at most the autonomy of the rules
	Tools    []string `json:"tools"`    // the registered ones, in order
}

// Profiles lists the profiles: the built-in ones, then the operator's by name.
func (p *Policy) Profiles() []Profile {
	all := make([]Profile, 0, len(p.ordered))
	for _, name := range p.ordered {
		all = append(all, p.describe(p.profiles[name]))
	}
	return all
}

// Profile finds a profile by its name.
func (p *Policy) Profile(name string) (Profile, bool) {
	found, ok := p.profiles[name]
	if !ok {
		return Profile{}, false
	}
	return p.describe(found), true
}

// Names lists the names of the profiles, in the order of Profiles.
func (p *Policy) Names() []string { return slices.Clone(p.ordered) }

// ResolveProfile returns the name of a profile that exists: name itself, or
// the default for "". An unknown name is an error and never the default.
func (p *Policy) ResolveProfile(name string) (string, error) {
	if name == "" && p.fallback != nil {
		return p.fallback.name, nil
	}
	if _, ok := p.profiles[name]; ok {
		return name, nil
	}
	text, nearest := unknownProfile(name, p.ordered)
	if nearest != "" {
		return "", fmt.Errorf("%s; did you mean %q?", text, nearest)
	}
	return "", errors.New(text + "; there are " + strings.Join(p.ordered, ", "))
}

// ProfileOf names the profile that a subject begins with: the one that was
// chosen for it, else its provider's, else the default.
func (p *Policy) ProfileOf(s Subject) string {
	switch c := p.Class(s); {
	case c.chosen:
		return s.Profile
	case c.provider != nil && c.provider.profile != nil:
		return c.provider.profile.name
	case c.profile != nil:
		return c.profile.name
	}
	return ""
}

func (p *Policy) describe(from *profile) Profile {
	out := Profile{
		Name: from.name, Doc: from.doc, BuiltIn: from.builtIn,
		Autonomy: p.limit.lower(from.limit.level, "").level,
		Tools:    []string{},
	}
	for i, tool := range p.catalogue.tools {
		if from.list.holds.has(i) {
			out.Tools = append(out.Tools, tool.Name)
		}
	}
	return out
}

// AnyProfile, in the place of a profile's name, stands for every profile there
// is. It is not a profile, so it cannot be the default.
const AnyProfile = "*"
