package config

import "time"

// Limits has the limits of one session and of the whole process.
type Limits struct {
	CallsPerMinute int                      `yaml:"calls_per_minute" default:"1200" min:"1" max:"1000000"`
	CallsPerHour   int                      `yaml:"calls_per_hour" default:"0" min:"0" max:"1000000"`
	Result         Size                     `yaml:"result" default:"100KiB" min:"1KiB" max:"10MiB"`
	ToolTime       map[string]time.Duration `yaml:"tool_time" keys:"label" min:"1s" max:"24h"`
	RepeatWarn     int                      `yaml:"repeat_warn" default:"3" min:"0" max:"1000"`
}

// Cache has the tools whose results are kept for equal calls.
type Cache struct {
	Tools map[string]time.Duration `yaml:"tools" keys:"label"`
	Bytes Size                     `yaml:"bytes" default:"64MiB" min:"64KiB" max:"16GiB"`
}

// Scrub has the settings of the texts that are masked in everything that leaves the server.
type Scrub struct {
	Allow           []string          `yaml:"allow" restart:"true" form:"exception"`
	Values          []Secret          `yaml:"values" form:"secret"`
	Rules           map[string]string `yaml:"rules" restart:"true" keys:"name" form:"pattern"`
	ServerAddresses bool              `yaml:"server_addresses" default:"true"`
}

// Telemetry has the settings of the log, metrics and traces.
type Telemetry struct {
	LogLevel     string            `yaml:"log_level" default:"info" enum:"debug,info,warn,error" flag:"log-level"`
	LogFormat    string            `yaml:"log_format" default:"text" enum:"text,json" flag:"log-format" restart:"true"`
	OTLPEndpoint string            `yaml:"otlp_endpoint" form:"url" restart:"true"`
	OTLPHeaders  map[string]Secret `yaml:"otlp_headers" keys:"header" form:"secret" restart:"true"`
}

// Upgrade has the settings of upgrade --check.
type Upgrade struct {
	URL       string `yaml:"url" form:"url"`
	PublicKey string `yaml:"public_key"`
}
