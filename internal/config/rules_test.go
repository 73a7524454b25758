package config

import (
	"strings"
	"testing"

	"github.com/mcp-tools/mcp-tools/policy"
	"github.com/mcp-tools/mcp-tools/tools"
)

func catalogue() policy.Catalogue {
	return policy.NewCatalogue([]tools.Spec{
		{Name: "datetime", Group: "automation", Risk: tools.Reads, Doc: "the time"},
		{Name: "session_status", Group: "sessions", Risk: tools.Reads, Doc: "how it stands"},
		{Name: "read_result", Group: "results", Risk: tools.Reads, Doc: "reads on"},
	})
}

func TestPolicyProblemsHaveTheirPlace(t *testing.T) {
	hash := strings.Repeat("0f", 32)
	for _, test := range []struct{ name, text, want string }{
		{"profile of stdio", "connections:\n  stdio:\n    profile: codin", "3: connections.stdio.profile: "},
		{"profile of a token", "connections:\n  tokens:\n  - name: a\n    hash: " + hash + "\n    profiles:\n    - full\n    - fulle", "7: connections.tokens[0].profiles[1]: "},
		{"profile of a scope", "connections:\n  oauth:\n    issuer: https://a.example\n    audience: x\n    scopes:\n      tools.read: [readonl]", `6: connections.oauth.scopes."tools.read"[0]: `},
		{"default profile", "policy:\n  profile: fulle", "2: policy.profile: "},
		{"tool", "policy:\n  allow:\n  - datetime\n  - datetim", "4: policy.allow[1]: "},
		{"agent with a dot", "policy:\n  agents:\n    a.b:\n      deny: [datetim]", `4: policy.agents."a.b".deny[0]: `},
	} {
		t.Run(test.name, func(t *testing.T) {
			l := mustLoad(t, write(t, test.text))
			rules, problems := l.Policy(catalogue())
			if rules != nil || len(problems) == 0 {
				t.Fatalf("rules %v, problems %v", rules, problems)
			}
			if got := problems[0].String(); !strings.HasPrefix(got, l.Path+":"+test.want) {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}

func TestTheExampleHasSoundRules(t *testing.T) {
	l := mustLoad(t, write(t, example))
	if rules, problems := l.Policy(catalogue()); rules == nil || len(problems) > 0 {
		t.Errorf("problems %v", problems)
	}
}

func TestDeadRulesAreWarnings(t *testing.T) {
	l := mustLoad(t, write(t, "policy:\n  deny: ['group:media_gen']\n"))
	rules, problems := l.Policy(catalogue())
	if rules == nil || len(problems) != 1 || !problems[0].Warning {
		t.Errorf("rules %v, problems %v", rules, problems)
	}
}
