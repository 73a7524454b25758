package acp

import (
	"embed"
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/config"
)

// Settings are programs that are agents, by name.
type Settings map[string]ProgramSettings

// ProgramSettings describe a program that is an agent.
type ProgramSettings struct {
	Command     []string          `yaml:"command" form:"command" required:"true"`
	Environment map[string]string `yaml:"environment" keys:"variable" form:"label"`
	Hosts       []string          `yaml:"hosts" form:"hostport"`
}

// Profiles returns the agent programs of the settings, by name.
func (s Settings) Profiles() map[string]Profile {
	all := make(map[string]Profile, len(s))
	for name, one := range s {
		profile := Profile{
			Name: name, Command: one.Command, Hosts: one.Hosts, Env: make(map[string]string),
			Secrets: make(map[string]string),
		}
		for variable, value := range one.Environment {
			if secret, ok := strings.CutPrefix(value, "secret:"); ok {
				profile.Secrets[variable] = secret
			} else {
				profile.Env[variable] = value
			}
		}
		all[name] = profile
	}
	return all
}

//go:embed settings.txt
var texts embed.FS

// SettingTexts returns the texts about the settings.
func (Settings) SettingTexts() string { return config.Texts(texts) }
