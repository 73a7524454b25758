package bridge

import (
	"embed"
	"errors"

	"github.com/mcp-tools/mcp-tools/internal/config"
)

// Settings are other MCP servers, by name.
type Settings map[string]Server

//go:embed settings.txt
var texts embed.FS

// SettingTexts returns the texts about the settings.
func (Settings) SettingTexts() string { return config.Texts(texts) }

// Check finds servers that cannot work.
func (s Settings) Check(add config.Add) {
	for _, name := range config.Sorted(s) {
		if err := errors.Join(CheckName(name), s[name].Check()); err != nil {
			add(config.Under("", name), "%v", err)
		}
	}
}
