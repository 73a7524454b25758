package llm

import (
	"embed"
	"fmt"
	"maps"
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

// Options returns the providers, the default model and the budgets of the settings. No provider has its key yet.
func (m Settings) Options() (o Options, err error) {
	o.Default = m.Default
	for _, name := range slices.Sorted(maps.Keys(m.Providers)) {
		p := m.Providers[name]
		one := Provider{
			Endpoint: Endpoint{Name: name, Kind: Kind(p.Kind), URL: p.URL}, Models: p.Models,
			Prices: make(map[string]Price),
		}
		if one.Kind == "" {
			one.Kind = OpenAI
		}
		for model, text := range p.Prices {
			if one.Prices[model], err = ParsePrice(text); err != nil {
				return o, fmt.Errorf("models.providers.%s.prices: %w", name, err)
			}
		}
		o.Providers = append(o.Providers, one)
	}
	for _, limit := range []struct {
		name, text string
		into       *Amount
	}{
		{"call", m.Budget.Call, &o.Budgets.Call}, {"session", m.Budget.Session, &o.Budgets.Session},
		{"principal", m.Budget.Principal, &o.Budgets.Principal}, {"day", m.Budget.Day, &o.Budgets.Day},
	} {
		if *limit.into, err = ParseAmount(limit.text); err != nil {
			return o, fmt.Errorf("models.budget.%s: %w", limit.name, err)
		}
	}
	return o, nil
}

// Warn finds models that cannot be used, because there is a budget in dollars and their price is not known.
func (m Settings) Warn(add config.Add) {
	o, err := m.Options()
	if err != nil {
		return // the start fails
	}
	for _, p := range o.Providers {
		for _, model := range p.Models {
			if o.Unpriced(p, model) {
				add(config.Under("providers", p.Name)+".models", "%s cannot be used: there is a budget in dollars, "+
					"and its price is not known; set it in prices, such as {%s: 3/15}", model, model)
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
