package app

import (
	"embed"
	"sync"

	"github.com/mcp-tools/mcp-tools/internal/approvals"
	"github.com/mcp-tools/mcp-tools/internal/audit"
	"github.com/mcp-tools/mcp-tools/internal/config"
	"github.com/mcp-tools/mcp-tools/internal/console"
	"github.com/mcp-tools/mcp-tools/internal/hooks"
	"github.com/mcp-tools/mcp-tools/internal/llm"
	"github.com/mcp-tools/mcp-tools/internal/sandbox"
	"github.com/mcp-tools/mcp-tools/internal/vault"
	"github.com/mcp-tools/mcp-tools/internal/workspace"
	"github.com/mcp-tools/mcp-tools/policy"
	"github.com/mcp-tools/mcp-tools/tools/agents"
	"github.com/mcp-tools/mcp-tools/tools/agents/acp"
	"github.com/mcp-tools/mcp-tools/tools/bridge"
	"github.com/mcp-tools/mcp-tools/tools/code"
	"github.com/mcp-tools/mcp-tools/tools/exec"
	"github.com/mcp-tools/mcp-tools/tools/media"
	"github.com/mcp-tools/mcp-tools/tools/memory"
	"github.com/mcp-tools/mcp-tools/tools/messaging"
	"github.com/mcp-tools/mcp-tools/tools/plugins"
	"github.com/mcp-tools/mcp-tools/tools/sessions"
	"github.com/mcp-tools/mcp-tools/tools/skills"
	"github.com/mcp-tools/mcp-tools/tools/web"
)

// Settings are all settings of the program: one field for each section, in the order of the reference.
// A section is declared, documented and checked in the package of its type.
type Settings struct {
	Server      config.Server           `yaml:"server" restart:"true"`
	Connections config.Connections      `yaml:"connections"`
	Policy      policy.Rules            `yaml:"policy" flags:"autonomy" doc:"Which tools callers may use. [policy.md](policy.md) describes how a decision is made."`
	Workspace   workspace.Settings      `yaml:"workspace"`
	Agents      agents.Settings         `yaml:"agents" keys:"label" restart:"true"`
	Memory      memory.Settings         `yaml:"memory" restart:"true"`
	Skills      skills.Settings         `yaml:"skills" restart:"true"`
	Plugins     plugins.Settings        `yaml:"plugins" restart:"true"`
	Exec        exec.Settings           `yaml:"exec"`
	Hooks       hooks.Settings          `yaml:"hooks" keys:"label"`
	Sandbox     sandbox.Settings        `yaml:"sandbox" restart:"true"`
	Code        code.Settings           `yaml:"code" restart:"true"`
	Web         web.Settings            `yaml:"web"`
	Models      llm.Settings            `yaml:"models" restart:"true"`
	Media       media.Settings          `yaml:"media" restart:"true"`
	Messaging   messaging.Settings      `yaml:"messaging" restart:"true"`
	Subagents   agents.SubagentSettings `yaml:"subagents" restart:"true"`
	ACP         acp.Settings            `yaml:"acp" keys:"name" restart:"true"`
	MCPServers  bridge.Settings         `yaml:"mcp_servers" keys:"name" restart:"true"`
	Limits      config.Limits           `yaml:"limits"`
	Cache       config.Cache            `yaml:"cache"`
	Audit       audit.Settings          `yaml:"audit"`
	Scrub       config.Scrub            `yaml:"scrub"`
	Approvals   approvals.Settings      `yaml:"approvals"`
	Console     console.Settings        `yaml:"console" restart:"true"`
	Sessions    sessions.Settings       `yaml:"sessions"`
	Vault       vault.Settings          `yaml:"vault" restart:"true"`
	Store       config.Store            `yaml:"store" restart:"true"`
	Telemetry   config.Telemetry        `yaml:"telemetry"`
	Upgrade     config.Upgrade          `yaml:"upgrade"`
}

// Loaded are settings that were read, with the place of each.
type Loaded = config.Loaded[Settings]

// Check finds contradictions between sections. Each section checks itself before.
func (s Settings) Check(add config.Add) {
	s.Connections.CheckOAuth(s.Server.PublicURL, add.In("connections"))
	if model := s.Memory.Knowledge.Model; model != "" && !s.Models.Have(model) {
		add("memory.knowledge.model", "%q is not a model of models.providers; name one as PROVIDER/MODEL, or default",
			model)
	}
}

var reader = sync.OnceValue(config.NewReader[Settings])

// SettingsReader reads settings.
func SettingsReader() *config.Reader[Settings] { return reader() }

//go:embed example.yaml
var example embed.FS

// ExampleSettings returns a file to begin with. It loads as it is, and with the marks
// before the settings in it taken away.
func ExampleSettings() []byte {
	text, err := example.ReadFile("example.yaml")
	if err != nil {
		return nil // a test fails: the reference has the example
	}
	return text
}
