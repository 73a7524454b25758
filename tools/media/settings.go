package media

import (
	"embed"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/config"
	"github.com/mcp-tools/mcp-tools/internal/llm"
	"github.com/mcp-tools/mcp-tools/tools/media/provider"
	"github.com/mcp-tools/mcp-tools/tools/media/provider/wire"
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

// Options returns the providers of media in the settings, and their order. None has its key yet.
func (m Settings) Options() (o provider.Options, err error) {
	o.Chains = map[wire.Task][]string{
		wire.Photo: m.Chain.Photo, wire.Speech: m.Chain.Speech, wire.Transcription: m.Chain.Transcription,
		wire.Description: m.Chain.Description, wire.Sound: m.Chain.Sound, wire.Music: m.Chain.Music,
		wire.Video: m.Chain.Video,
	}
	above, err := llm.ParseAmount(m.AskAbove)
	if o.AskAbove = above.Money; err != nil && m.AskAbove != "$0" {
		return o, fmt.Errorf("media.ask_above: %w", err)
	}
	for _, name := range slices.Sorted(maps.Keys(m.Providers)) {
		p := m.Providers[name]
		e := provider.Endpoint{
			Name: name, Kind: provider.Kind(p.KindOf(name)), URL: p.URL, Prices: make(map[string]float64),
		}
		for model, text := range p.Prices {
			if e.Prices[model], err = strconv.ParseFloat(strings.TrimPrefix(text, "$"), 64); err != nil {
				return o, fmt.Errorf("media.providers.%s.prices: %w", name, err)
			}
		}
		o.Endpoints = append(o.Endpoints, e)
	}
	return o, nil
}

// CommandSettings describe a program that works on sound.
type CommandSettings struct {
	Command []string `yaml:"command" form:"command"`
}

//go:embed settings.txt
var texts embed.FS

// SettingTexts returns the texts about the settings.
func (Settings) SettingTexts() string { return config.Texts(texts) }
