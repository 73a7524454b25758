package app

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/config"
	"github.com/mcp-tools/mcp-tools/policy"
)

func catalogue() policy.Catalogue {
	return policy.NewCatalogue([]policy.Tool{
		{Name: "datetime", Group: "automation", Risk: policy.Reads},
		{Name: "session_status", Group: "sessions", Risk: policy.Reads},
		{Name: "read_result", Group: "results", Risk: policy.Reads},
	})
}

// write writes text to a new settings file.
func write(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func mustLoad(t *testing.T, path string) *Loaded {
	t.Helper()
	l, err := SettingsReader().Load(config.LoadOptions{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func examine(o config.LoadOptions) (l *Loaded, rules *policy.Policy, warnings config.Problems, err error) {
	l, warnings, err = SettingsReader().Examine(o, func(l *Loaded) (found config.Problems) {
		rules, found = PolicyOf(l, catalogue())
		return found
	})
	if err != nil {
		rules = nil
	}
	return l, rules, warnings, err
}

func TestPolicyProblemsHaveTheirPlace(t *testing.T) {
	hash := strings.Repeat("0f", 32)
	for _, test := range []struct{ name, text, want string }{
		{"profile of stdio", "connections:\n  stdio:\n    profile: codin", "3: connections.stdio.profile: "},
		{"profile of a token", "connections:\n  tokens:\n    a:\n      hash: " + hash + "\n      profiles:\n      - full\n      - fulle", "7: connections.tokens.a.profiles[1]: "},
		{"profile of a scope", "connections:\n  oauth:\n    issuer: https://a.example\n    audience: x\n    scopes:\n      tools.read: [readonl]", `6: connections.oauth.scopes."tools.read"[0]: `},
		{"profile of a sandbox", "sandbox:\n  profiles: {codding: host}", "2: sandbox.profiles.codding: "},
		{"profile of a credential", "web:\n  credentials:\n    a: {hosts: [a.example], secret: secret:a, profiles: [coding, codin]}", "3: web.credentials.a.profiles[1]: "},
		{"default profile", "policy:\n  profile: fulle", "2: policy.profile: "},
		{"tool", "policy:\n  allow:\n  - datetime\n  - datetim", "4: policy.allow[1]: "},
		{"agent with a dot", "policy:\n  agents:\n    a.b:\n      deny: [datetim]", `4: policy.agents."a.b".deny[0]: `},
	} {
		t.Run(test.name, func(t *testing.T) {
			l := mustLoad(t, write(t, test.text))
			rules, problems := PolicyOf(l, catalogue())
			if rules != nil || len(problems) == 0 {
				t.Fatalf("rules %v, problems %v", rules, problems)
			}
			if got := problems[0].String(); !strings.HasPrefix(got, l.Path+":"+test.want) {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}

func TestRulesOfTheExample(t *testing.T) {
	l := mustLoad(t, write(t, string(ExampleSettings())))
	if rules, problems := PolicyOf(l, catalogue()); rules == nil || len(problems) > 0 {
		t.Errorf("problems %v", problems)
	}
}

func TestDeadRulesAreWarnings(t *testing.T) {
	l := mustLoad(t, write(t, "policy:\n  deny: ['group:media_gen']\n"))
	rules, problems := PolicyOf(l, catalogue())
	if rules == nil || len(problems) != 1 || !problems[0].Warning {
		t.Errorf("rules %v, problems %v", rules, problems)
	}
}

func TestExamineFindsAllMistakesAtOnce(t *testing.T) {
	for _, test := range []struct {
		name, text string
		want       []string // of each problem, the beginning
	}{
		{"elsewhere and in the rules", "limits: {calls_per_minute: many}\npolicy: {allow: [datetim]}", []string{"1: limits.calls_per_minute: ", "2: policy.allow[0]: "}},
		{"two that do not go together", "server: {tls_cert: a.pem}\npolicy: {deny: [datetim]}", []string{"1: server.tls_cert: ", "2: policy.deny[0]: "}},
		{"a profile of stdio", "limits: {calls_per_minute: many}\nconnections: {stdio: {profile: codin}}", []string{"1: limits.calls_per_minute: ", "2: connections.stdio.profile: "}},
		{"twice in the rules", "policy: {autonomi: full, deny: [datetim]}", []string{"1: policy.autonomi: ", "1: policy.deny[0]: "}},
		{"only in the rules", "policy: {deny: [datetim]}", []string{"1: policy.deny[0]: "}},
		{"only elsewhere, and a dead rule", "limits: {calls_per_minute: many}\npolicy: {deny: ['group:media_gen']}", []string{"1: limits.calls_per_minute: "}},
		{"no YAML", "policy: {deny: [datetim]\nlimits: [", []string{"1: not YAML"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			path := write(t, test.text)
			l, rules, warnings, err := examine(
				config.LoadOptions{Path: path, Overrides: map[string]string{"policy.autonomy": "full"}},
			)
			var problems config.Problems
			if l != nil || rules != nil || warnings != nil || !errors.As(err, &problems) ||
				len(problems) != len(test.want) {
				t.Fatalf("got %v, warnings %v; want %d problems", err, warnings, len(test.want))
			}
			for i, want := range test.want {
				if got := problems[i].String(); !strings.HasPrefix(got, path+":"+want) {
					t.Errorf("got %s, want %s", got, want)
				}
			}
		})
	}
}

func TestExamineOfSoundSettings(t *testing.T) {
	l, rules, warnings, err := examine(config.LoadOptions{Path: write(t, "policy:\n  deny: ['group:media_gen']\n")})
	if err != nil || l == nil || rules == nil || len(warnings) != 1 || !warnings[0].Warning {
		t.Errorf("rules %v, warnings %v, error %v", rules, warnings, err)
	}
	if _, _, _, err := examine(
		config.LoadOptions{Path: filepath.Join(t.TempDir(), "none")},
	); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}
}

// TestRulesOfBoundChats checks that a binding gives its chat tools and writers, which the policy can have instead.
func TestRulesOfBoundChats(t *testing.T) {
	l := mustLoad(t, write(t, `messaging:
  channels: {telegram: {token: secret:tg}}
  bindings:
  - {chat: "telegram:-100", tools: [datetime], writers: ["4711"]}
  - {chat: "telegram:-200", tools: [datetime]}
  - {chat: "telegram:-300:topic:7", tools: [session_status]}
policy:
  groups: {"telegram:-200": [read_result]}
`))
	rules, problems := PolicyOf(l, catalogue())
	if rules == nil {
		t.Fatal(problems)
	}
	for _, test := range []struct {
		chat, tool string
		want       policy.Verdict
	}{
		{"telegram:-100", "datetime", policy.Allow}, {"telegram:-100", "session_status", policy.Deny},
		{"telegram:-200", "datetime", policy.Deny},
		{"telegram:-200", "read_result", policy.Allow}, {"telegram:-300", "datetime", policy.Allow},
	} {
		if got := rules.Verdict(policy.Subject{Group: test.chat, InGroup: true}, test.tool); got != test.want {
			t.Errorf("%s in %s: %s", test.tool, test.chat, got)
		}
	}
	if _, listed := l.Config.Policy.Groups["telegram:-100"]; listed {
		t.Error("the settings have changed")
	}
}

func TestMessagingMistakes(t *testing.T) {
	for text, want := range map[string]string{
		"approvers: {ann: [\"telegram:*\"]}":                       "an approver is one person",
		"approvers: {ann: [\"slack:U1\"]}":                         `no channel "slack"`,
		"notify: [{to: [\"telegram:*\"]}]":                         "name one chat",
		"notify: [{to: [\"slack:C1\"]}]":                           `no channel "slack"`,
		"notify: [{to: [\"telegram:1\"], events: [task_over]}]":    "task_done",
		"quiet_hours: {from: \"22:00\", to: \"07:00\", zone: X/Y}": "no time zone",
		"quiet_hours: {from: \"22:00\"}":                           "set both",
	} {
		_, err := SettingsReader().Load(config.LoadOptions{Path: write(t, "messaging:\n  channels: {telegram: {token: secret:tg}}\n  "+text)})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// TestChannelMistakes checks that a channel needs what its service says.
func TestChannelMistakes(t *testing.T) {
	for channels, want := range map[string]string{
		"{telegram: {}}":                       "channels.telegram.token",
		"{home: {token: env:A}}":               "channels.home.kind",
		"{work: {kind: lark, token: env:A}}":   "channels.work.app_id",
		"{webhook: {}}":                        "channels.webhook.url",
		"{mail: {smtp: mail.example.org:587}}": "channels.mail.from",
		"{mail: {from: a@example.org}}":        "channels.mail.smtp",
		"{work: {kind: pigeon, token: env:A}}": "pigeon",
		"{telegram: {token: env:A}, ntfy: {}}": "",
	} {
		_, err := SettingsReader().Load(config.LoadOptions{Path: write(t, "messaging:\n  channels: "+channels)})
		if (err != nil) != (want != "") || want != "" && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", channels, err)
		}
	}
}
