package config

// Workspace says which files callers see, and what is kept of changes.
type Workspace struct {
	PerCaller    string          `yaml:"per_caller" default:"none" enum:"none,agent,user" doc:"Give each agent, or each user of each agent, a directory of its own within the workspace."`
	Roots        []WorkspaceRoot `yaml:"roots" doc:"Further directories that all callers see."`
	Deny         []string        `yaml:"deny" form:"glob" doc:"Files that nobody sees, beside .env files, private keys and the like: patterns as in .gitignore. One that begins with ! makes an exception."`
	Protect      []string        `yaml:"protect" form:"glob" doc:"Files that nobody changes with the file tools, beside .git, editor settings and shell start-up files: patterns as in .gitignore, exceptions with !."`
	HardLinks    string          `yaml:"hard_links" default:"inside" enum:"inside,allow" doc:"Files with several names: only when all names are in the workspace, or in any case."`
	HistoryAge   Duration        `yaml:"history_age" default:"30d" min:"1h" max:"3650d" doc:"How long a change can be undone."`
	HistoryBytes Size            `yaml:"history_bytes" default:"1GiB" min:"1MiB" max:"16TiB" doc:"Most bytes of old file contents that are kept; the oldest go first."`
	Index        string          `yaml:"index" default:"auto" enum:"auto,off" doc:"Index large workspaces in the background, so that searches answer at once."`
	IndexMemory  Size            `yaml:"index_memory" default:"256MiB" min:"16MiB" max:"64GiB" doc:"Most memory for indexes; larger workspaces are searched without."`
}

// A WorkspaceRoot is a directory beside the workspace.
type WorkspaceRoot struct {
	Name  string `yaml:"name" form:"name" required:"true" doc:"What callers call it: NAME/file."`
	Path  string `yaml:"path" form:"path" required:"true" doc:"Where it is."`
	Write bool   `yaml:"write" doc:"Whether callers may change files in it."`
}

// An Agent is one whose SOUL.md, AGENTS.md and so on the operator has a say in.
type Agent struct {
	Name   string `yaml:"name" form:"label" required:"true" doc:"What it is called, as --agent and tokens have it."`
	Kind   string `yaml:"kind" enum:"open,predefined" doc:"Open: each user has documents of their own, which the agent writes. Predefined: they are the operator's, but for USER.md and BOOTSTRAP.md. Empty: open."`
	Evolve bool   `yaml:"evolve" doc:"Let a predefined agent rewrite its SOUL.md, for all its users."`
	Files  string `yaml:"files" form:"path" doc:"Directory with the operator's versions, which count where the store has none. Empty: none."`
}

// Limits say what one session and the whole process may take.
type Limits struct {
	CallsPerMinute int      `yaml:"calls_per_minute" default:"1200" min:"1" max:"1000000" doc:"Calls of one session in the long run."`
	Burst          int      `yaml:"burst" default:"200" min:"1" max:"1000000" doc:"Calls of one session at once, before calls_per_minute counts."`
	Running        int      `yaml:"running" default:"10" min:"1" max:"10000" doc:"Calls of one session that run at a time."`
	Queued         int      `yaml:"queued" default:"100" min:"1" max:"100000" doc:"Calls of one session that wait for their turn; more are told that the server is busy."`
	TotalRunning   int      `yaml:"total_running" default:"64" min:"1" max:"10000" doc:"Calls of all sessions that run at a time."`
	Timeout        Duration `yaml:"timeout" default:"30s" min:"1ms" max:"1d" doc:"How long a call may run when its tool does not say."`
	Params         int      `yaml:"params" default:"20" min:"1" max:"1000" doc:"Arguments of one call."`
	Depth          int      `yaml:"depth" default:"5" min:"1" max:"100" doc:"How deep arguments may be nested."`
	Items          int      `yaml:"items" default:"1000" min:"1" max:"50000" doc:"Items of one list in the arguments."`
	Text           Size     `yaml:"text" default:"100KiB" min:"1KiB" max:"256MiB" doc:"Longest text in the arguments, when the tool does not say."`
	Result         Size     `yaml:"result" default:"100KiB" min:"1KiB" max:"64MiB" doc:"Text of one result that the model gets; the rest is kept for read_result."`
	ResultHard     Size     `yaml:"result_hard" default:"10MiB" min:"1KiB" max:"1GiB" doc:"Longest result that is kept at all."`
	RepeatWarn     int      `yaml:"repeat_warn" default:"3" min:"1" max:"1000" doc:"After this many equal calls with equal results the model is advised to try something else."`
	RepeatStop     int      `yaml:"repeat_stop" default:"5" min:"1" max:"1000" doc:"After this many the call is refused."`
}

// Results bound what is kept of results that were too long for the model.
type Results struct {
	Count int      `yaml:"count" default:"500" min:"1" max:"1000000" doc:"Most results kept; the oldest go first."`
	Bytes Size     `yaml:"bytes" default:"256MiB" min:"1MiB" max:"1TiB" doc:"Most bytes kept."`
	Age   Duration `yaml:"age" default:"24h" min:"1m" max:"3650d" doc:"How long a result is kept."`
}

// Audit says how calls are recorded.
type Audit struct {
	MaxAge    Duration `yaml:"max_age" restart:"true" default:"0" min:"0" max:"36500d" doc:"Records older than this are removed. 0: never."`
	MaxBytes  Size     `yaml:"max_bytes" restart:"true" default:"0" min:"0" max:"16TiB" doc:"The oldest records are removed above this size of all together. 0: never."`
	Arguments string   `yaml:"arguments" default:"digest" enum:"digest,shape" doc:"What is recorded of a call's arguments: only a digest, or their first characters too, scrubbed."`
}

// Scrub says what is taken out of everything that leaves.
type Scrub struct {
	Hex             string      `yaml:"hex" restart:"true" default:"lines" enum:"lines,strict,off" doc:"Runs of 64 or more hexadecimal digits: masked on lines that look like keys, everywhere, or nowhere. Strict masks SHA-256 sums too."`
	Kinds           bool        `yaml:"kinds" restart:"true" default:"false" doc:"Say in the mask what was masked, to find out why."`
	Allow           []string    `yaml:"allow" restart:"true" form:"exception" doc:"Text that is never masked: exactly as written, or a pattern after re:."`
	Values          []Secret    `yaml:"values" form:"secret" doc:"Secrets that are masked wherever they appear, in any usual encoding."`
	Rules           []ScrubRule `yaml:"rules" restart:"true" doc:"Patterns of your own credentials."`
	ServerAddresses bool        `yaml:"server_addresses" default:"true" doc:"Mask the addresses of this machine."`
}

// A ScrubRule is a pattern of the operator's own.
type ScrubRule struct {
	Name    string `yaml:"name" form:"name" required:"true" doc:"Kind to show in the mask and to count."`
	Pattern string `yaml:"pattern" form:"pattern" required:"true" doc:"Regular expression (RE2). What it matches is masked."`
}

// Approvals are about calls that a person has to agree to.
type Approvals struct {
	Timeout Duration `yaml:"timeout" default:"2m" min:"1s" max:"1d" doc:"How long to wait for the answer; then it is no."`
	Wait    string   `yaml:"wait" default:"attended" enum:"attended,always,never" doc:"Whether calls of clients that cannot ask a person wait for mcp-tools approvals and /approvals: while somebody there looks, in any case, or not at all."`
}

// Vault says where secrets are kept.
type Vault struct {
	Dir     string `yaml:"dir" form:"path" doc:"Directory of the vault. Empty: vault in the data directory."`
	KeyFrom string `yaml:"key_from" default:"file" enum:"file,env,keyring" doc:"Where the key of the vault is while MCP_TOOLS_VAULT_KEY is not set: in a file beside the vault, nowhere else than in that variable, or in the keyring of the system."`
}

// Telemetry is what the operator sees.
type Telemetry struct {
	LogLevel     string            `yaml:"log_level" default:"info" enum:"debug,info,warn,error" flag:"log-level" doc:"Least serious messages in the log."`
	LogFormat    string            `yaml:"log_format" default:"text" enum:"text,json" flag:"log-format" restart:"true" doc:"How the log on stderr is written."`
	OTLPEndpoint string            `yaml:"otlp_endpoint" form:"url" restart:"true" doc:"URL of an OpenTelemetry collector (OTLP over HTTP) that traces go to. Empty: no traces."`
	OTLPHeaders  map[string]Secret `yaml:"otlp_headers" keys:"header" form:"secret" restart:"true" doc:"Headers that the collector wants, such as Authorization."`
	Sample       float64           `yaml:"sample" default:"1" min:"0" max:"1" restart:"true" doc:"Share of calls that are traced."`
}

// Skills says where skills are, beside those of the workspace and those that
// were published.
type Skills struct {
	Dirs []string `yaml:"dirs" form:"path" doc:"Directories of skills that all callers see, one directory with a SKILL.md each. Absent: ~/.agents/skills, if it is there."`
}

// Memory says what is remembered, and how it is found beside its words.
type Memory struct {
	MaxDocuments int        `yaml:"max_documents" default:"100000" min:"1" max:"100000000" doc:"Most memories of one user of an agent, and as many that all its users share."`
	MaxBytes     Size       `yaml:"max_bytes" default:"1GiB" min:"1MiB" max:"16TiB" doc:"Most bytes of them together, without former versions."`
	Embeddings   Embeddings `yaml:"embeddings" doc:"An endpoint that turns texts into vectors, so that memories are found by their meaning too. They are sent to it."`
}

// Embeddings say who turns texts into vectors. Without a URL, nobody does.
type Embeddings struct {
	URL        string `yaml:"url" form:"url" doc:"URL of an API like OpenAI's, such as https://api.openai.com/v1 or http://127.0.0.1:11434/v1. Empty: memories are found by words only."`
	Model      string `yaml:"model" form:"label" doc:"Model to ask for, such as text-embedding-3-small or nomic-embed-text. With another one all is sent again."`
	Key        Secret `yaml:"key" form:"secret" doc:"Key of the API, if it wants one."`
	Dimensions int    `yaml:"dimensions" default:"0" min:"0" max:"16384" doc:"How long vectors shall be, of models that can be asked for that. 0: as they are."`
	Batch      int    `yaml:"batch" default:"64" min:"1" max:"2048" doc:"Most texts of one request."`
}
