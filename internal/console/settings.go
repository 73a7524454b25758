package console

import (
	"embed"

	"github.com/mcp-tools/mcp-tools/internal/config"
)

// Settings are the settings of the console that the server serves. The one of mcp-tools ui needs none.
type Settings struct {
	Listen string `yaml:"listen" form:"address"`
	URL    string `yaml:"url" form:"url"`
}

// Check finds a URL without a listener.
func (s Settings) Check(add config.Add) {
	if s.URL != "" && s.Listen == "" {
		add("url", "it has no effect without console.listen")
	}
}

//go:embed settings.txt
var texts embed.FS

// SettingTexts returns the texts about the settings.
func (Settings) SettingTexts() string { return config.Texts(texts) }
