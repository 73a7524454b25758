package judge

import "slices"

// Action is what a deny group does with a command that one of its rules matches.
type Action string

// The actions.
const (
	Deny Action = "deny" // refuse it, whatever the autonomy
	Ask  Action = "ask"  // count it as running code
	Off  Action = "off"  // ignore it
)

// GroupInfo describes a deny group.
type GroupInfo struct {
	Name  string
	For   string
	Rules []RuleInfo
}

// RuleInfo describes one thing that a group looks for in a parsed command, and
// what it does about it unless the operator chose an action for the group.
type RuleInfo struct {
	Name    string
	Default Action
	Reason  string // completes "the command ..."
	Instead string // what to do instead; "" when nothing is better
}

// Groups returns the deny groups, in the order in which they are documented.
func Groups() []GroupInfo { return slices.Clone(groups) }

// KnownGroup reports whether there is a deny group of this name.
func KnownGroup(name string) bool {
	return slices.ContainsFunc(groups, func(g GroupInfo) bool { return g.Name == name })
}

// ruleNamed returns a rule and the name of its group. An unknown name is a
// mistake in our tables, which refuses the command.
func ruleNamed(name string) (string, RuleInfo) {
	for _, g := range groups {
		for _, r := range g.Rules {
			if r.Name == name {
				return g.Name, r
			}
		}
	}
	return "", RuleInfo{name, Deny, "matches a rule that does not exist", "report this to the operator"}
}

var groups = []GroupInfo{
	{"destructive_ops", "removing far too much, disks, switching off", []RuleInfo{
		{"remove_tree", Deny, "removes far too much",
			"name the files or directories below the workspace to remove, written out"},
		{"remove_unknown", Deny, "removes a tree with a name that is not known before it runs",
			"write the path out instead of a variable or substitution"},
		{"write_device", Deny, "overwrites a device", "write to a file in the workspace"},
		{"make_file_system", Deny, "formats or partitions a disk", "leave disks to the operator of the machine"},
		{"power", Deny, "stops or restarts the machine", "leave that to the operator of the machine"},
		{"fork_bomb", Deny, "starts itself again and again", "use a loop with an end"}}},
	{"data_exfiltration", "code from the network, data to it, credentials", []RuleInfo{
		{"remote_code", Deny, "runs what comes from the network", "save it to a file first, read that, then run it"},
		{"upload", Ask, "sends data to another machine", ""},
		{"metadata", Deny, "asks for the credentials of the cloud machine", "ask the operator for what is needed"},
		{"name_lookup", Ask, "asks name servers, which can carry data out", ""},
		{"secret_files", Ask, "reads a file with credentials", ""}}},
	{"reverse_shell", "shells and raw connections for others", []RuleInfo{
		{"raw_socket", Ask, "opens a raw connection", ""},
		{"reverse_shell", Deny, "gives another machine a shell", "use curl to talk to a server"}}},
	{"code_injection", "code that is put together or decoded when it runs", []RuleInfo{
		{"decoded_code", Deny, "runs code that is hidden by an encoding", "write the command out"},
		{"eval", Ask, "runs text that is put together when it runs", ""}}},
	{"privilege_escalation", "other users and more rights", []RuleInfo{
		{"other_user", Deny, "runs as another user", "run the command as it is; there is no other user to become"},
		{"rights", Deny, "changes rights or namespaces of the system", "work with the rights that you have"}}},
	{"dangerous_paths", "files of the system, programs in temporary directories", []RuleInfo{
		{"system_path", Deny, "changes files of the system", "write below the workspace"},
		{"program_in_temp", Ask, "makes a file outside the workspace executable or open to all users", ""}}},
	{"env_injection", "variables that make programs run code", []RuleInfo{
		{"loader", Deny, "sets a variable that makes other programs run code",
			"start the program that is wanted directly"},
		{"settings", Ask, "sets a variable that decides what code programs run", ""},
		{"request", Deny, "the call sets a variable that makes programs run code",
			"leave it out of env; if it is needed, write it into the command, where it can be judged"}}},
	{"container_escape", "the container engine, the kernel, the machine below a container", []RuleInfo{
		{"engine_socket", Deny, "talks to the socket of the container engine", "use the docker command"},
		{"kernel_settings", Deny, "changes settings of the kernel", "leave the kernel to the operator of the machine"},
		{"host_rights", Deny, "starts a container with the rights or files of the machine",
			"mount directories below the workspace and leave out --privileged"}}},
	{"crypto_mining", "mining", []RuleInfo{
		{"miner", Deny, "mines cryptocurrency", "do something else"}}},
	{"filter_bypass", "harmless programs that start others", []RuleInfo{
		{"helper_program", Ask, "makes a harmless program start another", ""},
		{"prompt_expansion", Deny, "runs the value of a variable", "write the command out"}}},
	{"network_recon", "scanners, tunnels, other machines", []RuleInfo{
		{"scanner", Deny, "scans other machines", "ask the operator about the network"},
		{"tunnel", Deny, "opens a tunnel to this machine", "ask the operator for a way in"},
		{"remote_login", Ask, "works on another machine", ""}}},
	{"package_install", "installing software", []RuleInfo{
		{"install", Ask, "installs software, which may run scripts", ""}}},
	{"persistence", "programs that start by themselves later", []RuleInfo{
		{"start_up", Deny, "leaves something behind that starts by itself", "start it when it is needed"}}},
	{"process_control", "ending other processes", []RuleInfo{
		{"kill", Ask, "ends other processes", ""},
		{"kill_all", Deny, "ends every process it may", "end one process by its number, or use the process tool"}}},
	{"env_dump", "showing the whole environment", []RuleInfo{
		{"other_process", Deny, "reads the environment of other processes", "name the one variable that is needed"},
		{"dump", Ask, "shows the whole environment", ""}}},
	{"own_program", "mcp-tools itself and its data", []RuleInfo{
		{"own_program", Ask, "starts or touches mcp-tools itself", ""}}},
}
