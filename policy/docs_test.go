package policy

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// manual reads the page for operators, which must not lag behind.
func manual(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../docs/policy.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

var quoted = regexp.MustCompile("`([^`]+)`")

// row returns the words in backquotes of the table row that begins with name.
func row(t *testing.T, text, name string) []string {
	t.Helper()
	for line := range strings.Lines(text) {
		first, rest, _ := strings.Cut(strings.TrimPrefix(line, "| "), "|")
		if strings.HasPrefix(line, "| ") && strings.HasPrefix(first, "`"+name+"`") {
			var words []string
			for _, match := range quoted.FindAllStringSubmatch(rest, -1) {
				words = append(words, match[1])
			}
			return words
		}
	}
	t.Errorf("the page has no row for %q", name)
	return nil
}

func TestManualListsGroupsAndProfiles(t *testing.T) {
	_, groups, _ := strings.Cut(manual(t), "## Groups")
	groups, _, _ = strings.Cut(groups, "\n## ")
	for _, name := range append(builtinGroups, groupNative, Bridged) {
		if !strings.Contains(groups, "`"+name+"`") {
			t.Errorf("the page lacks group %s", name)
		}
	}
	_, profiles, _ := strings.Cut(manual(t), "## Profiles")
	profiles, _, _ = strings.Cut(profiles, "\n## ")
	for _, b := range builtinProfiles {
		want := slices.Clone(b.rules.Allow)
		if b.rules.Autonomy != "" {
			want = append(want, string(b.rules.Autonomy))
		}
		if diff := cmp.Diff([]string(want), row(t, profiles, b.name)); diff != "" {
			t.Errorf("profile %s:\n%s", b.name, diff)
		}
	}
	_, subagents, _ := strings.Cut(manual(t), "## Subagents")
	for _, name := range slices.Concat(subagentDeny, leafDeny) {
		if !strings.Contains(subagents, "`"+name+"`") {
			t.Errorf("the page does not say that subagents are denied %s", name)
		}
	}
}

// example are the rules that the page shows as YAML.
func example() Rules {
	return Rules{
		Profile: "coding", Autonomy: Supervised,
		Deny: List{"group:runtime", "web_search"}, AlsoAllow: List{"exec"}, DenyHard: List{"credentialed_exec"},
		Profiles: map[string]ProfileRules{"reviewer": {Extends: "readonly",
			Deny: List{"group:memory"}}},
		ByProvider: map[string]ProviderRules{"local-model": {Profile: "lean"}},
		Agents: map[string]AgentRules{"researcher": {Allow: List{"group:web", "group:fs", "group:results"},
			AlsoAllow: List{"web_search"}}},
		Groups: map[string]List{"telegram:-100123": List{"group:web"}},
	}
}

func TestManualExplainsItsExample(t *testing.T) {
	p, problems := Compile(example(), NewCatalogue(suite()))
	for _, problem := range problems {
		t.Errorf("the example has a problem: %s", problem)
	}
	if p == nil {
		return
	}
	_, got, _ := strings.Cut(manual(t), "$ mcp-tools policy explain exec --profile coding --agent researcher\n")
	got, _, _ = strings.Cut(got, "```")
	if diff := cmp.Diff(p.Explain(Subject{Profile: "coding", Agent: "researcher"}, "exec").String(), got); diff != "" {
		t.Error(diff)
	}
}

func TestManualShowsAutonomy(t *testing.T) {
	text := manual(t)
	for _, level := range []Autonomy{ReadOnly, Supervised, Full} {
		cells := "| `" + string(level) + "` |"
		p := compile(t, Rules{Autonomy: level})
		for _, name := range []string{"read_file", "edit", "write_file", "exec"} {
			cells += " " + p.Verdict(Subject{}, name).String() + " |"
		}
		if !strings.Contains(text, cells+"\n") {
			t.Errorf("the page lacks the row %s", cells)
		}
	}
}
