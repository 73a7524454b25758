package config

// Exec says how commands are judged and run.
type Exec struct {
	Ask            string            `yaml:"ask" default:"risky" enum:"risky,unknown,always" doc:"Which commands count as risky, so that supervised callers need an approval: those that may do harm, all that neither read only nor are in allow, or all."`
	Allow          []string          `yaml:"allow" form:"command" doc:"Commands that need no approval, such as npm run build or make *: a * is any word, ** at the end any further ones. Not for shells and interpreters, unless every word is given."`
	Groups         map[string]string `yaml:"groups" keys:"name" enum:"deny,ask,off" doc:"What becomes of commands of a kind, such as package_install or process_control, instead of the default."`
	Timeout        Duration          `yaml:"timeout" restart:"true" default:"60s" min:"100ms" max:"1d" doc:"How long a command on the host may take when the call does not say."`
	SandboxTimeout Duration          `yaml:"sandbox_timeout" restart:"true" default:"300s" min:"100ms" max:"1d" doc:"How long a command in a sandbox may take when the call does not say."`
	MaxTimeout     Duration          `yaml:"max_timeout" restart:"true" default:"1h" min:"1s" max:"1d" doc:"How long any command may take that somebody waits for."`
	Background     int               `yaml:"background" restart:"true" default:"16" min:"0" max:"1000" doc:"Most commands in the background of one session."`
	BackgroundAge  Duration          `yaml:"background_age" restart:"true" default:"12h" min:"1m" max:"30d" doc:"How long a command may run in the background."`
	FinishedAge    Duration          `yaml:"finished_age" restart:"true" default:"30m" min:"1m" max:"3d" doc:"How long the output of a finished background command is kept."`
	Output         Size              `yaml:"output" restart:"true" default:"64MiB" min:"64KiB" max:"16GiB" doc:"Most bytes kept of the output of one command; beyond them the middle is dropped."`
	Environment    map[string]string `yaml:"environment" restart:"true" keys:"variable" form:"label" doc:"Variables that every command gets, beside PATH, HOME, LANG and the like. Nothing is inherited from the server."`
	Inherit        []string          `yaml:"inherit" restart:"true" form:"variable" doc:"Variables that every command gets with the value that the server has."`
	Programs       []Program         `yaml:"programs" restart:"true" doc:"Programs that run with credentials of their own, which the agent never sees."`
}

// A Program runs with credentials from the vault.
type Program struct {
	Name    string            `yaml:"name" form:"name" required:"true" doc:"What commands call it."`
	Preset  string            `yaml:"preset" enum:"gh,gcloud,aws,kubectl,terraform" doc:"Rules that come with mcp-tools. Empty: those of the program of that name, if there are any."`
	Path    string            `yaml:"path" form:"path" doc:"Where it is. Empty: where PATH had it when the server started."`
	SHA256  string            `yaml:"sha256" form:"digest" doc:"What the file's SHA-256 must be. Empty: any."`
	Secrets map[string]string `yaml:"secrets" keys:"variable" form:"name" doc:"Variables, each with the name of the secret in the vault that it gets."`
	Files   map[string]string `yaml:"files" keys:"variable" form:"name" doc:"Variables, each with the name of a secret; it gets the path of a private file with it."`
	Set     map[string]string `yaml:"set" keys:"variable" form:"label" doc:"Variables that are no secrets, such as AWS_REGION."`
	Allow   []string          `yaml:"allow" form:"command" doc:"What it may be asked to do, such as pr list. Empty: what the preset allows."`
	Reads   []string          `yaml:"reads" form:"command" doc:"What of that only reads, and needs no approval."`
	Deny    []string          `yaml:"deny" form:"command" doc:"What it may not be asked to do, beside what the preset refuses."`
	Hosts   []string          `yaml:"hosts" form:"host" doc:"Hosts with a port that it may reach beside public ones, such as a cluster on the inside network."`
	Timeout Duration          `yaml:"timeout" min:"0" max:"1d" doc:"How long it may take. 0: what the preset says, or 60s."`
}

// Sandbox says what stands around commands.
type Sandbox struct {
	Mode      string           `yaml:"mode" default:"auto" enum:"auto,docker,kernel,host,off" flag:"sandbox" doc:"Where commands run: in the strongest sandbox that works here, in a container, behind walls of the Linux kernel, on the host without walls, or not at all."`
	Network   bool             `yaml:"network" default:"false" doc:"Let commands reach public hosts, through a proxy that knows the way to no other. On the host they always can."`
	Require   []string         `yaml:"require" default:"files,network" enum:"files,network,processes,memory,calls" doc:"What a sandbox must be able to hold, or commands are refused: files, the network, processes of others and survivors, memory of all together, unusual system calls."`
	Profiles  []SandboxProfile `yaml:"profiles" doc:"Other choices for callers with certain profiles."`
	Scope     string           `yaml:"scope" default:"session" enum:"session,agent" doc:"Who shares a sandbox: the commands of one session, or of all sessions of an agent and its user."`
	Read      []string         `yaml:"read" form:"path" doc:"Files and directories beside the workspace that commands may read, such as caches of modules and tool chains in home directories."`
	Write     []string         `yaml:"write" form:"path" doc:"Those that they may change, too."`
	Memory    Size             `yaml:"memory" default:"512MiB" min:"16MiB" max:"1TiB" doc:"Most memory of one command with all that it starts; of a sandbox where that can be had."`
	Processes int              `yaml:"processes" default:"256" min:"8" max:"100000" doc:"Most processes."`
	FileSize  Size             `yaml:"file_size" default:"1GiB" min:"1MiB" max:"16TiB" doc:"Largest file that a command may write."`
	Temp      Size             `yaml:"temp" default:"512MiB" min:"1MiB" max:"1TiB" doc:"Size of the private temporary directory."`
	CPUs      float64          `yaml:"cpus" default:"0" min:"0" max:"1024" doc:"Processors that a container may use. 0: all."`
	CPUTime   Duration         `yaml:"cpu_time" default:"0" min:"0" max:"30d" doc:"Time that one process may spend computing. 0: any."`
	Idle      Duration         `yaml:"idle" default:"10m" min:"1s" max:"7d" doc:"A sandbox in which nothing has run for so long is closed."`
	Age       Duration         `yaml:"age" default:"1d" min:"1m" max:"30d" doc:"A sandbox older than this is replaced when nothing runs in it."`
	Docker    Docker           `yaml:"docker" doc:"Containers."`
}

// A SandboxProfile is for callers with one policy profile. What it does not
// say is as for all.
type SandboxProfile struct {
	Profile string   `yaml:"profile" form:"label" required:"true" doc:"Profile of the policy."`
	Mode    string   `yaml:"mode" enum:"auto,docker,kernel,host,off" doc:"Where commands run."`
	Network string   `yaml:"network" enum:"on,off" doc:"Whether commands reach public hosts."`
	Require []string `yaml:"require" enum:"files,network,processes,memory,calls" doc:"What a sandbox must be able to hold."`
}

// Docker says how containers are made.
type Docker struct {
	Image string   `yaml:"image" form:"label" flag:"sandbox-image" doc:"Image for sandboxes, which must be on the engine already. Empty: no containers."`
	Hosts []string `yaml:"hosts" form:"engine" doc:"Engines to use, such as unix:///var/run/docker.sock, tcp://host:2376 or ssh://user@host. Empty: DOCKER_HOST or the one of this machine."`
	Agent string   `yaml:"agent" form:"path" doc:"A build of mcp-tools for Linux and the engine's processor, where the server runs on something else."`
}
