package policy

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/golden"
)

// TestGoldenProfiles shows what each profile gives under supervision.
func TestGoldenProfiles(t *testing.T) {
	p := compile(t, Rules{})
	var b strings.Builder
	for _, profile := range p.Profiles() {
		fmt.Fprintf(&b, "# %s: %s (%s, %d tools)\n", profile.Name, profile.Doc, profile.Autonomy, len(profile.Tools))
		for _, name := range profile.Tools {
			s := spec(t, name)
			fmt.Fprintf(&b, "%-26s %-8s %s\n", name, s.Risk, p.Verdict(Subject{Profile: profile.Name}, s.Name))
		}
		b.WriteByte('\n')
	}
	golden.Check(t, filepath.Join("testdata", "profiles.golden"), []byte(b.String()))
}

// explained are rules that make every step speak.
func explained() (Rules, Subject) {
	return Rules{
			Profile:   "coding",
			Allow:     List{"group:fs", "group:runtime", "read_*"},
			Deny:      List{"group:runtime"},
			DenyHard:  List{"credentialed_exec"},
			AlsoAllow: List{"bash", "credentialed_exec"},
			Profiles: map[string]ProfileRules{
				"base": {Extends: "coding", Deny: List{"glob"}},
				"own":  {Extends: "base", AlsoAllow: List{"message"}},
			},
			ByProvider: map[string]ProviderRules{"acme": {Profile: "coding", Allow: List{"*"}}},
			Agents: map[string]AgentRules{"ada": {
				Allow: List{"*"}, Deny: List{"search"}, AlsoAllow: List{"message"},
				ByProvider: map[string]List{"acme": List{"group:goclaw"}}}},
			Groups: map[string]List{"chat-1": List{"group:goclaw"}},
		}, Subject{
			Profile: "own", Agent: "ada", Provider: "acme", Group: "chat-1", Depth: 1, Leaf: true,
			Narrow: Narrow{Exclude: []string{"edit"}},
		}
}

func TestGoldenExplain(t *testing.T) {
	rules, busy := explained()
	p := compile(t, rules)
	var b strings.Builder
	show := func(title string, s Subject, tools ...string) {
		for _, name := range tools {
			fmt.Fprintf(&b, "# %s\n%s\n", title, p.Explain(s, name))
		}
	}
	show("every list speaks", busy, "read_file", "exec", "message", "glob", "undo", "history", "search", "edit")
	show("a caller without attributes", Subject{}, "read_file", "exec", "credentialed_exec")
	show("the provider's profile instead of the default", Subject{Provider: "acme"}, "read_file")
	show("reads only", Subject{Narrow: Narrow{ReadOnly: true}}, "read_file", "edit")
	show("capped by the profile", Subject{Profile: "readonly"}, "exec")
	show("no such profile", Subject{Profile: "codign"}, "read_file")
	fmt.Fprintf(&b, "# no such tool\n%s", p.Explain(Subject{}, "gone"))
	golden.Check(t, filepath.Join("testdata", "explain.golden"), []byte(b.String()))
}

func TestDecisionAsJSON(t *testing.T) {
	d := Decision{Tool: "exec", Verdict: Ask, Steps: []Step{{"autonomy", Asks, "so"}}}
	got, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"tool":"exec","verdict":"ask","steps":[{"name":"autonomy","effect":"asks","why":"so"}]}`; string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
