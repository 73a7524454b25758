// Package config reads the operator's settings: one optional YAML file, the
// environment and the command line, over defaults that work without any.
//
// It knows which settings there are, which values are valid, where each value
// came from, and how to notice changes. It does not know what settings do: other
// packages get their values and know nothing of YAML. The file contains no
// secrets, only references to them (Secret).
//
// A setting is declared once, as a field of a section with tags, and described in
// docs.txt. Defaults, checks, environment variables, flags, the reference and the
// JSON Schema follow from the declaration (see field.go).
//
// Begin with Config, then Load.
package config

import "github.com/mcp-tools/mcp-tools/policy"

// Config has all settings. Default returns one that is ready to use.
type Config struct {
	Server      Server           `yaml:"server" restart:"true"`
	Connections Connections      `yaml:"connections"`
	Policy      policy.Rules     `yaml:"policy" flags:"autonomy"`
	Workspace   Workspace        `yaml:"workspace"`
	Agents      map[string]Agent `yaml:"agents" keys:"label" restart:"true"`
	Memory      Memory           `yaml:"memory" restart:"true"`
	Skills      Skills           `yaml:"skills" restart:"true"`
	Plugins     Plugins          `yaml:"plugins" restart:"true"`
	Exec        Exec             `yaml:"exec"`
	Sandbox     Sandbox          `yaml:"sandbox" restart:"true"`
	Web         Web              `yaml:"web"`
	Models      Models           `yaml:"models" restart:"true"`
	Media       Media            `yaml:"media" restart:"true"`
	Messaging   Messaging        `yaml:"messaging" restart:"true"`
	Subagents   Subagents        `yaml:"subagents" restart:"true"`
	ACP         ACPAgents        `yaml:"acp" keys:"name" restart:"true"`
	MCPServers  MCPServers       `yaml:"mcp_servers" keys:"name" restart:"true"`
	Limits      Limits           `yaml:"limits"`
	Cache       Cache            `yaml:"cache"`
	Audit       Audit            `yaml:"audit"`
	Scrub       Scrub            `yaml:"scrub"`
	Approvals   Approvals        `yaml:"approvals"`
	Sessions    Sessions         `yaml:"sessions"`
	Vault       Vault            `yaml:"vault" restart:"true"`
	Store       Store            `yaml:"store" restart:"true"`
	Telemetry   Telemetry        `yaml:"telemetry"`
	Upgrade     Upgrade          `yaml:"upgrade"`
}

// Server has the settings of transports.
type Server struct {
	HTTP         string   `yaml:"http" form:"address" flag:"http"`
	SSE          bool     `yaml:"sse" default:"false" flag:"sse"`
	Structured   bool     `yaml:"structured" default:"false"`
	TLSCert      string   `yaml:"tls_cert" form:"path" flag:"tls-cert"`
	TLSKey       string   `yaml:"tls_key" form:"path" flag:"tls-key"`
	AllowedHosts []string `yaml:"allowed_hosts" form:"site"`
	PublicURL    string   `yaml:"public_url" form:"url"`
	Metrics      string   `yaml:"metrics" form:"address" flag:"metrics"`
	OperatorAPI  bool     `yaml:"operator_api" default:"false"`
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
	Scopes   map[string][]string `yaml:"scopes" keys:"scope" form:"label"`
}

// A Token is a bearer token, known by its hash only.
type Token struct {
	Hash       string   `yaml:"hash" form:"sha256" required:"true"`
	Profiles   []string `yaml:"profiles" form:"label" required:"true"`
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
	Profile   string `yaml:"profile" form:"label" flag:"profile"`
	Agent     string `yaml:"agent" form:"label" flag:"agent"`
	User      string `yaml:"user" form:"label" flag:"user"`
	Provider  string `yaml:"provider" form:"label" flag:"provider"`
	Workspace string `yaml:"workspace" form:"path" flag:"workspace"`
}
