package cli

import (
	"embed"

	"github.com/mcp-tools/mcp-tools/internal/config"
)

// ProgramSettings describe a program that runs with credentials from the vault.
type ProgramSettings struct {
	Path        string            `yaml:"path" form:"path"`
	Environment map[string]string `yaml:"environment" keys:"variable" form:"label"`
	Allow       []string          `yaml:"allow" form:"command"`
	Hosts       []string          `yaml:"hosts" form:"host"`
}

//go:embed settings.txt
var texts embed.FS

// SettingTexts returns the texts about the settings.
func (ProgramSettings) SettingTexts() string { return config.Texts(texts) }
