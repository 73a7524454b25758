package media

import (
	"embed"

	"github.com/mcp-tools/mcp-tools/internal/config"
	"github.com/mcp-tools/mcp-tools/tools/media/provider"
)

// Settings are the settings of documents, pictures, sound and video.
type Settings struct {
	Transcribe CommandSettings `yaml:"transcribe"`
	Speech     CommandSettings `yaml:"speech"`
	Languages  []string        `yaml:"languages" form:"ocr" default:"eng"`

	Providers map[string]provider.Settings `yaml:"providers" keys:"name"`
	Chain     provider.ChainSettings       `yaml:"chain"`
	AskAbove  string                       `yaml:"ask_above" default:"$0.50" form:"dollars"`
}

// Check finds providers without a kind or a URL.
func (m Settings) Check(add config.Add) {
	for _, name := range config.Sorted(m.Providers) {
		m.Providers[name].Check(name, add.In(config.Under("providers", name)))
	}
}

// CommandSettings describe a program that works on sound.
type CommandSettings struct {
	Command []string `yaml:"command" form:"command"`
}

//go:embed settings.txt
var texts embed.FS

// SettingTexts returns the texts about the settings.
func (Settings) SettingTexts() string { return config.Texts(texts) }
