package config

import (
	"slices"
	"strings"
)

// Models has the settings of language models.
type Models struct {
	Default   string                   `yaml:"default" form:"label"`
	Providers map[string]ModelProvider `yaml:"providers" keys:"name"`
	Budget    ModelBudget              `yaml:"budget"`
}

// A ModelProvider is an endpoint with models.
type ModelProvider struct {
	Kind   string            `yaml:"kind" enum:"openai,anthropic"`
	URL    string            `yaml:"url" form:"url"`
	Key    Secret            `yaml:"key" form:"secret"`
	Models []string          `yaml:"models" form:"label" required:"true"`
	Prices map[string]string `yaml:"prices" keys:"label" form:"price"`
}

// ModelBudget limits what is used of models.
type ModelBudget struct {
	Call      string `yaml:"call" form:"budget"`
	Session   string `yaml:"session" form:"budget"`
	Principal string `yaml:"principal" form:"budget"`
	Day       string `yaml:"day" form:"budget"`
}

// ACPAgents are programs that are agents, by name.
type ACPAgents map[string]ACPAgent

// An ACPAgent is a program that is an agent.
type ACPAgent struct {
	Command     []string          `yaml:"command" form:"command" required:"true"`
	Environment map[string]string `yaml:"environment" keys:"variable" form:"label"`
	Hosts       []string          `yaml:"hosts" form:"hostport"`
}

func (m Models) check(add func(path, format string, args ...any)) {
	provider, model, _ := strings.Cut(m.Default, "/")
	switch {
	case m.Default == "" && len(m.Providers) > 1:
		add("models.default", "name the default model, as PROVIDER/MODEL; there are several providers")
	case m.Default != "" && !slices.Contains(m.Providers[provider].Models, model):
		add("models.default", "%q is not PROVIDER/MODEL with a model in the list of a provider", m.Default)
	}
	for _, name := range sorted(m.Providers) {
		p := m.Providers[name]
		for _, model := range sorted(p.Prices) {
			if !slices.Contains(p.Models, model) {
				add(under(under("models.providers", name)+".prices", model), "the provider has no model %q", model)
			}
		}
	}
}

// DefaultModel stands for the model that is used unless a call names another.
const DefaultModel = "default"

// have reports whether there is a model with a name, as PROVIDER/NAME or DefaultModel.
func (m Models) have(name string) bool {
	if name == DefaultModel {
		return len(m.Providers) > 0
	}
	provider, model, _ := strings.Cut(name, "/")
	return slices.Contains(m.Providers[provider].Models, model)
}
