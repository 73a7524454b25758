package vault

import (
	"embed"

	"github.com/mcp-tools/mcp-tools/internal/config"
)

// Settings are the settings of the vault of secrets.
type Settings struct {
	KeyFrom    KeyStore `yaml:"key_from" default:"file" enum:"file,env,keyring,command"`
	KeyFile    string   `yaml:"key_file" form:"path"`
	KeyCommand []string `yaml:"key_command" form:"command"`
}

//go:embed settings.txt
var texts embed.FS

// SettingTexts returns the texts about the settings.
func (Settings) SettingTexts() string { return config.Texts(texts) }
