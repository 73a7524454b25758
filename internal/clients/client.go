// Package clients knows the settings files of MCP clients: where each lies,
// how it names a server, and how to add, show and remove ours without
// changing a byte of what the user wrote.
//
// Files are edited in their syntax trees, never decoded and encoded again, so
// comments, key order, indentation, line ends and a byte order mark survive.
// After each edit the result is parsed and compared with what was there: if
// anything but our entry differs, the file is left alone.
//
// It does not know what our server can do, who may call it, or how to start it; it
// never connects to a client and never runs one.
//
// Begin with [All] and [Client.Connect]. The table of clients is in this file,
// the places in places.go, the entries in server.go, and the syntaxes in json.go,
// toml.go and yaml.go.
package clients

import (
	"fmt"
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// EntryName is the usual name of our entry in the settings files of clients.
const EntryName = "mcp-tools"

// A Client is one program that can use our server, with the settings file it
// reads. Clients come from [All] and [Find].
type Client struct {
	Name  string // on the command line: "cursor"
	Title string // name of the program: "Cursor"
	Check string // how to check the connection, as a sentence

	// Anywhere reports that the client starts servers in a directory that is not the
	// project of the conversation, so that the entry has to name a workspace.
	Anywhere bool

	place   func(Env) string
	project string // path in a workspace, with slashes; "" if it has none
	shared  bool   // the file belongs to a workspace, which others may read
	strict  bool   // the client reads no JSON with comments
	syntax  syntax
	shape   shape
	instead string // what to do for a remote server if the file does not support them
}

// All returns all clients, in the order of the documentation.
func All() []Client { return append(usual(), others()...) }

// usual are the clients that most people have.
func usual() []Client {
	return []Client{
		{
			Name: "claude-desktop", Title: "Claude Desktop",
			Check:    "Quit and start Claude Desktop, then open Settings > Developer.",
			Anywhere: true, strict: true,
			place: claudeDesktop, syntax: jsonFile{"mcpServers"},
			instead: "add the address in Settings > Connectors",
		},
		{
			Name: "claude-code", Title: "Claude Code",
			Check:  "Run `claude mcp list`, or /mcp inside Claude Code.",
			strict: true,
			place:  claudeCode, project: ".mcp.json", syntax: jsonFile{"mcpServers"},
			shape: shape{stdioType: "stdio", url: "url", httpType: "http", headers: "headers", tokenRef: "${%s}"},
		},
		{
			Name: "vscode", Title: "VS Code",
			Check: "Run \"MCP: List Servers\" from the command palette.",
			place: vscode, project: ".vscode/mcp.json", syntax: jsonFile{"servers"},
			shape: shape{stdioType: "stdio", url: "url", httpType: "http", headers: "headers", tokenRef: "${env:%s}"},
		},
		{
			Name: "cursor", Title: "Cursor",
			Check:    "Restart Cursor and look at the list of MCP servers in its settings.",
			Anywhere: true,
			place:    inHome(".cursor", "mcp.json"), project: ".cursor/mcp.json", syntax: jsonFile{"mcpServers"},
			shape: shape{url: "url", headers: "headers", tokenRef: "${env:%s}"},
		},
		{
			Name: "codex", Title: "Codex",
			Check: "Run `codex mcp list`, or /mcp inside Codex.",
			place: codex, project: ".codex/config.toml", syntax: tomlFile{"mcp_servers"},
			shape: shape{url: "url", headers: "http_headers", tokenKey: "bearer_token_env_var"},
		},
		{
			Name: "gemini", Title: "Gemini CLI",
			Check: "Run `gemini mcp list`, or /mcp inside Gemini CLI. " +
				"If it says Disabled, start gemini in the folder and trust it.",
			place: gemini, project: ".gemini/settings.json", syntax: jsonFile{"mcpServers"},
			shape: shape{url: "httpUrl", headers: "headers", tokenRef: "${%s}"},
		},
		{
			Name: "windsurf", Title: "Windsurf",
			Check:    "Open the Cascade panel, press the MCP icon, and refresh.",
			Anywhere: true,
			place:    inHome(".codeium", "windsurf", "mcp_config.json"), syntax: jsonFile{"mcpServers"},
			shape: shape{url: "serverUrl", headers: "headers", tokenRef: "${env:%s}"},
		},
		{
			Name: "devin", Title: "Devin Desktop",
			Check: "Open the list of MCP servers in the agent panel.",
			place: devin, project: ".devin/mcp_config.json", syntax: jsonFile{"mcpServers"},
			shape: shape{url: "url", headers: "headers"},
		},
		{
			Name: "zed", Title: "Zed",
			Check: "Open the agent panel's settings: a green dot means that the server runs.",
			place: zed, syntax: jsonFile{"context_servers"},
			shape: shape{url: "url", headers: "headers"},
		},
	}
}

// others are the other clients.
func others() []Client {
	opencode := shape{
		stdioType: "local", list: true, env: "environment",
		url: "url", httpType: "remote", headers: "headers", tokenRef: "{env:%s}",
		extra: fields{{"enabled", true}},
	}
	return []Client{
		{
			Name: "copilot", Title: "Copilot CLI",
			Check: "Run `copilot mcp list`, or /mcp inside Copilot CLI.",
			place: copilot, project: ".github/mcp.json", syntax: jsonFile{"mcpServers"},
			shape: shape{
				stdioType: "local", url: "url", httpType: "http", headers: "headers", tokenRef: "${%s}",
				extra: fields{{"tools", []string{"*"}}},
			},
		},
		{
			Name: "opencode", Title: "opencode",
			Check: "Run `opencode mcp list`.",
			place: opencodeFile("opencode"), project: "opencode.json", syntax: jsonFile{"mcp"}, shape: opencode,
		},
		{
			Name: "kilo", Title: "Kilo Code",
			Check: "Run `kilo mcp list`, or open Settings > Agent Behaviour > MCP Servers.",
			place: opencodeFile("kilo"), project: ".kilo/kilo.json", syntax: jsonFile{"mcp"}, shape: opencode,
		},
		{
			Name: "cline", Title: "Cline",
			Check:    "Press the MCP Servers icon of the Cline panel.",
			Anywhere: true,
			place:    inVSCode("saoudrizwan.claude-dev", "cline_mcp_settings.json"), syntax: jsonFile{"mcpServers"},
			shape: shape{url: "url", httpType: "streamableHttp", headers: "headers"},
		},
		{
			Name: "cline-cli", Title: "Cline CLI",
			Check: "Run `cline mcp list`.",
			place: clineCLI, syntax: jsonFile{"mcpServers"},
			shape: shape{url: "url", httpType: "streamableHttp", headers: "headers"},
		},
		{
			Name: "roo", Title: "Roo Code",
			Check:    "Open the MCP settings of the Roo Code panel.",
			Anywhere: true,
			place:    inVSCode("rooveterinaryinc.roo-cline", "mcp_settings.json"), project: ".roo/mcp.json",
			syntax: jsonFile{"mcpServers"},
			shape:  shape{url: "url", httpType: "streamable-http", headers: "headers", tokenRef: "${env:%s}"},
		},
		{
			Name: "qwen", Title: "Qwen Code",
			Check: "Run `qwen mcp list`, or /mcp inside Qwen Code.",
			place: inHome(".qwen", "settings.json"), project: ".qwen/settings.json", syntax: jsonFile{"mcpServers"},
			shape: shape{url: "httpUrl", headers: "headers", tokenRef: "${%s}"},
		},
		{
			Name: "junie", Title: "Junie",
			Check: "Open Settings > Tools > Junie > MCP Settings in the IDE.",
			place: inHome(".junie", "mcp", "mcp.json"), project: ".junie/mcp/mcp.json", syntax: jsonFile{"mcpServers"},
			shape: shape{url: "url", headers: "headers"},
		},
		{
			Name: "visual-studio", Title: "Visual Studio",
			Check: "Choose Agent in the Copilot chat window and look at its list of tools.",
			place: inHome(".mcp.json"), project: ".mcp.json", syntax: jsonFile{"servers"},
			shape: shape{stdioType: "stdio", url: "url", httpType: "http", headers: "headers"},
		},
		{
			Name: "lmstudio", Title: "LM Studio",
			Check:    "Open the Program tab in the right sidebar.",
			Anywhere: true,
			place:    lmStudio, syntax: jsonFile{"mcpServers"},
			shape: shape{url: "url", headers: "headers"},
		},
		{
			Name: "goose", Title: "Goose",
			Check: "Run `goose configure` and choose Toggle Extensions.",
			place: goose, syntax: yamlFile{"extensions"},
			shape: shape{
				stdioType: "stdio", command: "cmd", env: "envs",
				url: "uri", httpType: "streamable_http", headers: "headers",
				extra: fields{{"name", EntryName}, {"enabled", true}, {"timeout", 300}},
			},
		},
		{
			Name: "crush", Title: "Crush",
			Check: "Start `crush`: the sidebar lists the servers.",
			place: crush, project: "crush.json", syntax: jsonFile{"mcp"},
			shape: shape{stdioType: "stdio", url: "url", httpType: "http", headers: "headers", tokenRef: "$%s"},
		},
		{
			Name: "continue", Title: "Continue",
			Check: "Open the settings of Continue and look at Tools.",
			place: inHome(".continue", "mcpServers", "mcp-tools.json"), project: ".continue/mcpServers/mcp-tools.json",
			syntax: jsonFile{"mcpServers"},
			shape:  shape{url: "url", httpType: "streamable-http", headers: "headers"},
		},
		{
			Name: "kiro", Title: "Kiro",
			Check: "Look at the MCP servers in the Kiro panel.",
			place: inHome(".kiro", "settings", "mcp.json"), project: ".kiro/settings/mcp.json",
			syntax: jsonFile{"mcpServers"},
			shape:  shape{url: "url", headers: "headers", tokenRef: "${%s}"},
		},
		{
			Name: "amp", Title: "Amp",
			Check: "Run `amp mcp list`.",
			place: amp, project: ".amp/settings.json", syntax: jsonFile{"amp.mcpServers"},
			shape: shape{url: "url", headers: "headers", tokenRef: "${%s}"},
		},
		{
			Name: "warp", Title: "Warp",
			Check:    "Open Settings > Agents > MCP servers.",
			Anywhere: true,
			place:    inHome(".warp", ".mcp.json"), project: ".warp/.mcp.json", syntax: jsonFile{"mcpServers"},
			shape: shape{url: "url", headers: "headers"},
		},
		{
			Name: "trae", Title: "Trae",
			Check:    "Open the settings of Trae and look at MCP.",
			Anywhere: true,
			place:    trae, project: ".trae/mcp.json", syntax: jsonFile{"mcpServers"},
			shape: shape{url: "url", headers: "headers"},
		},
		{
			Name: "antigravity", Title: "Antigravity",
			Check:    "Choose MCP Servers in the menu of the agent panel, or run `agy mcp list`.",
			Anywhere: true,
			place:    antigravity, syntax: jsonFile{"mcpServers"},
			shape: shape{url: "serverUrl", headers: "headers"},
		},
	}
}

// Find returns the client with that name, in any case. An unknown name is an
// error that lists the names and suggests the nearest.
func Find(name string) (Client, error) {
	var names []string
	for _, c := range All() {
		if strings.EqualFold(c.Name, name) {
			return c, nil
		}
		names = append(names, c.Name)
	}
	hint := ""
	if near := tool.Nearest(name, names); near != "" {
		hint = fmt.Sprintf(", did you mean %q?", near)
	}
	return Client{}, fmt.Errorf("no client %q%s (known are %s)", name, hint, strings.Join(names, ", "))
}

// Project returns the client with the settings file of a workspace instead of the
// user's own, or an error if it has no such file.
func (c Client) Project() (Client, error) {
	if c.project == "" {
		var names []string
		for _, other := range All() {
			if other.project != "" {
				names = append(names, other.Name)
			}
		}
		return Client{}, fmt.Errorf("%s has no settings file for one project (these have: %s); omit --project",
			c.Title, strings.Join(names, ", "))
	}
	c.place = inWorkDir(c.project)
	c.shared, c.Anywhere = true, false
	return c, nil
}

// Path returns the path of the client's settings file on a machine. The file need
// not exist.
func (c Client) Path(env Env) string { return c.place(env) }
