// Package config reads the operator's settings: one optional YAML file, the
// environment and the command line, over defaults that work without any.
//
// A section is a struct whose fields declare settings, with tags (see field.go) and with texts in a file settings.txt
// beside it (see Documented). Each room declares its own section; this package has the sections of the house, such as
// Server and Store. The program lists all sections as the fields of one struct, and a Reader reads them. Defaults,
// checks, environment variables, flags, the reference and the JSON Schema follow from the declarations.
//
// The package knows the valid values, the source of each value, and how to notice changes. It does not know the effect
// of settings. The file contains no secrets, only references to them (Secret).
//
// Begin with NewReader, then Load.
package config

// Server has the settings of transports.
type Server struct {
	HTTP         string   `yaml:"http" form:"address" flag:"http"`
	SSE          bool     `yaml:"sse" default:"false" flag:"sse"`
	Structured   bool     `yaml:"structured" default:"false"`
	TLSCert      string   `yaml:"tls_cert" form:"own path" flag:"tls-cert"`
	TLSKey       string   `yaml:"tls_key" form:"own path" flag:"tls-key"`
	AllowedHosts []string `yaml:"allowed_hosts" form:"site"`
	PublicURL    string   `yaml:"public_url" form:"url"`
	Metrics      string   `yaml:"metrics" form:"address" flag:"metrics"`
	OperatorAPI  bool     `yaml:"operator_api" default:"false"`
	Internal     string   `yaml:"internal" form:"address"`
	Instructions string   `yaml:"instructions"`
}

// Connections has the settings of callers and their authentication.
type Connections struct {
	OAuth  OAuth            `yaml:"oauth" restart:"true"`
	Tokens map[string]Token `yaml:"tokens" keys:"name"`
	Stdio  Stdio            `yaml:"stdio" restart:"true"`
}

// OAuth has the settings of access tokens. Without an issuer none are accepted.
type OAuth struct {
	Issuer   string              `yaml:"issuer" form:"url"`
	Audience string              `yaml:"audience" form:"label"`
	Scopes   map[string][]string `yaml:"scopes" keys:"scope" form:"profile or *"`
}

// A Token is a bearer token, known by its hash only.
type Token struct {
	Hash       string   `yaml:"hash" form:"sha256" required:"true"`
	Profiles   []string `yaml:"profiles" form:"profile or *" required:"true"`
	Agent      string   `yaml:"agent" form:"label"`
	User       string   `yaml:"user" form:"label"`
	Workspace  string   `yaml:"workspace" form:"path"`
	Provider   string   `yaml:"provider" form:"label"`
	Chat       string   `yaml:"chat" form:"label"`
	PeerKind   string   `yaml:"peer_kind" enum:"direct,group"`
	Topic      string   `yaml:"topic" form:"label"`
	Structured bool     `yaml:"structured"`
}

// Stdio describes the caller on stdin and stdout.
type Stdio struct {
	Profile   string `yaml:"profile" form:"profile" flag:"profile"`
	Agent     string `yaml:"agent" form:"label" flag:"agent"`
	User      string `yaml:"user" form:"label" flag:"user"`
	Provider  string `yaml:"provider" form:"label" flag:"provider"`
	Workspace string `yaml:"workspace" form:"path" flag:"workspace"`
}

// Check finds settings that do not go together.
func (s Server) Check(add Add) {
	if (s.TLSCert == "") != (s.TLSKey == "") {
		add("tls_cert", "a certificate and its key go together; set both tls_cert and tls_key, or neither")
	}
	if s.Metrics != "" && s.Metrics == s.HTTP {
		add("metrics", "this is the address of server.http; metrics need one of their own")
	}
}

// Check finds tokens that are listed twice.
func (c Connections) Check(add Add) {
	names := make(map[string]string) // by hash
	for _, name := range Sorted(c.Tokens) {
		hash := c.Tokens[name].Hash
		if other, taken := names[hash]; taken {
			add(Under("tokens", name)+".hash", "%s has the same token", other)
		}
		names[hash] = name
	}
}

// CheckOAuth finds settings that access tokens need. publicURL is the URL of the server.
func (c Connections) CheckOAuth(publicURL string, add Add) {
	o := c.OAuth
	switch {
	case o.Issuer == "" && (o.Audience != "" || o.Scopes != nil):
		add("oauth", "without an issuer the rest has no meaning; set issuer, or remove the section")
	case o.Issuer == "":
	case o.Audience == "" && publicURL == "":
		add("oauth.audience",
			"set audience or server.public_url; without one, tokens meant for others would count here")
	case len(o.Scopes) == 0:
		add("oauth.scopes", "set scopes; without any, no token opens anything")
	}
}
