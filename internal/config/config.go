// Package config reads the operator's settings: one optional YAML file, the
// environment and the command line, over defaults that work without any.
//
// It knows what can be set, what is accepted, where each value came from and
// how to notice a change. It does not know what a setting does: the parts of
// the program take their values from Config and know nothing of YAML. Secrets
// never stand in the file; it holds references to them (Secret).
//
// A setting is declared once, as a field of a section with its tags. Defaults,
// checks, names in the environment, flags, the reference and the JSON Schema
// are all read from that declaration (see field.go), so a new setting is one
// line here.
//
// Begin with Config, then Load.
package config

import "github.com/mcp-tools/mcp-tools/policy"

// Config is what an operator can set. Default returns one that is ready to use.
type Config struct {
	Server      Server       `yaml:"server" restart:"true" doc:"How clients reach the server."`
	Connections Connections  `yaml:"connections" doc:"Who may connect, and as whom."`
	Policy      policy.Rules `yaml:"policy" flags:"autonomy" doc:"Which tools callers may use. [policy.md](policy.md) tells how a decision is made."`
	Workspace   Workspace    `yaml:"workspace" restart:"true" doc:"The files that callers see."`
	Agents      []Agent      `yaml:"agents" restart:"true" doc:"What is said about agents beforehand. [memory.md](memory.md#what-an-agent-is-told) tells more."`
	Memory      Memory       `yaml:"memory" restart:"true" doc:"What agents remember. [memory.md](memory.md) tells more."`
	Skills      Skills       `yaml:"skills" restart:"true" doc:"Instructions that agents look up when they need them. [memory.md](memory.md) tells more."`
	Exec        Exec         `yaml:"exec" doc:"How commands are judged and run. [commands.md](commands.md) tells more."`
	Sandbox     Sandbox      `yaml:"sandbox" restart:"true" doc:"The walls around commands. [security.md](security.md) says what they stop."`
	Web         Web          `yaml:"web" doc:"What the tools of the web may reach. [web.md](web.md) tells more."`
	Limits      Limits       `yaml:"limits" doc:"What one session and the whole process may take."`
	Results     Results      `yaml:"results" restart:"true" doc:"Results that were too long for the model, kept for reading on."`
	Audit       Audit        `yaml:"audit" doc:"The record of all calls."`
	Scrub       Scrub        `yaml:"scrub" doc:"What is taken out of everything that leaves."`
	Approvals   Approvals    `yaml:"approvals" doc:"Calls that a person has to agree to."`
	Vault       Vault        `yaml:"vault" restart:"true" doc:"Where secrets are kept. [secrets.md](secrets.md) tells how to use it."`
	Store       Store        `yaml:"store" restart:"true" doc:"Where everything is kept that lasts. [store.md](store.md) tells how to back it up and move it."`
	Telemetry   Telemetry    `yaml:"telemetry" doc:"The log and the traces."`
}

// Server says how clients reach the server.
type Server struct {
	HTTP              string   `yaml:"http" form:"address" flag:"http" doc:"Address to serve HTTP on, such as 127.0.0.1:8080. Empty: serve stdio."`
	SSE               bool     `yaml:"sse" default:"false" flag:"sse" doc:"Serve the older HTTP+SSE transport too, at /sse."`
	TLSCert           string   `yaml:"tls_cert" form:"path" flag:"tls-cert" doc:"File with the certificate chain (PEM). Empty: plain HTTP."`
	TLSKey            string   `yaml:"tls_key" form:"path" flag:"tls-key" doc:"File with the key of the certificate (PEM)."`
	AllowedHosts      []string `yaml:"allowed_hosts" form:"host" doc:"Host names that requests may be addressed to, beside loopback ones."`
	AllowedOrigins    []string `yaml:"allowed_origins" form:"origin" doc:"Origins of web pages that may call the server, beside loopback ones."`
	PublicURL         string   `yaml:"public_url" form:"url" doc:"URL of the MCP endpoint as clients know it, needed when a proxy stands before the server. OAuth tokens are made out to it."`
	Grace             Duration `yaml:"grace" default:"10s" min:"0" max:"10m" doc:"How long calls may take to finish when the server stops."`
	MaxMessage        Size     `yaml:"max_message" default:"5MiB" min:"64KiB" max:"256MiB" doc:"Longest message from a client."`
	MaxSessions       int      `yaml:"max_sessions" default:"1000" min:"1" max:"1000000" doc:"Most sessions at a time over HTTP."`
	SessionIdle       Duration `yaml:"session_idle" default:"30m" min:"1s" max:"30d" doc:"A session that has been silent this long is closed."`
	ReadHeaderTimeout Duration `yaml:"read_header_timeout" default:"10s" min:"100ms" max:"10m" doc:"How long a client may take to send the head of a request."`
	Metrics           string   `yaml:"metrics" form:"address" flag:"metrics" doc:"Address of a second listener that serves Prometheus metrics at /metrics, under any IP address and the names in allowed_hosts. Empty: none."`
	Instructions      string   `yaml:"instructions" doc:"Text for the model, added to what clients are told about the server."`
}

// Connections says who may connect, and as whom.
type Connections struct {
	OAuth  OAuth   `yaml:"oauth" restart:"true" doc:"Access tokens of an OAuth 2.1 authorization server."`
	Tokens []Token `yaml:"tokens" doc:"Bearer tokens for HTTP, beside those made with mcp-tools token create."`
	Stdio  Stdio   `yaml:"stdio" restart:"true" doc:"The one caller on stdin and stdout."`
}

// OAuth says whose access tokens count. Without an issuer, nobody's.
type OAuth struct {
	Issuer     string              `yaml:"issuer" form:"url" doc:"URL of the authorization server, exactly as it writes it into tokens. Empty: OAuth is off."`
	Audience   string              `yaml:"audience" form:"label" doc:"Audience that tokens must be made out to. Empty: server.public_url."`
	JWKSURL    string              `yaml:"jwks_url" form:"url" doc:"Where the issuer's keys are. Empty: as the issuer's metadata says."`
	Algorithms []string            `yaml:"algorithms" default:"RS256,PS256,ES256,EdDSA" enum:"RS256,RS384,RS512,PS256,PS384,PS512,ES256,ES384,ES512,EdDSA" doc:"Signatures that count."`
	Scopes     map[string][]string `yaml:"scopes" keys:"scope" form:"label" doc:"Profiles that each scope opens. A token without any of these scopes opens nothing."`
}

// A Token is a bearer token, known by its hash only.
type Token struct {
	Name      string   `yaml:"name" form:"name" required:"true" doc:"What to call it in logs."`
	Hash      string   `yaml:"hash" form:"sha256" required:"true" doc:"SHA-256 of the token in hexadecimal, so that the file holds no secret."`
	Profiles  []string `yaml:"profiles" form:"label" required:"true" doc:"Profiles it may use, the first by default; * for all."`
	Agent     string   `yaml:"agent" form:"label" doc:"Agent that its calls are made for."`
	User      string   `yaml:"user" form:"label" doc:"Person that its calls are made for."`
	Workspace string   `yaml:"workspace" form:"path" doc:"Directory to work in. Empty: the server's own."`
	Expires   Time     `yaml:"expires" doc:"From when on it no longer counts. Absent: it always does."`
}

// Stdio describes the caller on stdin and stdout.
type Stdio struct {
	Profile   string `yaml:"profile" form:"label" flag:"profile" doc:"Profile to use. Empty: policy.profile."`
	Agent     string `yaml:"agent" form:"label" flag:"agent" doc:"Agent that calls are made for."`
	User      string `yaml:"user" form:"label" flag:"user" doc:"Person that calls are made for. Empty: the user of the operating system; - is nobody, so that what is written is shared by all users of the agent."`
	Provider  string `yaml:"provider" form:"label" flag:"provider" doc:"Provider of the model, for rules that depend on it."`
	Workspace string `yaml:"workspace" form:"path" flag:"workspace" doc:"Directory to work in. Empty: where the program was started."`
}
