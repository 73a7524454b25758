package provider

import (
	"cmp"
	"embed"

	"github.com/mcp-tools/mcp-tools/internal/config"
)

// Settings describe an endpoint that makes or reads media.
type Settings struct {
	Kind   Kind              `yaml:"kind"`
	URL    string            `yaml:"url" form:"url"`
	Key    config.Secret     `yaml:"key" form:"secret"`
	Prices map[string]string `yaml:"prices" keys:"label" form:"dollars"`
}

// KindOf returns the kind of a provider with a name.
func (p Settings) KindOf(name string) Kind { return cmp.Or(p.Kind, Kind(name)) }

// Check finds a missing kind or URL of a provider with a name.
func (p Settings) Check(name string, add config.Add) {
	switch kind := p.KindOf(name).find(); {
	case kind == nil:
		add("kind", "set it: only a provider that is named like its kind can do without")
	case p.URL == "" && kind.URL == "":
		add("url", "set it: %s", kind.URLs)
	}
}

// ChainSettings are the models that are asked for each task.
type ChainSettings struct {
	Photo         []string `yaml:"photo" form:"label"`
	Speech        []string `yaml:"speech" form:"label"`
	Transcription []string `yaml:"transcription" form:"label"`
	Description   []string `yaml:"description" form:"label"`
	Sound         []string `yaml:"sound" form:"label"`
	Music         []string `yaml:"music" form:"label"`
	Video         []string `yaml:"video" form:"label"`
}

//go:embed settings.txt
var texts embed.FS

// SettingTexts returns the texts about the settings.
func (Settings) SettingTexts() string { return config.Texts(texts) }
