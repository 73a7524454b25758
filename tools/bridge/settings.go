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

// Warn finds credentials that are written out.
func (s Settings) Warn(add config.Add) {
	for _, name := range config.Sorted(s) {
		for table, values := range map[string]map[string]string{"environment": s[name].Environment, "headers": s[name].Headers} {
			for key, value := range values {
				if writtenOut(key, value) {
					add(config.Under("", name)+"."+table+"."+key, "a credential is written out; put it into the vault "+
						"with mcp-tools secrets set NAME, and write secret:NAME here")
				}
			}
		}
	}
}

// Check finds servers that cannot work.
func (s Settings) Check(add config.Add) {
	for _, name := range config.Sorted(s) {
		if err := errors.Join(CheckName(name), s[name].Check()); err != nil {
			add(config.Under("", name), "%v", err)
		}
	}
}
