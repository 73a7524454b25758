package config_test

import (
	"strings"
	"testing"

	"github.com/mcp-tools/mcp-tools/cmd/mcp-tools/app"
	"github.com/mcp-tools/mcp-tools/internal/config"
)

func TestSettingsOfTheProgram(t *testing.T) {
	config.CheckDeclarations(t, app.SettingsReader())
	config.CheckTexts(t, app.SettingsReader())
}

func TestNamesAreUnique(t *testing.T) {
	seen := map[string]string{config.EnvConfig: "the file", config.EnvData: "the data directory", "config": "the file", "data": "the data directory", "stdio": "the transport"}
	for _, s := range app.SettingsReader().Settings() {
		for _, name := range []string{s.Key, s.Env, s.Flag} {
			if name == "" {
				continue
			}
			if other, taken := seen[name]; taken {
				t.Errorf("%s and %s are both called %s", other, s.Key, name)
			}
			seen[name] = s.Key
		}
	}
	for key, want := range map[string]string{"policy.autonomy": "MCP_TOOLS_AUTONOMY autonomy", "server.http": "MCP_TOOLS_HTTP http",
		"connections.stdio.profile": "MCP_TOOLS_PROFILE profile", "server.tls_cert": "MCP_TOOLS_TLS_CERT tls-cert", "limits.calls_per_minute": "MCP_TOOLS_LIMITS_CALLS_PER_MINUTE "} {
		for _, s := range app.SettingsReader().Settings() {
			if s.Key == key && s.Env+" "+s.Flag != want {
				t.Errorf("%s is %s %s, want %s", key, s.Env, s.Flag, want)
			}
		}
	}
}

func TestUnknownVariables(t *testing.T) {
	problems := app.SettingsReader().UnknownVariables([]string{"PATH=/bin", "MCP_TOOLS_HTTP=:1", "MCP_TOOLS_AUTONOM=full", "MCP_TOOLS_CONFIG=x", "MCP_TOOLS_TOKEN=y", "MCP_TOOLS_PORT_80_TCP_ADDR=z"})
	var got []string
	for _, p := range problems {
		got = append(got, p.String())
	}
	want := "MCP_TOOLS_AUTONOM: warning: no setting has this name; did you mean MCP_TOOLS_AUTONOMY?"
	if len(got) != 2 || got[0] != want || !strings.HasPrefix(got[1], "MCP_TOOLS_PORT_80_TCP_ADDR: warning: ") {
		t.Errorf("got %q", got)
	}
}
