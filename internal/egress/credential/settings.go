package credential

import (
	"embed"

	"github.com/mcp-tools/mcp-tools/internal/config"
)

// Settings describe a credential that is sent with requests to certain hosts.
type Settings struct {
	Hosts    []string      `yaml:"hosts" form:"prefix" required:"true"`
	Secret   config.Secret `yaml:"secret" form:"secret" required:"true"`
	As       string        `yaml:"as" form:"header"`
	Methods  []string      `yaml:"methods" enum:"GET,HEAD,OPTIONS,POST,PUT,PATCH,DELETE"`
	Profiles []string      `yaml:"profiles" form:"profile"`
	Agents   []string      `yaml:"agents" form:"label"`
}

//go:embed settings.txt
var texts embed.FS

// SettingTexts returns the texts about the settings.
func (Settings) SettingTexts() string { return config.Texts(texts) }
