package sessions

import (
	"embed"

	"github.com/mcp-tools/mcp-tools/internal/config"
)

// Settings are the settings of sessions.
type Settings struct {
	Visibility Visibility `yaml:"visibility" default:"agent" enum:"self,tree,agent,all"`
}

//go:embed settings.txt
var texts embed.FS

// SettingTexts returns the texts about the settings.
func (Settings) SettingTexts() string { return config.Texts(texts) }
