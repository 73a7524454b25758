package browser

import (
	"embed"

	"github.com/mcp-tools/mcp-tools/internal/config"
)

// Settings are the settings of the browser.
type Settings struct {
	Path     string `yaml:"path" form:"path"`
	Insecure bool   `yaml:"without_sandbox" default:"false"`
}

//go:embed settings.txt
var texts embed.FS

// SettingTexts returns the texts about the settings.
func (Settings) SettingTexts() string { return config.Texts(texts) }
