package approvals

import (
	"embed"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/config"
)

// Settings are the settings of calls that need an approval.
type Settings struct {
	Timeout time.Duration `yaml:"timeout" default:"2m" min:"1s" max:"1d"`
	Wait    string        `yaml:"wait" default:"attended" enum:"attended,always,never"`
	Desktop bool          `yaml:"desktop" default:"false" restart:"true"`
}

//go:embed settings.txt
var texts embed.FS

// SettingTexts returns the texts about the settings.
func (Settings) SettingTexts() string { return config.Texts(texts) }
