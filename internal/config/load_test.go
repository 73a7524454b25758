package config_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mcp-tools/mcp-tools/cmd/mcp-tools/app"
	"github.com/mcp-tools/mcp-tools/internal/config"
)

func TestWithoutAFileEverythingHasItsDefault(t *testing.T) {
	l, err := app.SettingsReader().Load(config.LoadOptions{Getenv: config.FakeEnvironment("HOME", t.TempDir())})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(app.SettingsReader().Default(), l.Config); diff != "" {
		t.Error(diff)
	}
	c := l.Config
	if c.Approvals.Timeout != 2*time.Minute || c.Limits.Result != 100<<10 ||
		!c.Scrub.ServerAddresses || c.Policy.Autonomy != "supervised" {
		t.Errorf("the defaults are not what is declared: %+v", c)
	}
	if c.Policy.Allow != nil {
		t.Error("an allow list that is not set must be absent, not empty")
	}
	if l.Path != "" || l.Source["limits.calls_per_minute"] != "default" {
		t.Errorf("path %q, source %q", l.Path, l.Source["limits.calls_per_minute"])
	}
}

func TestEmptyFilesSayNothing(t *testing.T) {
	for _, text := range []string{"", "\n", "# nothing yet\n", "---\n", "server:\npolicy:\n  # allow: []\n", "~\n",
		"\ufeff# marked\n"} {
		l, err := app.SettingsReader().Load(config.LoadOptions{Path: config.WriteSettings(t, text)})
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		if diff := cmp.Diff(app.SettingsReader().Default(), l.Config); diff != "" {
			t.Errorf("%q: %s", text, diff)
		}
	}
}

func TestProblems(t *testing.T) {
	hash := strings.Repeat("a1", 32)
	for _, test := range []struct{ name, text, want string }{
		{"unknown section", "sever: {}", "1: sever: no such setting; did you mean server?"},
		{"unknown name", "limits:\n  calls_per_minut: 3", "2: limits.calls_per_minut: no such setting; did you mean calls_per_minute?"},
		{"name of another section", "telemetry:\n  tls_cert: x",
			"2: telemetry.tls_cert: no such setting; did you mean server.tls_cert?"},
		{"far from everything", "approvals:\n  qqqqqqqq: 1",
			"2: approvals.qqqqqqqq: no such setting; accepted: timeout, wait, desktop"},
		{"unknown name in a list", "connections:\n  tokens:\n    a: {hash: " + hash + ", profiles: [x], agnt: b}",
			"3: connections.tokens.a.agnt: no such setting; did you mean agent?"},
		{"set twice", "limits:\n  calls_per_minute: 1\n  calls_per_minute: 2", "3: limits.calls_per_minute: set twice, first in line 2; keep one"},
		{"section twice", "limits: {}\nlimits: {}", "2: limits: set twice, first in line 1; keep one"},
		{"text for a number", "limits:\n  calls_per_minute: many",
			"2: limits.calls_per_minute: this is text; accepted: a whole number from 1 to 1000000"},
		{"fraction", "limits:\n  calls_per_minute: 1.5",
			"2: limits.calls_per_minute: this is a number; accepted: a whole number from 1 to 1000000"},
		{"octal", "limits:\n  calls_per_minute: 0o17",
			`2: limits.calls_per_minute: "0o17" is not a whole number; accepted: a whole number from 1 to 1000000`},
		{"too small", "limits:\n  calls_per_minute: 0",
			"2: limits.calls_per_minute: 0 is out of bounds; accepted: a whole number from 1 to 1000000"},
		{"too large", "approvals:\n  timeout: 2d",
			"2: approvals.timeout: 2d is out of bounds; accepted: a duration such as 30s, 5m or 1d12h from 1s to 1d"},
		{"negative", "limits:\n  result: -1",
			`2: limits.result: "-1": not a size; accepted: a size such as 512B, 100KiB or 5MiB from 1KiB to 10MiB`},
		{"decimal unit", "limits:\n  result: 5MB",
			`2: limits.result: "5MB": not a size; accepted: a size such as 512B, 100KiB or 5MiB from 1KiB to 10MiB`},
		{"no unit", "approvals:\n  timeout: 30",
			`2: approvals.timeout: "30": not a duration; accepted: a duration such as 30s, 5m or 1d12h from 1s to 1d`},
		{"yes", "scrub:\n  server_addresses: yes", "2: scrub.server_addresses: this is text; accepted: true or false"},
		{"unknown word", "telemetry:\n  log_level: wrn",
			`2: telemetry.log_level: "wrn" is unknown (did you mean warn?); accepted: one of debug, info, warn, error`},
		{"far word", "approvals:\n  wait: perhaps",
			`2: approvals.wait: "perhaps" is unknown; accepted: one of attended, always, never`},
		{"word of the policy", "policy:\n  autonomy: fulll",
			`2: policy.autonomy: "fulll" is unknown (did you mean full?); accepted: one of readonly, supervised, full`},
		{"one for a list", "policy:\n  allow: read_file", "2: policy.allow: this is text; accepted: a list, each text"},
		{"nothing for a list", "policy:\n  allow:", "2: policy.allow: this is nothing; accepted: a list, each text"},
		{"nothing in a list", "policy:\n  allow: [a, ]\n  deny: [~]",
			"3: policy.deny[0]: this is nothing; accepted: text"},
		{"false in a list", "policy:\n  deny: [exec, false]",
			"2: policy.deny[1]: this is true or false; accepted: text"},
		{"number in a list", "policy:\n  deny: [1]", "2: policy.deny[0]: this is a number; accepted: text"},
		{"empty in a list", "policy:\n  deny: ['']", "2: policy.deny[0]: this is empty; accepted: text"},
		{"list for a section", "policy: [x]", "1: policy: this is a list; accepted: a map"},
		{"text for the file", "hello", "1: this is text; accepted: a map"},
		{"list for a map", "policy:\n  agents: [x]", "2: policy.agents: this is a list; accepted: a map"},
		{"map for a name", "? {a: b}\n: c", "1: a name in a map is one word, here it is a map"},
		{"literal secret", "scrub:\n  values: [hunter2hunter2]",
			"2: scrub.values[0]: this is not accepted; accepted: a reference to a secret: secret:NAME, env:NAME, file:PATH or command:PROGRAM ARGUMENTS"},
		{"vault", "scrub:\n  values: ['secret:de ploy']",
			"2: scrub.values[0]: this is not accepted; accepted: a reference to a secret: secret:NAME, env:NAME, file:PATH or command:PROGRAM ARGUMENTS"},
		{"token for a hash", "connections:\n  tokens:\n    ci:\n      hash: hunter2hunter2\n      profiles: [x]",
			"4: connections.tokens.ci.hash: this is not accepted; accepted: the SHA-256 of the token: 64 hexadecimal digits"},
		{"missing", "connections:\n  tokens:\n    ci:\n      hash: " + hash,
			"4: connections.tokens.ci: profiles is missing; accepted: a list, each up to 256 characters on one line"},
		{"empty and required", "connections:\n  tokens:\n    ci: {hash: " + hash + ", profiles: []}",
			"3: connections.tokens.ci.profiles: this is empty; accepted: a list, each up to 256 characters on one line"},
		{"two agents", "agents:\n  a: {}\n  a: {kind: predefined}", "3: agents.a: set twice, first in line 2; keep one"},
		{"another kind", "agents:\n  a: {kind: closed}",
			`2: agents.a.kind: "closed" is unknown; accepted: one of open, predefined, evolving`},
		{"two of a hash", "connections:\n  tokens:\n    a: {hash: " + hash +
			", profiles: [x]}\n    b: {hash: " + strings.ToUpper(hash) + ", profiles: [x]}",
			"4: connections.tokens.b.hash: a has the same token"},
		{"address without a port", "server:\n  http: localhost",
			`2: server.http: "localhost": not of the right form; accepted: an address such as 127.0.0.1:8080, or :8080 for all interfaces`},
		{"port alone", "server:\n  http: 8080",
			"2: server.http: this is a number; accepted: an address such as 127.0.0.1:8080, or :8080 for all interfaces"},
		{"port too large", "server:\n  http: ':70000'",
			`2: server.http: ":70000": the port is not below 65536; accepted: an address such as 127.0.0.1:8080, or :8080 for all interfaces`},
		{"origin with a path", "server:\n  allowed_hosts: [https://a.example/]",
			`2: server.allowed_hosts[0]: "https://a.example/": not of the right form; accepted: a host name such as mcp.example.com, with or without a port, or an origin such as https://app.example.com, without a path`},
		{"URL with a password", "telemetry:\n  otlp_endpoint: https://me:hunter2@host/",
			"2: telemetry.otlp_endpoint: this is not accepted; accepted: a URL such as https://host/path, without a password"},
		{"another proxy", "web:\n  proxy: ftp://host:21",
			"2: web.proxy: this is not accepted; accepted: a URL such as http://host:3128 or socks5://host:1080, without a password"},
		{"proxy with a password", "web:\n  proxy: socks5://me:hunter2@host:1080",
			"2: web.proxy: this is not accepted; accepted: a URL such as http://host:3128 or socks5://host:1080, without a password"},
		{"inside without a port", "web:\n  private: [wiki.corp]",
			`2: web.private[0]: "wiki.corp": not of the right form; accepted: a host with its port, such as wiki.corp:8080`},
		{"bad pattern", "scrub:\n  rules:\n    a: '('",
			"3: scrub.rules.a: \"(\": error parsing regexp: missing closing ): `(`; accepted: a regular expression (RE2)"},
		{"bad exception", "scrub:\n  allow: ['re:(']",
			"2: scrub.allow[0]: \"re:(\": error parsing regexp: missing closing ): `(`; accepted: text, or a regular expression (RE2) after re:"},
		{"bad header", "telemetry:\n  otlp_headers: {'a b': 'env:X'}",
			`2: telemetry.otlp_headers: "a b" is not the name of a header`},
		{"certificate alone", "server:\n  tls_cert: a.pem",
			"2: server.tls_cert: a certificate and its key go together; set both tls_cert and tls_key, or neither"},
		{"one address for two", "server:\n  http: :80\n  metrics: :80",
			"3: server.metrics: this is the address of server.http; metrics need one of their own"},
		{"scopes without an issuer", "connections:\n  oauth:\n    scopes: {a: [b]}",
			"2: connections.oauth: without an issuer the rest has no meaning; set issuer, or remove the section"},
		{"issuer without an audience", "connections:\n  oauth: {issuer: https://a.example, scopes: {a: [b]}}",
			"2: connections.oauth.audience: set audience or server.public_url; without one, tokens meant for others would count here"},
		{"issuer without scopes", "connections:\n  oauth: {issuer: https://a.example, audience: x}",
			"2: connections.oauth.scopes: set scopes; without any, no token opens anything"},
		{"tab", "limits:\n\tcalls_per_minute: 3", "2: a tab indents this line; YAML wants spaces"},
		{"open bracket", "limits:\n  calls_per_minute: [", "2: not YAML, here or below: did not find expected node content"},
		{"unknown anchor", "\nlimits: *x", `2: nothing above is marked with "&x"`},
		{"not UTF-8", "server:\n  instructions: \xff", "2: not UTF-8; save the file in that encoding"},
		{"escape", "server: {instructions: \"\\q\"}", "1: not YAML, here or below: found unknown escape character"},
		{"two documents", "limits: {}\n---\nlimits: {}", "2: a second document begins here; remove the line with ---"},
		{"tag", "limits:\n  calls_per_minute: !big 3",
			`2: limits.calls_per_minute: this is a value tagged "!big"; accepted: a whole number from 1 to 1000000`},
		{"merge", "limits: &l {calls_per_minute: 3}\naudit:\n  <<: *l",
			"3: audit.<<: maps cannot be merged here; repeat the entries"},
		{"bad alias", "server:\n  http: &p x\n  metrics: *p",
			`2: server.http: "x": not of the right form; accepted: an address such as 127.0.0.1:8080, or :8080 for all interfaces` + "\n" +
				`3: server.metrics: "x": not of the right form; accepted: an address such as 127.0.0.1:8080, or :8080 for all interfaces`},
		{"all at once", "limits:\n  calls_per_minute: x\n  repeat_warn: y\nserve: {}",
			"2: limits.calls_per_minute: this is text; accepted: a whole number from 1 to 1000000\n" +
				"3: limits.repeat_warn: this is text; accepted: a whole number from 0 to 1000\n4: serve: no such setting; did you mean server?"},
	} {
		t.Run(test.name, func(t *testing.T) {
			path := config.WriteSettings(t, test.text)
			l, err := app.SettingsReader().Load(config.LoadOptions{Path: path})
			var problems config.Problems
			if !errors.As(err, &problems) || l != nil {
				t.Fatalf("loaded %v, error %v", l, err)
			}
			got := strings.ReplaceAll(err.Error(), path+":", "")
			if got = strings.TrimPrefix(got, " "); got != test.want {
				t.Errorf("got\n  %s\nwant\n  %s", got, test.want)
			}
		})
	}
}

func TestSecretsAreNotRepeated(t *testing.T) {
	secret := "hunter2" + "hunter2"
	for _, text := range []string{
		"scrub: {values: [" + secret + "]}",
		"scrub: {values: {a: " + secret + "}}",
		"scrub: {values: " + secret + "}",
		"connections: {tokens: {x: {hash: " + secret + ", profiles: [x]}}}",
		"telemetry: {otlp_headers: {a: " + secret + "}}",
		"telemetry: {otlp_headers: " + secret + "}",
		"telemetry: {otlp_endpoint: 'https://me:" + secret + "@host'}",
	} {
		_, err := app.SettingsReader().Load(config.LoadOptions{Path: config.WriteSettings(t, text)})
		if err == nil || strings.Contains(err.Error(), secret) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestPrecedence(t *testing.T) {
	type setting = struct{ file, env, flag string }
	for _, test := range []struct {
		from setting
		want int
		by   string
	}{
		{setting{"", "", ""}, 1200, "default"},
		{setting{"1", "", ""}, 1, "FILE:2"},
		{setting{"1", "2", ""}, 2, "MCP_TOOLS_LIMITS_CALLS_PER_MINUTE"},
		{setting{"1", "2", "3"}, 3, "command line"},
		{setting{"", "2", "3"}, 3, "command line"},
		{setting{"", "", "3"}, 3, "command line"},
		{setting{"1", "", "3"}, 3, "command line"},
		{setting{"", "2", ""}, 2, "MCP_TOOLS_LIMITS_CALLS_PER_MINUTE"},
	} {
		text, overrides := "limits:\n", map[string]string{}
		if test.from.file != "" {
			text += "  calls_per_minute: " + test.from.file
		}
		if test.from.flag != "" {
			overrides["limits.calls_per_minute"] = test.from.flag
		}
		path := config.WriteSettings(t, text)
		l, err := app.SettingsReader().Load(config.LoadOptions{Path: path, Getenv: config.FakeEnvironment("MCP_TOOLS_LIMITS_CALLS_PER_MINUTE", test.from.env),
			Overrides: overrides})
		if err != nil {
			t.Errorf("%+v: %v", test.from, err)
			continue
		}
		if by := strings.ReplaceAll(l.Source["limits.calls_per_minute"], path, "FILE"); l.Config.Limits.CallsPerMinute != test.want ||
			by != test.by {
			t.Errorf("%+v: %d by %s, want %d by %s", test.from, l.Config.Limits.CallsPerMinute, by, test.want, test.by)
		}
	}
}

func TestValuesFromOutsideTheFile(t *testing.T) {
	cwd, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	l, err := app.SettingsReader().Load(config.LoadOptions{
		Path: config.WriteSettings(t,
			"server:\n  tls_cert: here.pem\n  tls_key: ~/key.pem\nscrub:\n  values: ['file:s', 'env:X']\npolicy:\n  allow: [exec]\n"),
		Getenv: config.FakeEnvironment("HOME", "/home/ann", "MCP_TOOLS_SSE", "1", "MCP_TOOLS_POLICY_ALLOW", "read_file, edit",
			"MCP_TOOLS_POLICY_DENY", "[]",
			"MCP_TOOLS_AUTONOMY", "readonly", "MCP_TOOLS_APPROVALS_TIMEOUT",
			"1m30s",
			"MCP_TOOLS_POLICY_AGENTS", "{ann: {deny: [exec]}}", "MCP_TOOLS_WORKSPACE", "sub"),
		Overrides: map[string]string{"server.http": ":0", "server.sse": "false"},
	})
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Dir(l.Path)
	c := l.Config
	got := []any{c.Server.TLSCert, c.Server.TLSKey, c.Scrub.Values, []string(c.Policy.Allow), c.Policy.Deny != nil &&
		len(c.Policy.Deny) == 0, string(c.Policy.Autonomy),
		c.Approvals.Timeout, []string(
			c.Policy.Agents["ann"].Deny,
		), c.Connections.Stdio.Workspace, c.Server.HTTP, c.Server.SSE}
	want := []any{filepath.Join(dir, "here.pem"), "/home/ann/key.pem", []config.Secret{
		config.Secret("file:" + filepath.Join(dir, "s")), "env:X",
	}, []string{"read_file", "edit"}, true, "readonly",
		90 * time.Second, []string{"exec"}, filepath.Join(cwd, "sub"), ":0", false}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if by := l.Source["server.http"]; by != "--http" {
		t.Errorf("server.http comes from %q", by)
	}
}

func TestProblemsOutsideTheFile(t *testing.T) {
	_, err := app.SettingsReader().Load(config.LoadOptions{
		Getenv: config.FakeEnvironment("MCP_TOOLS_SSE", "perhaps", "MCP_TOOLS_LIMITS_CALLS_PER_MINUTE", "x", "MCP_TOOLS_POLICY_AGENTS",
			"{", "MCP_TOOLS_TELEMETRY_OTLP_HEADERS", "# none"),
		Overrides: map[string]string{"policy.autonomy": "never", "nonsense": "1"},
	})
	if err == nil {
		t.Fatal("loaded")
	}
	want := `MCP_TOOLS_SSE: server.sse: "perhaps" is neither; accepted: true or false
MCP_TOOLS_POLICY_AGENTS: policy.agents: not YAML, here or below: did not find expected node content
MCP_TOOLS_LIMITS_CALLS_PER_MINUTE: limits.calls_per_minute: "x" is not a whole number; accepted: a whole number from 1 to 1000000
MCP_TOOLS_TELEMETRY_OTLP_HEADERS: telemetry.otlp_headers: this is nothing; ` +
		`accepted: a map of names, each to a reference to a secret: secret:NAME, env:NAME, file:PATH or command:PROGRAM ARGUMENTS
--autonomy: policy.autonomy: "never" is unknown; accepted: one of readonly, supervised, full
command line: nonsense: no such setting`
	if diff := cmp.Diff(want, err.Error()); diff != "" {
		t.Error(diff)
	}
}

func TestAMissingFileIsAnErrorWhenItWasAskedFor(t *testing.T) {
	gone := filepath.Join(t.TempDir(), "gone.yaml")
	for _, o := range []config.LoadOptions{{Path: gone}, {Getenv: config.FakeEnvironment(config.EnvConfig, gone)}} {
		if _, err := app.SettingsReader().Load(o); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("the error is %v", err)
		}
	}
	if _, err := app.SettingsReader().Load(config.LoadOptions{Path: t.TempDir()}); err == nil {
		t.Error("a directory was read")
	}
}

func TestTheUsualFileIsRead(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "mcp-tools"), 0o700); err != nil {
		t.Fatal(err)
	}
	usual := filepath.Join(dir, "mcp-tools", "config.yaml")
	if err := os.WriteFile(usual, []byte("limits: {calls_per_minute: 7}"), 0o600); err != nil {
		t.Fatal(err)
	}
	l, err := app.SettingsReader().Load(config.LoadOptions{Getenv: config.FakeEnvironment("XDG_CONFIG_HOME", dir)})
	if err != nil || l.Path != usual || l.Config.Limits.CallsPerMinute != 7 {
		t.Errorf("%+v, %v", l, err)
	}
}

func TestFilesDoNotGrowWithoutBounds(t *testing.T) {
	bomb := "a: &a [x, x, x, x, x, x, x, x, x, x]\n"
	for i := range 10 {
		from, to := string(rune('a'+i)), string(rune('b'+i))
		bomb += to + ": &" + to + " [" + strings.TrimSuffix(strings.Repeat("*"+from+", ", 10), ", ") + "]\n"
	}
	for name, text := range map[string]string{
		"long": "# " + strings.Repeat("x", config.MaxFile),
		"bomb": "policy:\n  agents:\n    x: {allow: " + strings.Repeat("[", 5000) + strings.Repeat("]", 5000) +
			"}",
		"deep":    strings.Repeat("[", 20_000),
		"loop":    "policy:\n  agents: &a\n    x: *a",
		"self":    "policy: &p\n  agents: {a: {by_provider: {b: *p}}}\n",
		"many":    "policy:\n  allow: [" + strings.Repeat("a,", 100_001) + "]",
		"unknown": strings.Repeat("x", 100) + ": 1\n" + bomb,
		"expanding": "policy:\n  agents:\n    a: &a {allow: &l [" + strings.Repeat("x,", 5000) + "]}\n" +
			agentsLike("a", 30),
	} {
		start := time.Now()
		_, err := app.SettingsReader().Load(config.LoadOptions{Path: config.WriteSettings(t, text)})
		if err == nil {
			t.Errorf("%s: loaded", name)
		} else if len(err.Error()) > 20_000 {
			t.Errorf("%s: an error of %d bytes", name, len(err.Error()))
		}
		if took := time.Since(start); took > time.Minute {
			t.Errorf("%s: took %v", name, took)
		}
	}
}

func agentsLike(anchor string, n int) string {
	var text strings.Builder
	for i := range n {
		text.WriteString("    b" + strings.Repeat("b", i) + ": *" + anchor + "\n")
	}
	return text.String()
}

func TestAliasesWork(t *testing.T) {
	l,
		err := app.SettingsReader().Load(config.LoadOptions{Path: config.WriteSettings(t,
		"policy:\n  agents:\n    ann: {allow: &l [a, b]}\n    bob: {allow: *l}\n")})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(
		l.Config.Policy.Agents["ann"], l.Config.Policy.Agents["bob"],
	); diff != "" || len(l.Config.Policy.Agents) != 2 {
		t.Error(diff)
	}
}

func TestLocate(t *testing.T) {
	l, err := app.SettingsReader().Load(config.LoadOptions{
		Path: config.WriteSettings(t,
			"policy:\n  allow:\n  - a\n  - b\n  agents:\n    ann:\n      deny:\n      - x\n    a.b c:\n      deny: [y]\nlimits:\n  calls_per_minute: 3\n"),
		Getenv: config.FakeEnvironment("MCP_TOOLS_LIMITS_CALLS_PER_MINUTE", "4"),
	})
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]int{
		"policy.allow[1]": 4, "policy.agents.ann.deny[0]": 8, `policy.agents."a.b c".deny[0]`: 10,
		"policy.agents.ann.allow": 6, "policy.deny": 1, "nowhere.at.all": 0,
	} {
		if source, line := l.Locate(path); source != l.Path || line != want {
			t.Errorf("%s is at %s:%d, want line %d", path, source, line, want)
		}
	}
	if source, line := l.Locate("limits.calls_per_minute"); source != "MCP_TOOLS_LIMITS_CALLS_PER_MINUTE" || line != 0 {
		t.Errorf("limits.calls_per_minute is at %s:%d", source, line)
	}
}
