package config

// Workspace has the settings of files that callers see, and of their history.
type Workspace struct {
	PerCaller    string                   `yaml:"per_caller" restart:"true" default:"none" enum:"none,agent,user"`
	Roots        map[string]WorkspaceRoot `yaml:"roots" restart:"true" keys:"name"`
	Deny         []string                 `yaml:"deny" form:"glob"`
	Protect      []string                 `yaml:"protect" form:"glob"`
	HardLinks    string                   `yaml:"hard_links" restart:"true" default:"inside" enum:"inside,allow"`
	HistoryBytes Size                     `yaml:"history_bytes" restart:"true" default:"1GiB" min:"1MiB" max:"16TiB"`
}

// A WorkspaceRoot is a directory beside the workspace.
type WorkspaceRoot struct {
	Path  string `yaml:"path" form:"path" required:"true"`
	Write bool   `yaml:"write"`
}

// An Agent has the settings of an agent: its context files, and work that other agents
// delegate to it.
type Agent struct {
	Kind       string   `yaml:"kind" enum:"open,predefined,evolving"`
	Files      string   `yaml:"files" form:"path"`
	About      string   `yaml:"about" form:"label"`
	Model      string   `yaml:"model" form:"label"`
	DelegateTo []string `yaml:"delegate_to" form:"label"`
	Skills     []string `yaml:"skills" form:"skill"`
}

// Subagents has the limits of subagents.
type Subagents struct {
	Depth      int      `yaml:"depth" default:"1" min:"1" max:"5"`
	Running    int      `yaml:"running" default:"8" min:"1" max:"1000"`
	Children   int      `yaml:"children" default:"5" min:"1" max:"1000"`
	Tasks      int      `yaml:"tasks" default:"5" min:"1" max:"1000"`
	Turns      int      `yaml:"turns" default:"20" min:"1" max:"500"`
	Time       Duration `yaml:"time" default:"30m" min:"1s" max:"1d"`
	TreeTotal  int      `yaml:"tree_total" default:"100" min:"1" max:"1000000"`
	TreeBudget string   `yaml:"tree_budget" default:"5000000 tokens, $10" form:"budget"`
	TreeTime   Duration `yaml:"tree_time" default:"8h" min:"1s" max:"36500d"`
}

// Limits has the limits of one session and of the whole process.
type Limits struct {
	CallsPerMinute int  `yaml:"calls_per_minute" default:"1200" min:"1" max:"1000000"`
	CallsPerHour   int  `yaml:"calls_per_hour" default:"0" min:"0" max:"1000000"`
	Result         Size `yaml:"result" default:"100KiB" min:"1KiB" max:"10MiB"`
	RepeatWarn     int  `yaml:"repeat_warn" default:"3" min:"0" max:"1000"`
}

// Cache has the tools whose results are kept for equal calls.
type Cache struct {
	Tools map[string]Duration `yaml:"tools" keys:"label"`
	Bytes Size                `yaml:"bytes" default:"64MiB" min:"64KiB" max:"16GiB"`
}

// Audit has the settings of the audit log.
type Audit struct {
	MaxAge    Duration `yaml:"max_age" restart:"true" default:"90d" min:"0" max:"36500d"`
	Arguments string   `yaml:"arguments" default:"about" enum:"digest,about,shape"`
}

// Scrub has the settings of what is masked in everything that leaves the server.
type Scrub struct {
	Allow           []string          `yaml:"allow" restart:"true" form:"exception"`
	Values          []Secret          `yaml:"values" form:"secret"`
	Rules           map[string]string `yaml:"rules" restart:"true" keys:"name" form:"pattern"`
	ServerAddresses bool              `yaml:"server_addresses" default:"true"`
}

// Approvals has the settings of calls that need an approval.
type Approvals struct {
	Timeout Duration `yaml:"timeout" default:"2m" min:"1s" max:"1d"`
	Wait    string   `yaml:"wait" default:"attended" enum:"attended,always,never"`
}

// Sessions has the settings of sessions.
type Sessions struct {
	Visibility string `yaml:"visibility" default:"agent" enum:"self,tree,agent,all"`
}

// Vault has the settings of the vault of secrets.
type Vault struct {
	KeyFrom string `yaml:"key_from" default:"file" enum:"file,env,keyring"`
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
	URL string `yaml:"url" form:"url"`
}

// Skills has the directories of skills, in addition to those of the workspace and
// published ones.
type Skills struct {
	Dirs []string `yaml:"dirs" form:"path"`
}

// Plugins has the directories of plugins, in addition to the one beside the settings.
type Plugins struct {
	Dirs []string `yaml:"dirs" form:"path"`
}

// Memory has the settings of memories and of the search in them.
type Memory struct {
	Embeddings Embeddings      `yaml:"embeddings"`
	Knowledge  MemoryKnowledge `yaml:"knowledge"`
}

// MemoryKnowledge has the model that fills the knowledge graph from memories. Without a
// model nothing does.
type MemoryKnowledge struct {
	Model  string `yaml:"model" form:"label"`
	Budget string `yaml:"budget" default:"500000 tokens" form:"budget"`
}

// Embeddings has the endpoint that computes vectors of texts. Without a URL there is
// none.
type Embeddings struct {
	URL   string `yaml:"url" form:"url"`
	Model string `yaml:"model" form:"label"`
	Key   Secret `yaml:"key" form:"secret"`
}
