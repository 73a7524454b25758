package policy

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

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
	switch c := p.class(s); {
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
	held := from.holds
	for _, hard := range from.hard {
		held = hard.drop(held)
	}
	for i, tool := range p.catalogue.tools {
		if held.has(i) {
			out.Tools = append(out.Tools, tool.Name)
		}
	}
	return out
}

// AnyProfile, in the place of a profile's name, stands for every profile there
// is. It is not a profile, so it cannot be the default.
const AnyProfile = "*"
