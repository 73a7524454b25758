package config

// MCPServers are other MCP servers, by name.
type MCPServers map[string]MCPServer

// An MCPServer is another MCP server. It has a command or a URL.
type MCPServer struct {
	Command     []string          `yaml:"command" form:"command"`
	Environment map[string]string `yaml:"environment" keys:"variable" form:"label"`
	URL         string            `yaml:"url" form:"url"`
	Transport   string            `yaml:"transport" enum:"http,sse"`
	Headers     map[string]string `yaml:"headers" keys:"header" form:"label"`
	Sandbox     string            `yaml:"sandbox" enum:"auto,kernel,docker,host"`
	Read        []string          `yaml:"read" form:"path"`
	Write       []string          `yaml:"write" form:"path"`
	Hosts       []string          `yaml:"hosts" form:"hostport"`
	Timeout     Duration          `yaml:"timeout" min:"1s" max:"1h"`
	Disabled    bool              `yaml:"disabled"`
	Trust       string            `yaml:"trust" enum:"none,annotations,full"`
	Access      string            `yaml:"access" enum:"all,granted"`
	Separate    bool              `yaml:"separate"`
	Tools       []string          `yaml:"tools" form:"label"`
	Deny        []string          `yaml:"deny" form:"label"`
	Risks       map[string]string `yaml:"risks" keys:"label" form:"label"`
	Elicitation bool              `yaml:"elicitation"`
	Sampling    string            `yaml:"sampling" form:"budget"`
	Resources   bool              `yaml:"resources"`
}
