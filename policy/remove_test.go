package policy

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// remove returns rules without the entry at path.
func remove(t *testing.T, r Rules, path string) Rules {
	t.Helper()
	list, index, _ := strings.Cut(strings.TrimSuffix(path, "]"), "[")
	i, err := strconv.Atoi(index)
	if err != nil {
		t.Fatal(err)
	}
	cut := func(l *List) { *l = slices.Delete(slices.Clone(*l), i, i+1) }
	words := strings.Split(list, ".")
	name := words[len(words)-1]
	switch words[0] {
	case "profiles":
		r.Profiles = maps.Clone(r.Profiles)
		rules := r.Profiles[words[1]]
		cut(map[string]*List{"allow": &rules.Allow, "deny": &rules.Deny, "also_allow": &rules.AlsoAllow}[name])
		r.Profiles[words[1]] = rules
	case "by_provider":
		r.ByProvider = maps.Clone(r.ByProvider)
		rules := r.ByProvider[words[1]]
		cut(&rules.Allow)
		r.ByProvider[words[1]] = rules
	case "agents":
		r.Agents = maps.Clone(r.Agents)
		rules := r.Agents[words[1]]
		if words[2] == "by_provider" {
			rules.ByProvider = maps.Clone(rules.ByProvider)
			list := rules.ByProvider[words[3]]
			cut(&list)
			rules.ByProvider[words[3]] = list
		} else {
			cut(map[string]*List{"allow": &rules.Allow, "deny": &rules.Deny, "also_allow": &rules.AlsoAllow}[name])
		}
		r.Agents[words[1]] = rules
	case "groups":
		r.Groups = maps.Clone(r.Groups)
		list := r.Groups[words[1]]
		cut(&list)
		r.Groups[words[1]] = list
	default:
		cut(map[string]*List{"allow": &r.Allow, "deny": &r.Deny, "deny_hard": &r.DenyHard, "also_allow": &r.AlsoAllow}[list])
	}
	return r
}
