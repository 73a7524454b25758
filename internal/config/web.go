package config

// Web has the settings of the web tools.
type Web struct {
	Allow       []string        `yaml:"allow" form:"hosts"`
	Deny        []string        `yaml:"deny" form:"hosts"`
	Private     []string        `yaml:"private" form:"hostport"`
	Methods     []string        `yaml:"methods" default:"*" enum:"GET,HEAD,OPTIONS,POST,PUT,PATCH,DELETE"`
	Profiles    []WebProfile    `yaml:"profiles"`
	Proxy       string          `yaml:"proxy" restart:"true" form:"proxy"`
	Robots      bool            `yaml:"robots" default:"false"`
	Search      WebSearch       `yaml:"search" restart:"true"`
	Credentials []WebCredential `yaml:"credentials" restart:"true"`
	Browser     Browser         `yaml:"browser" restart:"true"`
}

// A WebProfile has settings for callers with one profile of the policy. What is not
// set is as for all callers.
type WebProfile struct {
	Profile string   `yaml:"profile" form:"label" required:"true"`
	Allow   []string `yaml:"allow" form:"hosts"`
	Deny    []string `yaml:"deny" form:"hosts"`
	Private []string `yaml:"private" form:"hostport"`
	Methods []string `yaml:"methods" enum:"GET,HEAD,OPTIONS,POST,PUT,PATCH,DELETE"`
}

// WebSearch has the search engines.
type WebSearch struct {
	Engines []string          `yaml:"engines" form:"name"`
	Keys    map[string]Secret `yaml:"keys" keys:"name" form:"secret"`
	SearXNG string            `yaml:"searxng" form:"url"`
}

// A WebCredential is sent with requests to certain hosts.
type WebCredential struct {
	Name      string   `yaml:"name" form:"name" required:"true"`
	Hosts     []string `yaml:"hosts" form:"hosts" required:"true"`
	Paths     []string `yaml:"paths" form:"label"`
	Secret    Secret   `yaml:"secret" form:"secret" required:"true"`
	As        string   `yaml:"as" enum:"bearer,basic,header"`
	Header    string   `yaml:"header" form:"header"`
	Methods   []string `yaml:"methods" enum:"GET,HEAD,OPTIONS,POST,PUT,PATCH,DELETE"`
	Profiles  []string `yaml:"profiles" form:"label"`
	Agents    []string `yaml:"agents" form:"label"`
	Redirects bool     `yaml:"redirects"`
}

// Browser has the settings of the browser.
type Browser struct {
	Path     string `yaml:"path" form:"path"`
	Insecure bool   `yaml:"without_sandbox" default:"false"`
}
