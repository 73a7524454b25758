package audit

import (
	"embed"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/config"
)

// Settings are the settings of the audit log.
type Settings struct {
	MaxAge    time.Duration `yaml:"max_age" restart:"true" default:"90d" min:"0" max:"36500d"`
	Arguments string        `yaml:"arguments" default:"about" enum:"digest,about,shape"`
	Results   string        `yaml:"results" default:"digest" enum:"digest,head"`
}

//go:embed settings.txt
var texts embed.FS

// SettingTexts returns the texts about the settings.
func (Settings) SettingTexts() string { return config.Texts(texts) }
