package code

import (
	"embed"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/config"
)

// Settings are the settings of language servers.
type Settings struct {
	Servers map[string]ServerSettings `yaml:"servers" keys:"label"`
	Memory  config.Size               `yaml:"memory" default:"4GiB" min:"64MiB" max:"1TiB"`
	Idle    time.Duration             `yaml:"idle" default:"10m" min:"10s" max:"24h"`
}

// ServerSettings describe the server of a language.
type ServerSettings struct {
	Command []string `yaml:"command" form:"command" required:"true"`
	Files   []string `yaml:"files" form:"label"`
}

//go:embed settings.txt
var texts embed.FS

// SettingTexts returns the texts about the settings.
func (Settings) SettingTexts() string { return config.Texts(texts) }
