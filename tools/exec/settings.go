package exec

import (
	"embed"
	"slices"
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/config"
	"github.com/mcp-tools/mcp-tools/tools/exec/cli"
)

// Settings are the settings of commands.
type Settings struct {
	Ask         string                         `yaml:"ask" default:"risky" enum:"risky,unknown,always"`
	Allow       []string                       `yaml:"allow" form:"command"`
	Groups      map[string]string              `yaml:"groups" keys:"name" enum:"deny,ask,off"`
	Environment map[string]string              `yaml:"environment" restart:"true" keys:"variable" form:"label"`
	Programs    map[string]cli.ProgramSettings `yaml:"programs" keys:"name"`
	Agents      map[string]AgentSettings       `yaml:"agents" keys:"label"`
}

// AgentSettings are the settings of the commands of one agent.
type AgentSettings struct {
	Groups   map[string]string              `yaml:"groups" keys:"name" enum:"deny,ask,off"`
	Programs map[string]cli.ProgramSettings `yaml:"programs" keys:"name"`
}

// Environ returns the variables of the settings for every command. getenv returns variables of the
// server.
func (s Settings) Environ(getenv func(string) string) []string {
	var all []string
	for name, value := range s.Environment {
		if inherited, ok := strings.CutPrefix(value, "env:"); ok {
			if value = getenv(inherited); value == "" {
				continue
			}
		}
		all = append(all, name+"="+value)
	}
	slices.Sort(all)
	return all
}

//go:embed settings.txt
var texts embed.FS

// SettingTexts returns the texts about the settings.
func (Settings) SettingTexts() string { return config.Texts(texts) }
