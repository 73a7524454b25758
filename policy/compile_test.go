package policy

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// problemsOf writes what is wrong with rules, a line each.
func problemsOf(t *testing.T, rules Rules) (text string, usable bool) {
	t.Helper()
	p, problems := Compile(rules, NewCatalogue(suite()))
	var lines []string
	for _, problem := range problems {
		lines = append(lines, problem.Severity.String()+" "+problem.String())
	}
	return strings.Join(lines, "\n"), p != nil
}

func TestErrorsStopTheStart(t *testing.T) {
	own := func(p ProfileRules) Rules { return Rules{Profiles: map[string]ProfileRules{"own": p}} }
	for _, test := range []struct {
		name  string
		rules Rules
		want  string
	}{
		{"tool", Rules{Allow: List{"edit", "red_file"}},
			`allow[1]: there is no tool "red_file"; did you mean "read_file"?`},
		{"tool of nothing alike", Rules{Deny: List{"xyzzyx"}}, `deny[0]: there is no tool "xyzzyx"`},
		{"no name", Rules{Deny: List{""}}, `deny[0]: there is no tool ""`},
		{"case", Rules{Deny: List{"EXEC"}}, `deny[0]: there is no tool "EXEC"; did you mean "exec"?`},
		{"other list", Rules{DenyHard: List{"exxec"}}, `deny_hard[0]: there is no tool "exxec"; did you mean "exec"?`},
		{"group", Rules{AlsoAllow: List{"group:runtim"}},
			`also_allow[0]: there is no group "runtim"; did you mean "group:runtime"?`},
		{"group as a tool", Rules{Allow: List{"web"}},
			`allow[0]: "web" is a group, not a tool; did you mean "group:web"?`},
		{"no server", Rules{Allow: List{"mcp:"}}, `allow[0]: "mcp:" names no server; did you mean "mcp:*"?`},
		{"risk", Rules{Allow: List{"risk:read"}}, `allow[0]: there is no risk "read"; did you mean "risk:reads"?`},
		{"default profile", Rules{Profile: "codng"}, `profile: there is no profile "codng"; did you mean "coding"?`},
		{"autonomy", Rules{Autonomy: "read-only"},
			`autonomy: there is no autonomy "read-only"; it is readonly, supervised or full; did you mean "readonly"?`},
		{"provider's profile", Rules{ByProvider: map[string]ProviderRules{"acme": {Profile: "ful"}}},
			`by_provider.acme.profile: there is no profile "ful"; did you mean "full"?`},
		{"provider's list", Rules{ByProvider: map[string]ProviderRules{"acme": {Allow: List{"editt"}}}},
			`by_provider.acme.allow[0]: there is no tool "editt"; did you mean "edit"?`},
		{"agent's list", Rules{Agents: map[string]AgentRules{"ada": {Deny: List{"edit", "editt"}}}},
			`agents.ada.deny[1]: there is no tool "editt"; did you mean "edit"?`},
		{"agent's list for a provider",
			Rules{Agents: map[string]AgentRules{"a b": {
				ByProvider: map[string]AgentProviderRules{"x.ai": {Allow: List{"editt"}}},
			}}},
			`agents."a b".by_provider."x.ai".allow[0]: there is no tool "editt"; did you mean "edit"?`},
		{"chat's list", Rules{Groups: map[string]ChatRules{"-100:7": {Allow: List{"editt"}}}},
			`groups.-100:7.allow[0]: there is no tool "editt"; did you mean "edit"?`},
		{"subagents' list", Rules{Subagents: SubagentRules{Deny: List{"editt"}, LeafDeny: List{"edit"}}},
			`subagents.deny[0]: there is no tool "editt"; did you mean "edit"?`},
		{"built-in profile", Rules{Profiles: map[string]ProfileRules{"full": {Allow: List{"*"}}}},
			`profiles.full: profile "full" is built in; give yours another name and let it extend this one`},
		{"profile of nothing", own(ProfileRules{Deny: List{"exec"}}),
			`profiles.own: a profile says what it extends or what it allows; to start from every tool write extends: full`},
		{"profile's name", Rules{Profiles: map[string]ProfileRules{"a/b": {Extends: "full"}}},
			`profiles.a/b: the name of a profile is part of a URL: lower-case letters, digits, - and _, at most 32`},
		{"profile's parent", own(ProfileRules{Extends: "owm"}),
			`profiles.own.extends: there is no profile "owm"; did you mean "own"?`},
		{"profile's list", own(ProfileRules{Extends: "full", DenyHard: List{"editt"}}),
			`profiles.own.deny_hard[0]: there is no tool "editt"; did you mean "edit"?`},
		{"profile's autonomy", own(ProfileRules{Extends: "full", Autonomy: "ful"}),
			`profiles.own.autonomy: there is no autonomy "ful"; it is readonly, supervised or full; did you mean "full"?`},
		{"a profile that extends itself", own(ProfileRules{Extends: "own"}),
			`profiles.own.extends: profiles extend each other in a circle: own extends own`},
		{"a circle", Rules{Profiles: map[string]ProfileRules{"a": {Extends: "b"}, "b": {Extends: "c"},
			"c": {Extends: "a"}}},
			`profiles.a.extends: profiles extend each other in a circle: a extends b extends c extends a`},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, usable := problemsOf(t, test.rules)
			if diff := cmp.Diff("error "+test.want, got); diff != "" {
				t.Error(diff)
			}
			if usable {
				t.Error("there is a policy in spite of it")
			}
		})
	}
}

func TestAllErrorsAtOnce(t *testing.T) {
	got, _ := problemsOf(t, Rules{Profile: "x1", Autonomy: "x2", Allow: List{"x3", "group:x4"}})
	if n := strings.Count(got, "error "); n != 4 {
		t.Errorf("%d errors, want 4:\n%s", n, got)
	}
}

// TestNamesWithoutToolsAreNotErrors checks groups without tools, and tools of
// servers that are not connected.
func TestNamesWithoutToolsAreNotErrors(t *testing.T) {
	rules := Rules{Deny: List{"browser", "group:agents", "group:goclaw", "group:mcp", "mcp:hub", "mcp_hub__x", "x_*"}}
	if p, _ := Compile(rules, Catalogue{}); p != nil {
		t.Error("the empty catalogue knows no names, so this should not compile")
	}
	p, problems := Compile(rules, NewCatalogue(nil))
	if p == nil {
		t.Fatalf("%v", problems)
	}
	for i, problem := range problems {
		if want := "deny[" + string(rune('0'+i)) + "]"; problem.Severity != Warning || problem.Path != want {
			t.Errorf("problem %d is %s %s", i, problem.Severity, problem)
		}
	}
	if len(problems) != len(rules.Deny) {
		t.Errorf("%d problems, want one for each of %d entries", len(problems), len(rules.Deny))
	}
}

func TestDeadRules(t *testing.T) {
	const dead = " has no effect: "
	own := func(p ProfileRules) Rules { return Rules{Profiles: map[string]ProfileRules{"own": p}} }
	ada := func(r Rules, a AgentRules) Rules { r.Agents = map[string]AgentRules{"ada": a}; return r }
	for _, test := range []struct {
		name  string
		rules Rules
		want  string
	}{
		{"sound rules", Rules{Profile: "coding", Allow: List{"group:fs"}, Deny: List{"edit"},
			AlsoAllow: List{"datetime"}, DenyHard: List{"undo"}}, ""},
		{"nothing of the kind", Rules{Allow: List{"edit", "x*"}}, `allow[1]: "x*" names no tool that is registered`},
		{"deny of what is not allowed", Rules{Allow: List{"edit"}, Deny: List{"exec"}}, `deny[0]: "exec"` + dead +
			`allow does not name it anyway`},
		{"deny that is undone", Rules{Deny: List{"exec"}, AlsoAllow: List{"exec"}}, `deny[0]: "exec"` + dead +
			`also_allow adds it back; use deny_hard`},
		{"deny with exceptions", Rules{Deny: List{"group:fs"}, AlsoAllow: List{"edit"}}, ""},
		{"deny of what only also_allow adds", Rules{Allow: List{"edit"}, Deny: List{"exec"}, AlsoAllow: List{"exec"}},
			`deny[0]: "exec"` + dead + `also_allow adds it back; use deny_hard`},
		{"hard deny of nothing", Rules{Allow: List{"edit"}, DenyHard: List{"exec"}}, `deny_hard[0]: "exec"` + dead +
			`nothing allows it anyway`},
		{"hard deny of what an agent has", ada(Rules{Allow: List{"edit"}, DenyHard: List{"group:runtime"}},
			AgentRules{AlsoAllow: List{"powershell", "exec", "message"}}),
			`agents.ada.also_allow[0]: "powershell"` + dead + "deny_hard removes it permanently\n" +
				`warning agents.ada.also_allow[1]: "exec"` + dead + `deny_hard removes it permanently`},
		{"also_allow of what all have", Rules{AlsoAllow: List{"exec"}}, `also_allow[0]: "exec"` + dead +
			`all callers already have it in the profiles that these rules use`},
		{"also_allow for a provider", Rules{AlsoAllow: List{"exec"},
			ByProvider: map[string]ProviderRules{"acme": {Profile: "minimal"}}}, ""},
		{"also_allow in spite of a provider's list",
			Rules{AlsoAllow: List{"exec"}, ByProvider: map[string]ProviderRules{"acme": {Allow: List{"edit"}}}}, ""},
		{"also_allow in spite of an agent's list for a provider", ada(Rules{AlsoAllow: List{"exec"}},
			AgentRules{ByProvider: map[string]AgentProviderRules{"acme": {Allow: List{"edit"}}}}), ""},
		{"also_allow for a chat", Rules{AlsoAllow: List{"exec"},
			Groups: map[string]ChatRules{"1": {Allow: List{"edit"}}}}, ""},
		{"also_allow of what is gone for good", Rules{Profile: "minimal", AlsoAllow: List{"exec"},
			DenyHard: List{"exec"}},
			`also_allow[0]: "exec"` + dead + `deny_hard removes it permanently`},
		{"provider's allow", Rules{Allow: List{"edit"},
			ByProvider: map[string]ProviderRules{"acme": {Allow: List{"edit", "exec"}}}},
			`by_provider.acme.allow[1]: "exec"` + dead + `allow does not name it, and lists only narrow each other`},
		{"agent's deny", ada(Rules{Deny: List{"exec"}}, AgentRules{Deny: List{"exec"}}), `agents.ada.deny[0]: "exec"` +
			dead + `the agent is not allowed it anyway`},
		{"agent's deny, undone", ada(Rules{}, AgentRules{Deny: List{"exec"}, AlsoAllow: List{"exec"}}),
			`agents.ada.deny[0]: "exec"` + dead + `also_allow adds it back; use deny_hard`},
		{"agent's hard deny", ada(Rules{Allow: List{"edit"}}, AgentRules{DenyHard: List{"exec"}}),
			`agents.ada.deny_hard[0]: "exec"` + dead + `nothing allows it anyway`},
		{"agent's also_allow", ada(Rules{}, AgentRules{AlsoAllow: List{"exec"}}), `agents.ada.also_allow[0]: "exec"` +
			dead + `the agent has it already`},
		{"agent's also_allow repeats the global one",
			ada(Rules{Profile: "minimal", AlsoAllow: List{"exec"}}, AgentRules{AlsoAllow: List{"exec"}}),
			`agents.ada.also_allow[0]: "exec"` + dead + `the agent has it already`},
		{"profile narrows what its parent lacks", own(ProfileRules{Extends: "coding",
			Allow: List{"group:fs", "message"}}),
			`profiles.own.allow[1]: "message"` + dead + `profile "coding" does not hold it; also_allow would add it`},
		{"profile denies what it lacks", own(ProfileRules{Allow: List{"edit"}, Deny: List{"exec"}}),
			`profiles.own.deny[0]: "exec"` + dead + `the profile does not hold it anyway`},
		{"profile undoes its deny", own(ProfileRules{Extends: "full", Deny: List{"exec"}, AlsoAllow: List{"exec"}}),
			`profiles.own.deny[0]: "exec"` + dead + `also_allow adds it back; use deny_hard`},
		{"profile denies what only also_allow adds",
			own(ProfileRules{Allow: List{"edit"}, Deny: List{"exec"}, AlsoAllow: List{"exec"}}),
			`profiles.own.deny[0]: "exec"` + dead + `also_allow adds it back; use deny_hard`},
		{"profile adds what it has", own(ProfileRules{Extends: "coding", AlsoAllow: List{"edit"}}),
			`profiles.own.also_allow[0]: "edit"` + dead + `the profile holds it already`},
		{"profile adds what it denies", own(ProfileRules{Allow: List{"edit"}, AlsoAllow: List{"exec"},
			DenyHard: List{"exec"}}),
			`profiles.own.also_allow[0]: "exec"` + dead + `profiles.own.deny_hard removes it permanently`},
		{"profile beyond the rules", own(ProfileRules{Extends: "coding", Autonomy: Full}),
			`profiles.own.autonomy: "full"` + dead + `autonomy is supervised for all profiles`},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, usable := problemsOf(t, test.rules)
			if diff := cmp.Diff(test.want, strings.TrimPrefix(got, "warning ")); diff != "" {
				t.Error(diff)
			}
			if !usable {
				t.Error("a warning stopped the start")
			}
		})
	}
}
