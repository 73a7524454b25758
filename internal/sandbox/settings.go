package sandbox

import (
	"embed"

	"github.com/mcp-tools/mcp-tools/internal/config"
)

// Settings are the settings of the isolation of commands.
type Settings struct {
	Mode     string                   `yaml:"mode" default:"auto" enum:"auto,docker,kernel,host,off" flag:"sandbox"`
	Network  string                   `yaml:"network" default:"ask" enum:"off,registries,ask,on"`
	Profiles map[string]string        `yaml:"profiles" keys:"profile" enum:"auto,docker,kernel,host,off"`
	Agents   map[string]AgentSettings `yaml:"agents" keys:"label"`
	Read     []string                 `yaml:"read" form:"path"`
	Write    []string                 `yaml:"write" form:"path"`
	Require  []string                 `yaml:"require" default:"files,network" enum:"files,network,processes,memory,calls"`
	Elevated bool                     `yaml:"elevated"`
	Temp     config.Size              `yaml:"temp" default:"512MiB" min:"1MiB" max:"1TiB"`
	Memory   config.Size              `yaml:"memory" default:"512MiB" min:"16MiB" max:"1TiB"`
	Docker   DockerSettings           `yaml:"docker"`
}

// Check finds a missing image.
func (s Settings) Check(add config.Add) {
	if s.Mode == "docker" && s.Docker.Image == "" {
		add("docker.image", "name the image that containers are made of; mode docker needs one")
	}
}

// AgentSettings are the settings of the sandboxes of one agent.
type AgentSettings struct {
	Mode    string `yaml:"mode" enum:"auto,docker,kernel,host,off"`
	Network string `yaml:"network" enum:"off,registries,ask,on"`
}

// DockerSettings are the settings of containers.
type DockerSettings struct {
	Image string   `yaml:"image" form:"label" flag:"sandbox-image"`
	Hosts []string `yaml:"hosts" form:"engine"`
	Certs string   `yaml:"certs" form:"path"`
	Files string   `yaml:"files" default:"copy" enum:"copy,mount"`
}

//go:embed settings.txt
var texts embed.FS

// SettingTexts returns the texts about the settings.
func (Settings) SettingTexts() string { return config.Texts(texts) }
