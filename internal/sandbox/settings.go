package sandbox

import (
	"embed"

	"github.com/mcp-tools/mcp-tools/internal/config"
)

// Settings are the settings of the isolation of commands.
type Settings struct {
	Mode       string                   `yaml:"mode" default:"auto" enum:"auto,kubernetes,docker,kernel,seatbelt,host,off" flag:"sandbox"`
	Network    string                   `yaml:"network" default:"ask" enum:"off,registries,ask,on"`
	Profiles   map[string]string        `yaml:"profiles" keys:"profile" enum:"auto,kubernetes,docker,kernel,seatbelt,host,off"`
	Agents     map[string]AgentSettings `yaml:"agents" keys:"label"`
	Read       []string                 `yaml:"read" form:"path"`
	Write      []string                 `yaml:"write" form:"path"`
	Require    []string                 `yaml:"require" default:"files,network" enum:"files,network,processes,memory,calls"`
	Elevated   bool                     `yaml:"elevated"`
	Temp       config.Size              `yaml:"temp" default:"512MiB" min:"1MiB" max:"1TiB"`
	Memory     config.Size              `yaml:"memory" default:"512MiB" min:"16MiB" max:"1TiB"`
	Docker     DockerSettings           `yaml:"docker"`
	Kubernetes KubernetesSettings       `yaml:"kubernetes"`
}

// Check finds missing images.
func (s Settings) Check(add config.Add) {
	if s.Mode == "docker" && s.Docker.Image == "" {
		add("docker.image", "name the image that containers are made of; mode docker needs one")
	}
	if s.Mode == "kubernetes" && s.Kubernetes.Image == "" {
		add("kubernetes.image", "name the image that pods are made of; mode kubernetes needs one")
	}
}

// AgentSettings are the settings of the sandboxes of one agent.
type AgentSettings struct {
	Mode    string `yaml:"mode" enum:"auto,kubernetes,docker,kernel,seatbelt,host,off"`
	Network string `yaml:"network" enum:"off,registries,ask,on"`
}

// DockerSettings are the settings of containers.
type DockerSettings struct {
	Image string   `yaml:"image" form:"label" flag:"sandbox-image"`
	Hosts []string `yaml:"hosts" form:"engine"`
	Certs string   `yaml:"certs" form:"path"`
	Files string   `yaml:"files" default:"copy" enum:"copy,mount"`
}

// KubernetesSettings are the settings of pods.
type KubernetesSettings struct {
	Image      string      `yaml:"image" form:"label"`
	Agent      string      `yaml:"agent" form:"label"`
	Namespace  string      `yaml:"namespace" form:"label" default:"mcp-tools-sandboxes"`
	Kubeconfig string      `yaml:"kubeconfig" form:"path"`
	Runtime    string      `yaml:"runtime_class" form:"label"`
	CPU        string      `yaml:"cpu" form:"label" default:"1"`
	Disk       config.Size `yaml:"disk" default:"4GiB" min:"1GiB" max:"1TiB"`
	PullSecret string      `yaml:"pull_secret" form:"label"`
}

//go:embed settings.txt
var texts embed.FS

// SettingTexts returns the texts about the settings.
func (Settings) SettingTexts() string { return config.Texts(texts) }
