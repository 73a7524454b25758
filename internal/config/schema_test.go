package config_test

import (
	"bytes"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"

	"github.com/mcp-tools/mcp-tools/cmd/mcp-tools/app"
	"github.com/mcp-tools/mcp-tools/internal/config"
	"github.com/mcp-tools/mcp-tools/internal/golden"
)

func TestGoldenReference(t *testing.T) {
	for name, text := range map[string][]byte{
		"configuration.md":   config.Reference(app.SettingsReader(), app.ExampleSettings()),
		"config.schema.json": app.SettingsReader().Schema(),
	} {
		golden.Check(t, filepath.Join("..", "..", "docs", name), text)
	}
}

func compiled(t *testing.T) *jsonschema.Schema {
	t.Helper()
	text, err := jsonschema.UnmarshalJSON(bytes.NewReader(app.SettingsReader().Schema()))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("config.schema.json", text); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile("config.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

// asJSON is a YAML text as an editor's schema checker sees it.
func asJSON(t *testing.T, text string) any {
	t.Helper()
	var root yaml.Node
	if err := yaml.Unmarshal([]byte(text), &root); err != nil {
		t.Fatal(err)
	}
	return plain(t, &root)
}

func plain(t *testing.T, n *yaml.Node) any {
	switch n.Kind {
	case yaml.DocumentNode:
		return plain(t, n.Content[0])
	case yaml.MappingNode:
		object := make(map[string]any)
		for i := 0; i < len(n.Content); i += 2 {
			object[n.Content[i].Value] = plain(t, n.Content[i+1])
		}
		return object
	case yaml.SequenceNode:
		list := []any{}
		for _, item := range n.Content {
			list = append(list, plain(t, item))
		}
		return list
	}
	if n.ShortTag() == "!!timestamp" {
		return n.Value
	}
	var word any
	if err := n.Decode(&word); err != nil {
		t.Fatal(err)
	}
	return word
}

// TestEditorsAndLoadAgree: what a schema can say, both say. What only Load can
// see is marked; never does the schema refuse what Load takes.
func TestEditorsAndLoadAgree(t *testing.T) {
	schema := compiled(t)
	hash := strings.Repeat("0f", 32)
	const onlyLoad = true
	for _, test := range []struct {
		text   string
		good   bool
		unseen bool
	}{
		{"server:\nlimits: {}", true, false},
		{"server: {http: ''}", true, false},
		{"server: {http: '[::1]:80', sse: true, public_url: 'https://a.example/mcp', allowed_hosts: ['a.example:1', 'vscode-webview://abc']}", true, false},
		{"approvals: {timeout: 1m30s}", true, false},
		{"workspace: {history_bytes: 1GiB}\nlimits: {result: 65536}", true, false},
		{"connections: {tokens: {a: {hash: " + hash + ", profiles: ['*']}}}", true, false},
		{"connections: {oauth: {issuer: 'https://a.example', audience: x, scopes: {'a:b': [c]}}}", true, false},
		{"connections: {stdio: {profile: coding, workspace: sub/dir}}", true, false},
		{"policy: {autonomy: full, allow: [], profiles: {a: {extends: coding, deny: [exec]}}, groups: {-100: [exec]}}", true, false},
		{"policy: {agents: {a: {by_provider: {b: [c]}}}}", true, false},
		{"scrub: {values: ['env:A', 'file:/b'], rules: {a: b}, allow: ['re:^a$']}", true, false},
		{"telemetry: {otlp_endpoint: 'http://127.0.0.1:4318', otlp_headers: {Authorization: 'env:A'}}", true, false},
		{"audit: {max_age: 30d}", true, false},

		{"sever: {}", false, false},
		{"limits: {calls_per_minut: 1}", false, false},
		{"limits: []", false, false},
		{"limits: {calls_per_minute: '1'}", false, false},
		{"limits: {calls_per_minute: 0}", false, false},
		{"limits: {calls_per_minute: 1.5}", false, false},
		{"approvals: {timeout: 30}", false, false},
		{"approvals: {timeout: ''}", false, false},
		{"approvals: {timeout: 30 s}", false, false},
		{"approvals: {timeout: 2d}", false, onlyLoad},
		{"limits: {result: 5MB}", false, false},
		{"limits: {result: 1}", false, false},
		{"limits: {result: 1B}", false, onlyLoad},
		{"server: {sse: yes}", false, false},
		{"server: {sse: }", false, false},
		{"server: {http: localhost}", false, false},
		{"server: {http: ':99999'}", false, onlyLoad},
		{"server: {allowed_hosts: ['']}", false, false},
		{"server: {allowed_hosts: ['https://a/']}", false, false},
		{"server: {tls_cert: a}", false, onlyLoad},
		{"connections: {tokens: {a: {}}}", false, false},
		{"connections: {tokens: {a: ~}}", false, false},
		{"connections: {tokens: {a: {hash: " + hash + "0, profiles: [x]}}}", false, false},
		{"connections: {tokens: {a: {hash: " + hash + ", profiles: []}}}", false, false},
		{"connections: {tokens: {a b: {hash: " + hash + ", profiles: [x]}}}", false, false},
		{"connections: {oauth: {issuer: 'https://a.example', audience: x, scopes: {'a b': [c]}}}", false, false},
		{"policy: {autonomy: most}", false, false},
		{"policy: {allow: exec}", false, false},
		{"policy: {allow: }", false, false},
		{"policy: {agents: }", false, false},
		{"policy: {deny: [no, true]}", false, false},
		{"policy: {profiles: {a: {extend: b}}}", false, false},
		{"scrub: {values: [plain]}", false, false},
		{"scrub: {values: ['secret:a']}", true, false},
		{"scrub: {values: ['secret:']}", false, false},
		{"scrub: {values: ['secret:a/b']}", false, false},
		{"vault: {key_from: keyring}", true, false},
		{"vault: {key_from: drawer}", false, false},
		{"vault: {key: " + hash + "}", false, false},
		{"scrub: {rules: [a]}", false, false},
		{"scrub: {rules: {a: '('}}", false, onlyLoad},
		{"telemetry: {sample: 2}", false, false},
		{"telemetry: {log_level: loud}", false, false},
		{"telemetry: {otlp_endpoint: 'ftp://a'}", false, false},
		{"telemetry: {otlp_headers: {'a b': 'env:A'}}", false, false},
	} {
		_, err := app.SettingsReader().Load(config.LoadOptions{Path: config.WriteSettings(t, test.text)})
		if (err == nil) != test.good {
			t.Errorf("%s: Load says %v", test.text, err)
		}
		invalid := schema.Validate(asJSON(t, test.text))
		if (invalid == nil) != (test.good || test.unseen) {
			t.Errorf("%s: the schema says %v", test.text, invalid)
		}
	}
}

func TestTheExampleLoads(t *testing.T) {
	schema := compiled(t)
	marked := regexp.MustCompile(`(?m)^( +)# `)
	example := string(app.ExampleSettings())
	whole := marked.ReplaceAllString(example, "$1")
	if whole == example {
		t.Fatal("the example has no marked lines")
	}
	for _, text := range []string{example, whole} {
		l, err := app.SettingsReader().Load(config.LoadOptions{Path: config.WriteSettings(t, text), Getenv: config.FakeEnvironment("HOME", "/home/ann")})
		if err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(asJSON(t, text)); err != nil {
			t.Error(err)
		}
		if l.Config.Limits.CallsPerMinute != 600 {
			t.Error("the example was not read")
		}
	}
}
