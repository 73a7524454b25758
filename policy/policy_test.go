package policy

import (
	"cmp"
	"slices"
	"strings"
	"testing"
)

// compile makes rules ready that are expected to be sound.
func compile(t testing.TB, rules Rules) *Policy {
	t.Helper()
	p, problems := Compile(rules, NewCatalogue(suite()))
	for _, problem := range problems {
		if !problem.Warning {
			t.Fatalf("%s", problem)
		}
	}
	return p
}

// TestSteps has a row or more for each step. by is the step that has the last
// word on whether the tool is in.
func TestSteps(t *testing.T) {
	full := func(r Rules) Rules { r.Autonomy = Full; return r }
	for _, test := range []struct {
		name    string
		rules   Rules
		subject Subject
		tool    string
		want    Verdict
		by      string
	}{
		{"no rules at all", Rules{}, Subject{}, "read_file", Allow, ""},
		{"no rules at all, but risky", Rules{}, Subject{}, "exec", Ask, ""},
		{"default profile", Rules{Profile: "minimal"}, Subject{}, "read_file", Deny, "profile"},
		{"chosen profile", Rules{Profile: "minimal"}, Subject{Profile: "coding"}, "read_file", Allow, ""},
		{"unknown profile is not full", Rules{}, Subject{Profile: "fulll"}, "session_status", Deny, "profile"},
		{"profiles are case-sensitive", Rules{}, Subject{Profile: "Full"}, "session_status", Deny, "profile"},

		{"provider's profile stands in for the default",
			Rules{Profile: "minimal", ByProvider: map[string]ProviderRules{"acme": {Profile: "coding"}}},
			Subject{Provider: "acme"}, "read_file", Allow, ""},
		{"provider's profile cannot widen a chosen one",
			Rules{ByProvider: map[string]ProviderRules{"acme": {Profile: "coding"}}},
			Subject{Profile: "minimal", Provider: "acme"}, "read_file", Deny, "profile"},
		{"provider's profile narrows a chosen one",
			Rules{ByProvider: map[string]ProviderRules{"acme": {Profile: "minimal"}}},
			Subject{Profile: "coding", Provider: "acme"}, "read_file", Deny, "provider profile"},
		{"another provider", Rules{ByProvider: map[string]ProviderRules{"acme": {Profile: "minimal"}}},
			Subject{Provider: "other"}, "read_file", Allow, ""},

		{"allow", Rules{Allow: List{"edit"}}, Subject{}, "read_file", Deny, "allow"},
		{"allow holds", Rules{Allow: List{"edit"}}, Subject{}, "edit", Allow, ""},
		{"empty allow allows nothing", Rules{Allow: List{}}, Subject{}, "read_file", Deny, "allow"},
		{"allow cannot widen a profile", Rules{Allow: List{"exec"}}, Subject{Profile: "minimal"}, "exec", Deny,
			"profile"},
		{"allow by another system's name", full(Rules{Allow: List{"bash"}}), Subject{}, "exec", Allow, ""},

		{"provider allow", Rules{ByProvider: map[string]ProviderRules{"acme": {Allow: List{"edit"}}}},
			Subject{Provider: "acme"}, "read_file", Deny, "provider allow"},
		{"empty provider allow", Rules{ByProvider: map[string]ProviderRules{"acme": {Allow: List{}}}},
			Subject{Provider: "acme"}, "read_file", Deny, "provider allow"},
		{"agent allow", Rules{Agents: map[string]AgentRules{"ada": {Allow: List{"edit"}}}},
			Subject{Agent: "ada"}, "read_file", Deny, "agent allow"},
		{"empty agent allow", Rules{Agents: map[string]AgentRules{"ada": {Allow: List{}}}},
			Subject{Agent: "ada"}, "read_file", Deny, "agent allow"},
		{"another agent", Rules{Agents: map[string]AgentRules{"ada": {Allow: List{"edit"}}}},
			Subject{Agent: "bob"}, "read_file", Allow, ""},
		{"agent allow for a provider",
			Rules{Agents: map[string]AgentRules{"ada": {
				ByProvider: map[string]List{"acme": List{"edit"}},
			}}},
			Subject{Agent: "ada", Provider: "acme"}, "read_file", Deny, "agent's provider allow"},
		{"agent allow for another provider",
			Rules{Agents: map[string]AgentRules{"ada": {
				ByProvider: map[string]List{"acme": List{"edit"}},
			}}},
			Subject{Agent: "ada", Provider: "other"}, "read_file", Allow, ""},
		{"group allow", Rules{Groups: map[string]List{"-100:7": List{"edit"}}},
			Subject{Group: "-100:7"}, "read_file", Deny, "group allow"},
		{"another chat", Rules{Groups: map[string]List{"-100:7": List{"edit"}}},
			Subject{Group: "-100:8"}, "read_file", Allow, ""},

		{"deny", Rules{Deny: List{"read_file"}}, Subject{}, "read_file", Deny, "deny"},
		{"deny beats allow", Rules{Allow: List{"read_file"}, Deny: List{"read_*"}}, Subject{}, "read_file", Deny,
			"deny"},
		{"agent deny", Rules{Agents: map[string]AgentRules{"ada": {Deny: List{"group:fs"}}}},
			Subject{Agent: "ada"}, "read_file", Deny, "agent deny"},
		{"also_allow adds to a profile", Rules{AlsoAllow: List{"read_file"}}, Subject{Profile: "minimal"}, "read_file",
			Allow, "also_allow"},
		{"also_allow beats deny", Rules{Deny: List{"read_file"}, AlsoAllow: List{"read_file"}}, Subject{}, "read_file",
			Allow, "also_allow"},
		{"agent also_allow beats everything soft",
			Rules{Allow: List{}, Deny: List{"*"}, Agents: map[string]AgentRules{"ada": {AlsoAllow: List{"read_file"}}}},
			Subject{Agent: "ada"}, "read_file", Allow, "agent also_allow"},
		{"hard deny beats also_allow", Rules{DenyHard: List{"read_file"}, AlsoAllow: List{"read_file"}}, Subject{},
			"read_file", Deny, "deny_hard"},
		{"hard deny beats the agent's also_allow",
			Rules{DenyHard: List{"exec"}, Agents: map[string]AgentRules{"ada": {AlsoAllow: List{"exec"}}}},
			Subject{Agent: "ada"}, "exec", Deny, "deny_hard"},
		{"also_allow does not reach around autonomy", Rules{AlsoAllow: List{"exec"}}, Subject{Profile: "readonly"},
			"exec", Deny, "autonomy"},

		{"subagent", Rules{}, Subject{Depth: 1}, "cron", Deny, "subagent deny"},
		{"subagent, any way to run a command", Rules{}, Subject{Depth: 1}, "credentialed_exec", Deny, "subagent deny"},
		{"subagent deny beats also_allow", Rules{AlsoAllow: List{"cron"}}, Subject{Depth: 2}, "cron", Deny,
			"subagent deny"},
		{"subagent with a tool of the list", Rules{Subagents: List{"cron"}}, Subject{Depth: 1}, "cron", Ask, ""},
		{"subagent with another tool of the list", Rules{Subagents: List{"cron"}}, Subject{Depth: 1}, "exec", Deny,
			"subagent deny"},
		{"subagent of an agent without it", Rules{Subagents: List{"cron"}, Deny: List{"cron"}}, Subject{Depth: 1}, "cron",
			Deny, "deny"},
		{"subagent may spawn", Rules{}, Subject{Depth: 1}, "spawn", Ask, ""},
		{"leaf may not", Rules{}, Subject{Depth: 1, Leaf: true}, "spawn", Deny, "leaf deny"},
		{"leaf is a subagent at any depth", Rules{}, Subject{Leaf: true}, "cron", Deny, "subagent deny"},

		{"request names tools", Rules{}, Subject{Narrow: Narrow{Tools: []string{"edit", "gone"}}}, "read_file", Deny,
			"request"},
		{"request names it", Rules{}, Subject{Narrow: Narrow{Tools: []string{"Read"}}}, "read_file", Allow, ""},
		{"request names none", Rules{}, Subject{Narrow: Narrow{Tools: []string{}}}, "read_file", Deny, "request"},
		{"request names a group", Rules{}, Subject{Narrow: Narrow{Toolsets: []string{"web"}}}, "read_file", Deny,
			"request"},
		{"request names its group", Rules{}, Subject{Narrow: Narrow{Toolsets: []string{"fs"}}}, "read_file", Allow, ""},
		{"request names its group in full", Rules{}, Subject{Narrow: Narrow{Toolsets: []string{"group:fs"}}},
			"read_file", Allow, ""},
		{"request names tools and groups", Rules{},
			Subject{Narrow: Narrow{Tools: []string{"read_file"}, Toolsets: []string{"web"}}}, "read_file", Allow, ""},
		{"request excludes", Rules{}, Subject{Narrow: Narrow{Exclude: []string{"read_*"}}}, "read_file", Deny,
			"request"},
		{"request cannot widen", Rules{}, Subject{Profile: "minimal", Narrow: Narrow{Tools: []string{"read_file"}}},
			"read_file", Deny, "profile"},
		{"request beats also_allow", Rules{AlsoAllow: List{"exec"}}, Subject{Narrow: Narrow{Exclude: []string{"exec"}}},
			"exec", Deny, "request"},
		{"request reads only", full(Rules{}), Subject{Narrow: Narrow{ReadOnly: true}}, "edit", Deny, "autonomy"},
		{"request reads only, reads", full(Rules{}), Subject{Narrow: Narrow{ReadOnly: true}}, "read_file", Allow, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			d := compile(t, test.rules).Explain(test.subject, test.tool)
			if by := decisive(d); d.Verdict != test.want || by != test.by {
				t.Errorf("got %s by %q, want %s by %q\n%s", d.Verdict, by, test.want, test.by, d)
			}
		})
	}
}

// decisive is the last step that took the tool out or brought it in.
func decisive(d Decision) string {
	var by string
	for _, s := range d.Steps {
		if s.Effect == Removes || s.Effect == Adds {
			by = s.Name
		}
	}
	return by
}

func TestOrderOfSteps(t *testing.T) {
	rules, busy := explained()
	d := compile(t, rules).Explain(busy, "exec")
	var order []string
	for _, s := range d.Steps {
		order = append(order, s.Name)
	}
	const want = "profile, provider profile, allow, provider allow, agent allow, agent's provider allow, group allow, " +
		"deny, agent deny, also_allow, agent also_allow, deny_hard, " +
		"subagent deny, leaf deny, request, autonomy"
	if got := strings.Join(order, ", "); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestAutonomy(t *testing.T) {
	risks := []Risk{Reads, Writes, Destroys, Runs}
	names := []string{"read_file", "edit", "write_file", "exec"}
	for _, test := range []struct {
		rules Autonomy
		own   Autonomy // of the profile
		want  [4]Verdict
	}{
		{"", "", [4]Verdict{Allow, Allow, Ask, Ask}},
		{Supervised, "", [4]Verdict{Allow, Allow, Ask, Ask}},
		{ReadOnly, "", [4]Verdict{Allow, Deny, Deny, Deny}},
		{Full, "", [4]Verdict{Allow, Allow, Allow, Allow}},
		{Full, Supervised, [4]Verdict{Allow, Allow, Ask, Ask}},
		{Full, ReadOnly, [4]Verdict{Allow, Deny, Deny, Deny}},
		{ReadOnly, Full, [4]Verdict{Allow, Deny, Deny, Deny}},
	} {
		p := compile(t, Rules{Autonomy: test.rules, Profiles: map[string]ProfileRules{
			"own": {Extends: "full", Autonomy: test.own}, "child": {Extends: "own", Autonomy: Full}}})
		for i, name := range names {
			if got := spec(t, name); got.Risk != risks[i] {
				t.Fatalf("%s is %s", name, got.Risk)
			}
			for _, profile := range []string{"own", "child"} {
				if got := p.Verdict(Subject{Profile: profile}, name); got != test.want[i] {
					t.Errorf("autonomy %q, profile's %q: %s in %s is %s, want %s", test.rules, test.own, name, profile,
						got, test.want[i])
				}
			}
		}
	}
}

// TestRatedCalls checks that the risk of a call changes the verdict, but never allows a tool that the policy
// denies.
func TestRatedCalls(t *testing.T) {
	for _, test := range []struct {
		autonomy Autonomy
		tool     string
		rated    Risk
		want     Verdict
	}{
		{Supervised, "exec", Reads, Allow},
		{Supervised, "exec", Runs, Ask},
		{Supervised, "read_file", Runs, Ask},
		{Supervised, "read_file", 0, Deny},
		{Supervised, "read_file", 200, Deny},
		{ReadOnly, "exec", Reads, Deny},
		{ReadOnly, "read_file", Writes, Deny},
		{Full, "exec", Runs, Allow},
	} {
		p := compile(t, Rules{Autonomy: test.autonomy})
		if got := p.For(Subject{}, test.tool, test.rated); got != test.want {
			t.Errorf("%s: a call of %s rated %s is %s, want %s", test.autonomy, test.tool, test.rated, got, test.want)
		}
	}
	p := compile(t, Rules{Deny: List{"exec"}, Autonomy: Full})
	if got := p.For(Subject{}, "exec", Reads); got != Deny {
		t.Errorf("a rating freed a denied tool: %s", got)
	}
}

func TestZeroPolicyDenies(t *testing.T) {
	if got := new(Policy).Verdict(Subject{}, "read_file"); got != Deny {
		t.Errorf("the zero Policy says %s", got)
	}
	if got := new(Policy).Explain(Subject{}, "read_file").Verdict; got != Deny {
		t.Errorf("the zero Policy explains %s", got)
	}
	var zero Verdict
	if zero != Deny {
		t.Errorf("the zero Verdict is %s", zero)
	}
	p := compile(t, Rules{Autonomy: Full})
	for _, name := range []string{"not_registered", "Read", ""} {
		if got := p.Verdict(Subject{}, name); got != Deny {
			t.Errorf("%q: %s", name, got)
		}
	}
	unrated, _ := Compile(Rules{Autonomy: Full}, NewCatalogue([]Tool{{Name: "read_file", Group: "fs"}}))
	if got := unrated.Verdict(Subject{}, "read_file"); got != Deny {
		t.Errorf("a tool without a risk: %s", got)
	}
}

// TestProfileOf: a provider's profile stands in for the default, and for no
// profile that was chosen.
func TestProfileOf(t *testing.T) {
	p := compile(t, Rules{Profile: "coding", ByProvider: map[string]ProviderRules{"local": {Profile: "lean"},
		"other": {Allow: List{"*"}}}})
	for want, subjects := range map[string][]Subject{
		"coding":  {{}, {Provider: "other"}, {Provider: "nobody"}},
		"lean":    {{Provider: "local"}},
		"minimal": {{Profile: "minimal"}, {Profile: "minimal", Provider: "local"}},
	} {
		for _, s := range subjects {
			if got := p.ProfileOf(s); got != want {
				t.Errorf("ProfileOf(%+v) = %q, want %q", s, got, want)
			}
		}
	}
}

func TestResolveProfile(t *testing.T) {
	p := compile(t, Rules{Profile: "coding", Profiles: map[string]ProfileRules{"reviewer": {Extends: "readonly"}}})
	for name, want := range map[string]string{"": "coding", "full": "full", "reviewer": "reviewer"} {
		if got, err := p.ResolveProfile(name); err != nil || got != want {
			t.Errorf("ResolveProfile(%q) = %q, %v; want %q", name, got, err, want)
		}
	}
	for name, want := range map[string]string{
		"codign": `there is no profile "codign"; did you mean "coding"?`,
		"zzzzzz": `there is no profile "zzzzzz"; there are full, coding, messaging, minimal, readonly, lean, reviewer`,
	} {
		if got, err := p.ResolveProfile(name); err == nil || err.Error() != want {
			t.Errorf("ResolveProfile(%q) = %q, %v; want %q", name, got, err, want)
		}
	}
	if _, err := new(Policy).ResolveProfile(""); err == nil {
		t.Error("the zero Policy has a profile")
	}
}

func TestProfiles(t *testing.T) {
	p := compile(t, Rules{Autonomy: Supervised, Profiles: map[string]ProfileRules{
		"zeta":  {Allow: List{"edit", "exec"}, Deny: List{"exec"}},
		"alpha": {Extends: "readonly", Allow: List{"group:fs"}},
	}})
	if got, want := p.Names(), []string{"full", "coding", "messaging", "minimal", "readonly", "lean", "alpha",
		"zeta"}; !slices.Equal(got, want) {
		t.Errorf("names: %q, want %q", got, want)
	}
	zeta, ok := p.Profile("zeta")
	if !ok || zeta.BuiltIn || zeta.Doc != "" || !slices.Equal(zeta.Tools, []string{"edit"}) ||
		zeta.Autonomy != Supervised {
		t.Errorf("zeta: %+v", zeta)
	}
	alpha, _ := p.Profile("alpha")
	if alpha.Autonomy != ReadOnly || !slices.Equal(alpha.Tools,
		[]string{"read_file", "list_files", "search", "glob", "history"}) {
		t.Errorf("alpha: %+v", alpha)
	}
	if _, ok := p.Profile("none"); ok {
		t.Error("a profile that does not exist was found")
	}
	if got := slices.IndexFunc(p.Profiles(), func(p Profile) bool {
		return cmp.Or(p.Doc, "") == "" &&
			p.BuiltIn
	}); got >= 0 {
		t.Errorf("a built-in profile has no doc: %s", p.Profiles()[got].Name)
	}
}
