package config

// Web has the settings of the web tools.
type Web struct {
	Allow       []string                 `yaml:"allow" form:"hosts"`
	Deny        []string                 `yaml:"deny" form:"hosts"`
	Private     []string                 `yaml:"private" form:"hostport"`
	Proxy       string                   `yaml:"proxy" restart:"true" form:"proxy"`
	Search      WebSearch                `yaml:"search" restart:"true"`
	Credentials map[string]WebCredential `yaml:"credentials" restart:"true" keys:"name"`
	Browser     Browser                  `yaml:"browser" restart:"true"`
}

// WebSearch has the search engines.
type WebSearch struct {
	Engines []string          `yaml:"engines" form:"name"`
	Keys    map[string]Secret `yaml:"keys" keys:"name" form:"secret"`
	SearXNG string            `yaml:"searxng" form:"url"`
}

// A WebCredential is sent with requests to certain hosts.
type WebCredential struct {
	Hosts    []string `yaml:"hosts" form:"prefix" required:"true"`
	Secret   Secret   `yaml:"secret" form:"secret" required:"true"`
	As       string   `yaml:"as" form:"header"`
	Methods  []string `yaml:"methods" enum:"GET,HEAD,OPTIONS,POST,PUT,PATCH,DELETE"`
	Profiles []string `yaml:"profiles" form:"label"`
	Agents   []string `yaml:"agents" form:"label"`
}

// Browser has the settings of the browser.
type Browser struct {
	Path     string `yaml:"path" form:"path"`
	Insecure bool   `yaml:"without_sandbox" default:"false"`
}
