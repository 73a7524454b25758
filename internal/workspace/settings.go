package workspace

import (
	"embed"

	"github.com/mcp-tools/mcp-tools/internal/config"
)

// Settings are the settings of files that callers see, and of their history.
type Settings struct {
	PerCaller    PerCaller               `yaml:"per_caller" restart:"true" default:"none" enum:"none,agent,user"`
	Roots        map[string]RootSettings `yaml:"roots" restart:"true" keys:"name"`
	Deny         []string                `yaml:"deny" form:"glob"`
	Protect      []string                `yaml:"protect" form:"glob"`
	HardLinks    HardLinks               `yaml:"hard_links" restart:"true" default:"inside" enum:"inside,allow"`
	Managed      string                  `yaml:"managed" form:"path" restart:"true"`
	UserBytes    config.Size             `yaml:"managed_user_bytes" restart:"true" default:"2GiB" min:"1MiB" max:"16TiB"`
	TeamBytes    config.Size             `yaml:"managed_team_bytes" restart:"true" default:"20GiB" min:"1MiB" max:"256TiB"`
	HistoryBytes config.Size             `yaml:"history_bytes" restart:"true" default:"1GiB" min:"1MiB" max:"16TiB"`
}

// RootSettings describe a directory beside the workspace.
type RootSettings struct {
	Path  string `yaml:"path" form:"path" required:"true"`
	Write bool   `yaml:"write"`
}

//go:embed settings.txt
var texts embed.FS

// SettingTexts returns the texts about the settings.
func (Settings) SettingTexts() string { return config.Texts(texts) }
