package web

import (
	"embed"

	"github.com/mcp-tools/mcp-tools/internal/browser"
	"github.com/mcp-tools/mcp-tools/internal/config"
	"github.com/mcp-tools/mcp-tools/internal/egress/credential"
	"github.com/mcp-tools/mcp-tools/tools/web/search"
)

// Settings are the settings of the web tools.
type Settings struct {
	Allow       []string                       `yaml:"allow" form:"hosts"`
	Deny        []string                       `yaml:"deny" form:"hosts"`
	Private     []string                       `yaml:"private" form:"hostport"`
	Proxy       string                         `yaml:"proxy" restart:"true" form:"proxy"`
	Search      search.Settings                `yaml:"search" restart:"true"`
	Credentials map[string]credential.Settings `yaml:"credentials" restart:"true" keys:"name"`
	Browser     browser.Settings               `yaml:"browser" restart:"true"`
}

//go:embed settings.txt
var texts embed.FS

// SettingTexts returns the texts about the settings.
func (Settings) SettingTexts() string { return config.Texts(texts) }
