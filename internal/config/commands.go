package config

// Exec has the settings of commands.
type Exec struct {
	Ask         string               `yaml:"ask" default:"risky" enum:"risky,unknown,always"`
	Allow       []string             `yaml:"allow" form:"command"`
	Groups      map[string]string    `yaml:"groups" keys:"name" enum:"deny,ask,off"`
	Environment map[string]string    `yaml:"environment" restart:"true" keys:"variable" form:"label"`
	Programs    map[string]Program   `yaml:"programs" keys:"name"`
	Agents      map[string]ExecAgent `yaml:"agents" keys:"label"`
}

// ExecAgent has the settings of the commands of one agent.
type ExecAgent struct {
	Groups   map[string]string  `yaml:"groups" keys:"name" enum:"deny,ask,off"`
	Programs map[string]Program `yaml:"programs" keys:"name"`
}

// A Program runs with credentials from the vault.
type Program struct {
	Path        string            `yaml:"path" form:"path"`
	Environment map[string]string `yaml:"environment" keys:"variable" form:"label"`
	Allow       []string          `yaml:"allow" form:"command"`
	Hosts       []string          `yaml:"hosts" form:"host"`
}

// Sandbox has the settings of the isolation of commands.
type Sandbox struct {
	Mode     string                  `yaml:"mode" default:"auto" enum:"auto,docker,kernel,host,off" flag:"sandbox"`
	Network  string                  `yaml:"network" default:"ask" enum:"off,registries,ask,on"`
	Profiles map[string]string       `yaml:"profiles" keys:"label" enum:"auto,docker,kernel,host,off"`
	Agents   map[string]SandboxAgent `yaml:"agents" keys:"label"`
	Read     []string                `yaml:"read" form:"path"`
	Write    []string                `yaml:"write" form:"path"`
	Require  []string                `yaml:"require" default:"files,network" enum:"files,network,processes,memory,calls"`
	Elevated bool                    `yaml:"elevated"`
	Temp     Size                    `yaml:"temp" default:"512MiB" min:"1MiB" max:"1TiB"`
	Memory   Size                    `yaml:"memory" default:"512MiB" min:"16MiB" max:"1TiB"`
	Docker   Docker                  `yaml:"docker"`
}

// SandboxAgent has the settings of the sandboxes of one agent.
type SandboxAgent struct {
	Mode    string `yaml:"mode" enum:"auto,docker,kernel,host,off"`
	Network string `yaml:"network" enum:"off,registries,ask,on"`
}

// Docker has the settings of containers.
type Docker struct {
	Image string   `yaml:"image" form:"label" flag:"sandbox-image"`
	Hosts []string `yaml:"hosts" form:"engine"`
}
