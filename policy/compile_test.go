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
		lines = append(lines, problem.String())
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
				ByProvider: map[string]List{"x.ai": List{"editt"}},
			}}},
			`agents."a b".by_provider."x.ai"[0]: there is no tool "editt"; did you mean "edit"?`},
		{"chat's list", Rules{Groups: map[string]List{"-100:7": List{"editt"}}},
			`groups.-100:7[0]: there is no tool "editt"; did you mean "edit"?`},
		{"built-in profile", Rules{Profiles: map[string]ProfileRules{"full": {Allow: List{"*"}}}},
			`profiles.full: profile "full" is built in; give yours another name and let it extend this one`},
		{"profile of nothing", own(ProfileRules{Deny: List{"exec"}}),
			`profiles.own: a profile needs extends or allow; to start from every tool write extends: full`},
		{"profile's name", Rules{Profiles: map[string]ProfileRules{"a/b": {Extends: "full"}}},
			`profiles.a/b: the name of a profile is part of a URL: lower-case letters, digits, - and _, at most 32`},
		{"profile's parent", own(ProfileRules{Extends: "owm"}),
			`profiles.own.extends: there is no profile "owm"; did you mean "own"?`},
		{"profile's list", own(ProfileRules{Extends: "full", Deny: List{"editt"}}),
			`profiles.own.deny[0]: there is no tool "editt"; did you mean "edit"?`},
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
			if diff := cmp.Diff(test.want, got); diff != "" {
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
	if n := 1 + strings.Count(got, "\n"); n != 4 {
		t.Errorf("%d errors, want 4:\n%s", n, got)
	}
}

// TestNamesWithoutToolsAreNotErrors checks groups without tools, and tools of
// servers that are not connected.
func TestNamesWithoutToolsAreNotErrors(t *testing.T) {
	rules := Rules{Deny: List{"group:agents", "group:goclaw", "hub__x", "x_*", "group:mcp", "mcp:hub", "mcp:*"}}
	p, problems := Compile(rules, NewCatalogue(nil))
	if p == nil {
		t.Fatalf("%v", problems)
	}
	for i, problem := range problems {
		if want := "deny[" + string(rune('0'+i)) + "]"; !problem.Warning || problem.Path != want {
			t.Errorf("problem %d is %+v", i, problem)
		}
	}
	if want := len(rules.Deny) - 3; len(problems) != want { // servers may be added later
		t.Errorf("%d problems, want one for each of %d entries", len(problems), want)
	}
}
