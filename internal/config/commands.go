package config

// Exec has the settings of commands.
type Exec struct {
	Ask         string            `yaml:"ask" default:"risky" enum:"risky,unknown,always"`
	Allow       []string          `yaml:"allow" form:"command"`
	Groups      map[string]string `yaml:"groups" keys:"name" enum:"deny,ask,off"`
	Environment map[string]string `yaml:"environment" restart:"true" keys:"variable" form:"label"`
	Inherit     []string          `yaml:"inherit" restart:"true" form:"variable"`
	Programs    []Program         `yaml:"programs" restart:"true"`
}

// A Program runs with credentials from the vault.
type Program struct {
	Name    string            `yaml:"name" form:"name" required:"true"`
	Preset  string            `yaml:"preset" enum:"gh,gcloud,aws,kubectl,terraform"`
	Path    string            `yaml:"path" form:"path"`
	SHA256  string            `yaml:"sha256" form:"digest"`
	Secrets map[string]string `yaml:"secrets" keys:"variable" form:"name"`
	Files   map[string]string `yaml:"files" keys:"variable" form:"name"`
	Set     map[string]string `yaml:"set" keys:"variable" form:"label"`
	Allow   []string          `yaml:"allow" form:"command"`
	Reads   []string          `yaml:"reads" form:"command"`
	Deny    []string          `yaml:"deny" form:"command"`
	Hosts   []string          `yaml:"hosts" form:"host"`
	Timeout Duration          `yaml:"timeout" min:"0" max:"1d"`
}

// Sandbox has the settings of the isolation of commands.
type Sandbox struct {
	Mode     string           `yaml:"mode" default:"auto" enum:"auto,docker,kernel,host,off" flag:"sandbox"`
	Network  bool             `yaml:"network" default:"false"`
	Profiles []SandboxProfile `yaml:"profiles"`
	Read     []string         `yaml:"read" form:"path"`
	Write    []string         `yaml:"write" form:"path"`
	Require  []string         `yaml:"require" default:"files,network" enum:"files,network,processes,memory,calls"`
	Temp     Size             `yaml:"temp" default:"512MiB" min:"1MiB" max:"1TiB"`
	Memory   Size             `yaml:"memory" default:"512MiB" min:"16MiB" max:"1TiB"`
	Docker   Docker           `yaml:"docker"`
}

// A SandboxProfile has settings for callers with one profile of the policy. What is
// not set is as for all callers.
type SandboxProfile struct {
	Profile string `yaml:"profile" form:"label" required:"true"`
	Mode    string `yaml:"mode" enum:"auto,docker,kernel,host,off"`
	Network string `yaml:"network" enum:"on,off"`
}

// Docker has the settings of containers.
type Docker struct {
	Image string   `yaml:"image" form:"label" flag:"sandbox-image"`
	Hosts []string `yaml:"hosts" form:"engine"`
	Agent string   `yaml:"agent" form:"path"`
}
