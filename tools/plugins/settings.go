package plugins

import (
	"embed"

	"github.com/mcp-tools/mcp-tools/internal/config"
)

// Settings are the directories of plugins, in addition to the one beside the settings.
type Settings struct {
	Dirs []string `yaml:"dirs" form:"path"`
}

//go:embed settings.txt
var texts embed.FS

// SettingTexts returns the texts about the settings.
func (Settings) SettingTexts() string { return config.Texts(texts) }
