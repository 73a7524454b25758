package config

import "slices"

// Media has the settings of documents, pictures, sound and video.
type Media struct {
	Transcribe MediaCommand `yaml:"transcribe"`
	Speech     MediaCommand `yaml:"speech"`
	Languages  []string     `yaml:"languages" form:"ocr" default:"eng"`

	Providers map[string]MediaProvider `yaml:"providers" keys:"name"`
	Chain     MediaChain               `yaml:"chain"`
	AskAbove  string                   `yaml:"ask_above" default:"$0.50" form:"dollars"`
}

// A MediaCommand is a program that works on sound.
type MediaCommand struct {
	Command []string `yaml:"command" form:"command"`
}

// A MediaProvider is an endpoint that makes or reads media.
type MediaProvider struct {
	Kind   string            `yaml:"kind" enum:"openai,gemini,minimax,dashscope,openrouter,fal,elevenlabs"`
	URL    string            `yaml:"url" form:"url"`
	Key    Secret            `yaml:"key" form:"secret"`
	Prices map[string]string `yaml:"prices" keys:"label" form:"dollars"`
}

// KindOf returns the kind of a provider with a name.
func (p MediaProvider) KindOf(name string) string {
	if p.Kind != "" {
		return p.Kind
	}
	return name
}

// MediaChain has the models that are asked for each task.
type MediaChain struct {
	Photo         []string `yaml:"photo" form:"label"`
	Speech        []string `yaml:"speech" form:"label"`
	Transcription []string `yaml:"transcription" form:"label"`
	Description   []string `yaml:"description" form:"label"`
	Sound         []string `yaml:"sound" form:"label"`
	Music         []string `yaml:"music" form:"label"`
	Video         []string `yaml:"video" form:"label"`
}

func (m Media) check(add func(path, format string, args ...any)) {
	for _, name := range sorted(m.Providers) {
		p := m.Providers[name]
		at := under("media.providers", name)
		kinds := []string{"openai", "gemini", "minimax", "dashscope", "openrouter", "fal", "elevenlabs"}
		if !slices.Contains(kinds, p.KindOf(name)) {
			add(at+".kind", "set it: only a provider that is named like its kind can do without")
		}
		if p.KindOf(name) == "dashscope" && p.URL == "" {
			add(at+".url", "set it: each region of DashScope has its own, such as https://dashscope-intl.aliyuncs.com")
		}
	}
}
