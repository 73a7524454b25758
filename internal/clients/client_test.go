package clients

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// testEnv is a person with an empty home.
func testEnv(t *testing.T) Env {
	t.Helper()
	return Env{
		Home:    t.TempDir(),
		WorkDir: t.TempDir(),
		GOOS:    "linux",
		Now:     func() time.Time { return time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC) },
	}
}

func stdioServer() Server {
	return Server{Name: "mcp-tools", Command: "/usr/local/bin/mcp-tools", Args: []string{"--profile", "coding"}}
}

// bearer is a token that no scanner takes for a real one.
func bearer() string { return "Bearer " + strings.Repeat("t0", 8) }

func mustFind(t *testing.T, name string) Client {
	t.Helper()
	c, err := Find(name)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func write(t *testing.T, path string, data string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(data), 0o640); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestPaths(t *testing.T) {
	home := map[string]string{}
	moved := map[string]string{
		"XDG_CONFIG_HOME": "/x", "APPDATA": "/roam", "LOCALAPPDATA": "/local",
		"CODEX_HOME": "/codex", "CLAUDE_CONFIG_DIR": "/cc", "GEMINI_CLI_HOME": "/gem",
	}
	relative := map[string]string{"XDG_CONFIG_HOME": "x", "CODEX_HOME": "./codex"}
	for _, tc := range []struct {
		goos string
		env  map[string]string
		want map[string]string
	}{
		{"linux", home, map[string]string{
			"claude-desktop": "/h/.config/Claude/claude_desktop_config.json",
			"claude-code":    "/h/.claude.json",
			"vscode":         "/h/.config/Code/User/mcp.json",
			"cursor":         "/h/.cursor/mcp.json",
			"codex":          "/h/.codex/config.toml",
			"gemini":         "/h/.gemini/settings.json",
			"windsurf":       "/h/.codeium/windsurf/mcp_config.json",
			"devin":          "/h/.config/devin/mcp_config.json",
			"zed":            "/h/.config/zed/settings.json",
			"copilot":        "/h/.copilot/mcp-config.json",
			"opencode":       "/h/.config/opencode/opencode.json",
			"kilo":           "/h/.config/kilo/kilo.json",
			"cline": "/h/.config/Code/User/globalStorage/saoudrizwan.claude-dev/settings/" +
				"cline_mcp_settings.json",
			"cline-cli":     "/h/.cline/data/settings/cline_mcp_settings.json",
			"roo":           "/h/.config/Code/User/globalStorage/rooveterinaryinc.roo-cline/settings/mcp_settings.json",
			"qwen":          "/h/.qwen/settings.json",
			"junie":         "/h/.junie/mcp/mcp.json",
			"visual-studio": "/h/.mcp.json",
			"lmstudio":      "/h/.lmstudio/mcp.json",
			"goose":         "/h/.config/goose/config.yaml",
			"crush":         "/h/.config/crush/crush.json",
			"continue":      "/h/.continue/mcpServers/mcp-tools.json",
			"kiro":          "/h/.kiro/settings/mcp.json",
			"amp":           "/h/.config/amp/settings.json",
			"warp":          "/h/.warp/.mcp.json",
			"trae":          "/h/.config/Trae/User/mcp.json",
			"antigravity":   "/h/.gemini/config/mcp_config.json",
		}},
		{"linux", relative, map[string]string{"zed": "/h/.config/zed/settings.json", "codex": "/h/.codex/config.toml"}},
		{"linux", moved, map[string]string{
			"claude-desktop": "/x/Claude/claude_desktop_config.json",
			"claude-code":    "/cc/.claude.json",
			"vscode":         "/x/Code/User/mcp.json",
			"codex":          "/codex/config.toml",
			"gemini":         "/gem/.gemini/settings.json",
			"zed":            "/x/zed/settings.json",
		}},
		{"darwin", moved, map[string]string{
			"claude-desktop": "/h/Library/Application Support/Claude/claude_desktop_config.json",
			"vscode":         "/h/Library/Application Support/Code/User/mcp.json",
			"devin":          "/h/.config/devin/mcp_config.json",
			"zed":            "/h/.config/zed/settings.json",
		}},
		{"windows", home, map[string]string{
			"claude-desktop": "/h/AppData/Roaming/Claude/claude_desktop_config.json",
			"vscode":         "/h/AppData/Roaming/Code/User/mcp.json",
			"cursor":         "/h/.cursor/mcp.json",
		}},
		{"windows", moved, map[string]string{
			"claude-desktop": "/roam/Claude/claude_desktop_config.json",
			"vscode":         "/roam/Code/User/mcp.json",
			"devin":          "/roam/devin/mcp_config.json",
			"zed":            "/roam/Zed/settings.json",
			"goose":          "/roam/Block/goose/config/config.yaml",
			"crush":          "/local/crush/crush.json",
			"trae":           "/roam/Trae/User/mcp.json",
		}},
	} {
		env := Env{Home: "/h", GOOS: tc.goos, Getenv: func(name string) string { return tc.env[name] }}
		for name, want := range tc.want {
			if got := mustFind(t, name).Path(env); got != want {
				t.Errorf("%s %s: path %q, want %q", tc.goos, name, got, want)
			}
		}
	}
}

// TestFileThatIsThere covers clients that accept several files.
func TestFileThatIsThere(t *testing.T) {
	env := testEnv(t)
	c := mustFind(t, "opencode")
	path := filepath.Join(env.Home, ".config", "opencode", "opencode.jsonc")
	write(t, path, "{} // mine\n")
	if got := c.Path(env); got != path {
		t.Errorf("path %q, want %q", got, path)
	}
}

// TestWhatTheUserHasChangedStays covers settings that only a new entry gets.
func TestWhatTheUserHasChangedStays(t *testing.T) {
	env := testEnv(t)
	for _, tc := range []struct{ client, from, to string }{
		{"opencode", `"enabled": true`, `"enabled": false`},
		{"copilot", `["*"]`, `["exec"]`},
		{"goose", "timeout: 300", "timeout: 60"},
	} {
		c := mustFind(t, tc.client)
		if _, err := c.Connect(env, stdioServer()); err != nil {
			t.Fatal(err)
		}
		write(t, c.Path(env), strings.Replace(read(t, c.Path(env)), tc.from, tc.to, 1))
		if ch, err := c.Connect(env, stdioServer()); err != nil || !ch.NothingToDo {
			t.Errorf("%s: connecting again: %+v, %v", tc.client, ch, err)
		}
		other := stdioServer()
		other.Args = []string{"--profile", "lean"}
		if _, err := c.Connect(env, other); err != nil {
			t.Errorf("%s: %v", tc.client, err)
		}
		if got := read(t, c.Path(env)); !strings.Contains(got, tc.to) || !strings.Contains(got, "lean") {
			t.Errorf("%s: the file became:\n%s", tc.client, got)
		}
		if ch, err := c.Disconnect(env, "mcp-tools"); err != nil || !ch.Removed {
			t.Errorf("%s: disconnecting: %+v, %v", tc.client, ch, err)
		}
	}
}

// TestPackagedClaudeDesktop covers the packaged Claude Desktop of Windows, which reads a private copy of
// APPDATA.
func TestPackagedClaudeDesktop(t *testing.T) {
	env := testEnv(t)
	env.GOOS = "windows"
	pkg := filepath.Join(env.Home, "AppData", "Local", "Packages", "Claude_pzs8sxrjxfjjc")
	if err := os.MkdirAll(pkg, 0o755); err != nil {
		t.Fatal(err)
	}
	want := filepath.Join(pkg, "LocalCache", "Roaming", "Claude", "claude_desktop_config.json")
	if got := mustFind(t, "claude-desktop").Path(env); got != want {
		t.Errorf("path %q, want %q", got, want)
	}
}

func TestProject(t *testing.T) {
	env := Env{Home: "/h", WorkDir: "/w", GOOS: "linux"}
	want := map[string]string{
		"claude-code": "/w/.mcp.json", "vscode": "/w/.vscode/mcp.json", "cursor": "/w/.cursor/mcp.json",
		"codex": "/w/.codex/config.toml", "gemini": "/w/.gemini/settings.json", "devin": "/w/.devin/mcp_config.json",
		"copilot": "/w/.github/mcp.json", "opencode": "/w/opencode.json", "kilo": "/w/.kilo/kilo.json",
		"roo": "/w/.roo/mcp.json", "qwen": "/w/.qwen/settings.json", "junie": "/w/.junie/mcp/mcp.json",
		"visual-studio": "/w/.mcp.json", "crush": "/w/crush.json", "kiro": "/w/.kiro/settings/mcp.json",
		"continue": "/w/.continue/mcpServers/mcp-tools.json", "amp": "/w/.amp/settings.json",
		"warp": "/w/.warp/.mcp.json", "trae": "/w/.trae/mcp.json",
	}
	got := map[string]string{}
	for _, c := range All() {
		p, err := c.Project()
		if (err == nil) != (c.project != "") {
			t.Errorf("%s: its project file is %q, Project says %v", c.Name, c.project, err)
		}
		if err == nil {
			got[c.Name] = p.Path(env)
		} else if !strings.Contains(err.Error(), "vscode") {
			t.Errorf("%s: the error does not say who has projects: %v", c.Name, err)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestFind(t *testing.T) {
	if c, err := Find("VSCode"); err != nil || c.Name != "vscode" {
		t.Errorf("Find(VSCode) = %q, %v", c.Name, err)
	}
	_, err := Find("cursr")
	if err == nil || !strings.Contains(err.Error(), `did you mean "cursor"?`) || !strings.Contains(err.Error(), "zed") {
		t.Errorf("an unknown client: %v", err)
	}
	seen := map[string]bool{}
	for _, c := range All() {
		if seen[c.Name] || c.Title == "" || c.Check == "" {
			t.Errorf("client %q is there twice or says too little", c.Name)
		}
		seen[c.Name] = true
		if c.shape.url == "" && c.instead == "" {
			t.Errorf("%s takes no remote server and does not say what to do", c.Name)
		}
	}
}

func TestRender(t *testing.T) {
	local := Server{
		Name: "mcp-tools", Command: `C:\bin\mcp-tools.exe`, Args: []string{"--workspace", "a & b"},
		Env: map[string]string{"B": "2", "A": "1"},
	}
	token := Server{Name: "mcp-tools", URL: "https://host/mcp/coding", TokenEnv: "TOOLS_TOKEN"}
	header := Server{Name: "mcp-tools", URL: "https://host/mcp/coding", Headers: map[string]string{"Authorization": bearer()}}
	for _, tc := range []struct {
		client string
		server Server
		want   string
	}{
		{"cursor", Server{Name: "mcp-tools", Command: "mcp-tools"}, `{
  "mcpServers": {
    "mcp-tools": {
      "command": "mcp-tools",
      "args": []
    }
  }
}
`},
		{"vscode", local, `{
  "servers": {
    "mcp-tools": {
      "type": "stdio",
      "command": "C:\\bin\\mcp-tools.exe",
      "args": ["--workspace", "a & b"],
      "env": {
        "A": "1",
        "B": "2"
      }
    }
  }
}
`},
		{"codex", local, `[mcp_servers.mcp-tools]
command = "C:\\bin\\mcp-tools.exe"
args = ["--workspace", "a & b"]
env = { A = "1", B = "2" }
`},
		{"codex", token, `[mcp_servers.mcp-tools]
url = "https://host/mcp/coding"
bearer_token_env_var = "TOOLS_TOKEN"
`},
		{"codex", header, `[mcp_servers.mcp-tools]
url = "https://host/mcp/coding"
http_headers = { Authorization = "` + bearer() + `" }
`},
		{"claude-code", token, remoteJSON("mcpServers", `"type": "http",
      "url"`, "Bearer ${TOOLS_TOKEN}")},
		{"vscode", token, remoteJSON("servers", `"type": "http",
      "url"`, "Bearer ${env:TOOLS_TOKEN}")},
		{"cursor", token, remoteJSON("mcpServers", `"url"`, "Bearer ${env:TOOLS_TOKEN}")},
		{"gemini", token, remoteJSON("mcpServers", `"httpUrl"`, "Bearer ${TOOLS_TOKEN}")},
		{"windsurf", token, remoteJSON("mcpServers", `"serverUrl"`, "Bearer ${env:TOOLS_TOKEN}")},
		{"devin", header, remoteJSON("mcpServers", `"url"`, bearer())},
		{"zed", header, remoteJSON("context_servers", `"url"`, bearer())},
		{"qwen", token, remoteJSON("mcpServers", `"httpUrl"`, "Bearer ${TOOLS_TOKEN}")},
		{"cline", header, remoteJSON("mcpServers", `"type": "streamableHttp",
      "url"`, bearer())},
		{"roo", token, remoteJSON("mcpServers", `"type": "streamable-http",
      "url"`, "Bearer ${env:TOOLS_TOKEN}")},
		{"crush", token, remoteJSON("mcp", `"type": "http",
      "url"`, "Bearer $TOOLS_TOKEN")},
		{"amp", token, remoteJSON("amp.mcpServers", `"url"`, "Bearer ${TOOLS_TOKEN}")},
		{"antigravity", header, remoteJSON("mcpServers", `"serverUrl"`, bearer())},
		{"copilot", Server{Name: "mcp-tools", Command: "mcp-tools"}, `{
  "mcpServers": {
    "mcp-tools": {
      "type": "local",
      "command": "mcp-tools",
      "args": [],
      "tools": ["*"]
    }
  }
}
`},
		{"opencode", local, `{
  "mcp": {
    "mcp-tools": {
      "type": "local",
      "command": ["C:\\bin\\mcp-tools.exe", "--workspace", "a & b"],
      "environment": {
        "A": "1",
        "B": "2"
      },
      "enabled": true
    }
  }
}
`},
		{"goose", local, `extensions:
  mcp-tools:
    type: stdio
    cmd: C:\bin\mcp-tools.exe
    args:
      - --workspace
      - a & b
    envs:
      A: "1"
      B: "2"
    name: mcp-tools
    enabled: true
    timeout: 300
`},
		{"goose", header, `extensions:
  mcp-tools:
    type: streamable_http
    uri: https://host/mcp/coding
    headers:
      Authorization: ` + bearer() + `
    name: mcp-tools
    enabled: true
    timeout: 300
`},
	} {
		got, err := mustFind(t, tc.client).Render(tc.server)
		if err != nil {
			t.Errorf("%s: %v", tc.client, err)
		}
		if diff := cmp.Diff(tc.want, string(got)); diff != "" {
			t.Errorf("%s: %s", tc.client, diff)
		}
	}
}

func remoteJSON(container, urlKey, authorization string) string {
	return `{
  "` + container + `": {
    "mcp-tools": {
      ` + urlKey + `: "https://host/mcp/coding",
      "headers": {
        "Authorization": "` + authorization + `"
      }
    }
  }
}
`
}

func TestRefused(t *testing.T) {
	url := "https://host/mcp"
	auth := map[string]string{"Authorization": bearer()}
	for _, tc := range []struct {
		name, client string
		project      bool
		server       Server
		want         string
	}{
		{"no name", "cursor", false, Server{Command: "x"}, "cannot be called"},
		{"bad name", "codex", false, Server{Name: "a.b", Command: "x"}, "cannot be called"},
		{"nothing to run", "cursor", false, Server{Name: "x"}, "needs a command"},
		{"both", "cursor", false, Server{Name: "x", Command: "x", URL: url}, "not both"},
		{"headers for a command", "cursor", false, Server{Name: "x", Command: "x", Headers: auth}, "servers with a URL"},
		{"arguments for a URL", "cursor", false, Server{Name: "x", URL: url, Args: []string{"a"}}, "servers with a command"},
		{"not an address", "cursor", false, Server{Name: "x", URL: "host/mcp"}, "https://host/mcp"},
		{"password in the address", "cursor", false, Server{Name: "x", URL: "https://u:p@host/mcp"}, "send a token in a header"},
		{"bad variable", "cursor", false, Server{Name: "x", Command: "x", Env: map[string]string{"A=B": ""}}, "environment variable"},
		{"bad token variable", "cursor", false, Server{Name: "x", URL: url, TokenEnv: "}"}, "environment variable"},
		{"bad header", "cursor", false, Server{Name: "x", URL: url, Headers: map[string]string{"A": "b\r\nC: d"}}, "HTTP can send"},
		{"two tokens", "cursor", false, Server{Name: "x", URL: url, Headers: auth, TokenEnv: "T"}, "give one"},
		{"bytes that are no text", "cursor", false, Server{Name: "x", Command: "a\x00b"}, "not text"},
		{"no remote servers", "claude-desktop", false, Server{Name: "x", URL: url}, "Settings > Connectors"},
		{"no variables", "zed", false, Server{Name: "x", URL: url, TokenEnv: "T"}, "add the header Authorization to the entry by hand"},
		{"token in a shared file", "vscode", true, Server{Name: "x", URL: url, Headers: auth}, "name an environment variable"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c, env := mustFind(t, tc.client), testEnv(t)
			if tc.project {
				c, _ = c.Project()
			}
			if _, err := c.Connect(env, tc.server); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("Connect says %v, want %q", err, tc.want)
			}
			if _, err := os.Stat(c.Path(env)); err == nil {
				t.Error("and wrote a file")
			}
			if _, err := c.Render(tc.server); err == nil || bytes.Contains([]byte(err.Error()), []byte(bearer())) {
				t.Errorf("Render says %v", err)
			}
		})
	}
}
