package acp

import (
	"embed"

	"github.com/mcp-tools/mcp-tools/internal/config"
)

// Settings are programs that are agents, by name.
type Settings map[string]ProgramSettings

// ProgramSettings describe a program that is an agent.
type ProgramSettings struct {
	Command     []string          `yaml:"command" form:"command" required:"true"`
	Environment map[string]string `yaml:"environment" keys:"variable" form:"label"`
	Hosts       []string          `yaml:"hosts" form:"hostport"`
}

//go:embed settings.txt
var texts embed.FS

// SettingTexts returns the texts about the settings.
func (Settings) SettingTexts() string { return config.Texts(texts) }
