package llm

import (
	"embed"
	"slices"
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/config"
)

// Settings are the settings of language models.
type Settings struct {
	Default   string                      `yaml:"default" form:"label"`
	Providers map[string]ProviderSettings `yaml:"providers" keys:"name"`
	Budget    BudgetSettings              `yaml:"budget"`
}

// Check finds names of models that are in no list.
func (m Settings) Check(add config.Add) {
	provider, model, _ := strings.Cut(m.Default, "/")
	switch {
	case m.Default == "" && len(m.Providers) > 1:
		add("default", "name the default model, as PROVIDER/MODEL; there are several providers")
	case m.Default != "" && !slices.Contains(m.Providers[provider].Models, model):
		add("default", "%q is not PROVIDER/MODEL with a model in the list of a provider", m.Default)
	}
	for _, name := range config.Sorted(m.Providers) {
		p := m.Providers[name]
		for _, model := range config.Sorted(p.Prices) {
			if !slices.Contains(p.Models, model) {
				add(config.Under(config.Under("providers", name)+".prices", model), "the provider has no model %q", model)
			}
		}
	}
}

// Have reports whether there is a model with a name, as PROVIDER/NAME or DefaultModel.
func (m Settings) Have(name string) bool {
	if name == DefaultModel {
		return len(m.Providers) > 0
	}
	provider, model, _ := strings.Cut(name, "/")
	return slices.Contains(m.Providers[provider].Models, model)
}

// ProviderSettings describe an endpoint with models.
type ProviderSettings struct {
	Kind   string            `yaml:"kind" enum:"openai,anthropic"`
	URL    string            `yaml:"url" form:"url"`
	Key    config.Secret     `yaml:"key" form:"secret"`
	Models []string          `yaml:"models" form:"label" required:"true"`
	Prices map[string]string `yaml:"prices" keys:"label" form:"price"`
}

// BudgetSettings are the limits of the use of models.
type BudgetSettings struct {
	Call      string `yaml:"call" form:"budget"`
	Session   string `yaml:"session" form:"budget"`
	Principal string `yaml:"principal" form:"budget"`
	Day       string `yaml:"day" form:"budget"`
}

// DefaultModel stands for the model that is used unless a call names another.
const DefaultModel = "default"

//go:embed settings.txt
var texts embed.FS

// SettingTexts returns the texts about the settings.
func (Settings) SettingTexts() string { return config.Texts(texts) }
