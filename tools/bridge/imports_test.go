package bridge

import (
	"bytes"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/clients"
	"github.com/mcp-tools/mcp-tools/internal/store/storetest"
)

// TestMovedSecrets: credentials that are written out are found by their names and by what they are; references stay.
func TestMovedSecrets(t *testing.T) {
	b := newBridge(t, storetest.Open(t, t.TempDir()), nil, func(o *Options) {
		o.Scrub = func(document []byte) []byte {
			return bytes.ReplaceAll(document, []byte("hunter2"), []byte("[REDACTED]"))
		}
	})
	environment := map[string]string{"API_KEY": "abc", "DSN": "postgres://u:hunter2@h/d", "MODE": "a b",
		"TOKEN": "secret:mine", "PASSWORD": "two words", "EMPTY_KEY": ""}
	headers := map[string]string{"Authorization": "Bearer xyz", "Accept": "text/plain"}
	secrets := b.MoveSecrets("hub", environment, headers)
	if want := (map[string]string{"mcp-hub-api-key": "abc", "mcp-hub-dsn": "postgres://u:hunter2@h/d",
		"mcp-hub-password": "two words", "mcp-hub-authorization": "xyz"}); !maps.Equal(secrets, want) {
		t.Errorf("moved are %q", secrets)
	}
	if want := (map[string]string{"API_KEY": "secret:mcp-hub-api-key", "DSN": "secret:mcp-hub-dsn", "MODE": "a b",
		"TOKEN": "secret:mine", "PASSWORD": "secret:mcp-hub-password", "EMPTY_KEY": ""}); !maps.Equal(environment, want) {
		t.Errorf("the variables are %q", environment)
	}
	if headers["Authorization"] != "Bearer secret:mcp-hub-authorization" || headers["Accept"] != "text/plain" {
		t.Errorf("the headers are %q", headers)
	}
}

// TestImports reads the forms of all clients. Secrets go into the vault, and what only the client knows is named.
func TestImports(t *testing.T) {
	file := filepath.Join(t.TempDir(), "settings.json")
	text := `{ // comments are allowed
		"mcpServers": {
			"GitHub MCP": {"command": "docker", "args": ["run", "-i", "ghcr.io/x"], "env": {"GITHUB_TOKEN": "ghp_1", "MODE": "a"}},
			"remote": {"url": "https://x.test/mcp", "headers": {"Authorization": "Bearer abc"}},
			"vars": {"command": "npx", "args": ["-y", "s", "${workspaceFolder}", "/home/me/notes"], "env": {"KEY": "${input:key}"}},
			"mcp-tools": {"command": "/usr/local/bin/mcp-tools"}, "off": {"command": "x", "disabled": true}, "empty": {}
		},
		"servers": {"code": {"type": "stdio", "command": "node", "args": ["a.js"]}},
	}`
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	servers, err := clients.Servers(file)
	if err != nil {
		t.Fatal(err)
	}
	got := make(map[string]Import)
	for _, i := range Imports(servers) {
		got[i.Name] = i
	}
	hub := got["github-mcp"]
	if hub.Skip != "" || hub.Server.Environment["GITHUB_TOKEN"] != "secret:mcp-github-mcp-github-token" ||
		hub.Secrets["mcp-github-mcp-github-token"] != "ghp_1" || hub.Server.Environment["MODE"] != "a" {
		t.Errorf("github is %+v", hub)
	}
	remote := got["remote"]
	if remote.Server.Headers["Authorization"] != "Bearer secret:mcp-remote-authorization" ||
		remote.Secrets["mcp-remote-authorization"] != "abc" {
		t.Errorf("remote is %+v", remote)
	}
	if vars := got["vars"]; len(vars.Notes) != 3 {
		t.Errorf("vars has the notes %q", vars.Notes)
	}
	if !slices.Equal(got["code"].Server.Command, []string{"node", "a.js"}) {
		t.Errorf("code is %+v", got["code"])
	}
	if got["mcp-tools"].Skip == "" || got["empty"].Skip == "" {
		t.Errorf("what cannot be imported: %+v, %+v", got["mcp-tools"], got["empty"])
	}
	if _, there := got["off"]; there {
		t.Error("a server that is off was imported")
	}
	if _, err := clients.Servers(filepath.Join(t.TempDir(), "none.json")); err == nil {
		t.Error("a file that does not exist was read")
	}
}
