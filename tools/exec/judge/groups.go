package judge

import "slices"

// Action is what a deny group does with what it matches.
type Action string

// The actions.
const (
	Deny Action = "deny" // refused, whatever the autonomy
	Ask  Action = "ask"  // counts as running code
	Off  Action = "off"  // not looked at
)

// A rule is one thing that a group looks for in a parsed command.
type rule struct {
	group, name string
	action      Action // unless the operator chose one for the group
	reason      string
	instead     string
}

// GroupInfo describes a deny group.
type GroupInfo struct {
	Name  string
	For   string
	Rules []RuleInfo
}

// RuleInfo describes what a group does about one thing, unless the operator
// chose an action for the whole group.
type RuleInfo struct {
	Name    string
	Default Action
	Reason  string
}

// The rules, by group.
var (
	removeTree = rule{"destructive_ops", "remove_tree", Deny, "removes far too much", "name the files or directories below the workspace that shall go, written out"}
	removeAny  = rule{"destructive_ops", "remove_unknown", Deny, "removes a tree whose name is not known before it runs", "write the path out instead of a variable or substitution"}
	writeDisk  = rule{"destructive_ops", "write_device", Deny, "overwrites a device", "write to a file in the workspace"}
	makeFS     = rule{"destructive_ops", "make_file_system", Deny, "formats or partitions a disk", "leave disks to the operator of the machine"}
	powerOff   = rule{"destructive_ops", "power", Deny, "stops or restarts the machine", "leave that to the operator of the machine"}
	forkBomb   = rule{"destructive_ops", "fork_bomb", Deny, "starts itself again and again", "use a loop with an end"}

	remoteCode = rule{"data_exfiltration", "remote_code", Deny, "runs what comes from the network", "save it to a file first, read that, then run it"}
	upload     = rule{"data_exfiltration", "upload", Ask, "sends data to another machine", ""}
	metadata   = rule{"data_exfiltration", "metadata", Deny, "asks for the credentials of the cloud machine", "ask the operator for what is needed"}
	lookup     = rule{"data_exfiltration", "name_lookup", Ask, "asks name servers, which can carry data out", ""}
	secretFile = rule{"data_exfiltration", "secret_files", Ask, "reads what holds credentials", ""}

	rawSocket  = rule{"reverse_shell", "raw_socket", Ask, "opens a raw connection", ""}
	remoteHand = rule{"reverse_shell", "reverse_shell", Deny, "gives a shell to whoever is at the other end", "use curl to talk to a server"}

	decoded = rule{"code_injection", "decoded_code", Deny, "runs code that is hidden by an encoding", "write the command out"}
	evalAny = rule{"code_injection", "eval", Ask, "runs text that is put together when it runs", ""}

	otherUser = rule{"privilege_escalation", "other_user", Deny, "runs as another user", "run the command as it is; there is no other user to become"}
	rights    = rule{"privilege_escalation", "rights", Deny, "changes rights or namespaces of the system", "work with the rights that are there"}

	systemPath = rule{"dangerous_paths", "system_path", Deny, "changes files of the system", "write below the workspace"}
	openMode   = rule{"dangerous_paths", "program_in_temp", Ask, "makes a file outside the workspace a program, or opens it to all", ""}

	loader  = rule{"env_injection", "loader", Deny, "sets a variable that makes other programs run code", "start the program that is wanted directly"}
	askEnv  = rule{"env_injection", "settings", Ask, "sets a variable that decides what code programs run", ""}
	modelEV = rule{"env_injection", "request", Deny, "the call sets a variable that makes programs run code", "leave it out of env; write it into the command if it is needed, where it can be judged"}

	dockerSock = rule{"container_escape", "engine_socket", Deny, "talks to the socket of the container engine", "use the docker command"}
	kernelTree = rule{"container_escape", "kernel_settings", Deny, "changes settings of the kernel", "leave the kernel to the operator of the machine"}
	hostMounts = rule{"container_escape", "host_rights", Deny, "starts a container with the rights or files of the machine", "mount directories below the workspace and leave out --privileged"}

	mining = rule{"crypto_mining", "miner", Deny, "mines cryptocurrency", "do something else"}

	helper = rule{"filter_bypass", "helper_program", Ask, "makes a harmless program start another", ""}
	prompt = rule{"filter_bypass", "prompt_expansion", Deny, "runs the value of a variable", "write the command out"}

	scanner = rule{"network_recon", "scanner", Deny, "scans other machines", "ask the operator about the network"}
	tunnel  = rule{"network_recon", "tunnel", Deny, "opens a tunnel to this machine", "ask the operator for a way in"}
	remote  = rule{"network_recon", "remote_login", Ask, "works on another machine", ""}

	install = rule{"package_install", "install", Ask, "installs software, whose scripts may run", ""}

	persist = rule{"persistence", "start_up", Deny, "leaves something behind that starts by itself", "start it when it is needed"}

	kill    = rule{"process_control", "kill", Ask, "ends other processes", ""}
	killAll = rule{"process_control", "kill_all", Deny, "ends every process it may", "end one process by its number, or use the process tool"}

	environ = rule{"env_dump", "other_process", Deny, "reads the environment of other processes", "name the one variable that is needed"}
	dump    = rule{"env_dump", "dump", Ask, "shows the whole environment", ""}

	ourselves = rule{"own_program", "own_program", Ask, "starts or touches mcp-tools itself", ""}
)

// Groups describes the deny groups, in the order in which they are documented.
func Groups() []GroupInfo {
	about := []struct {
		name, purpose string
		rules         []rule
	}{
		{"destructive_ops", "removing far too much, disks, switching off", []rule{removeTree, removeAny, writeDisk, makeFS, powerOff, forkBomb}},
		{"data_exfiltration", "code from the network, data to it, credentials", []rule{remoteCode, upload, metadata, lookup, secretFile}},
		{"reverse_shell", "shells and raw connections for others", []rule{rawSocket, remoteHand}},
		{"code_injection", "code that is put together or decoded when it runs", []rule{decoded, evalAny}},
		{"privilege_escalation", "other users and more rights", []rule{otherUser, rights}},
		{"dangerous_paths", "files of the system, programs in temporary directories", []rule{systemPath, openMode}},
		{"env_injection", "variables that make programs run code", []rule{loader, askEnv, modelEV}},
		{"container_escape", "the container engine, the kernel, the machine below a container", []rule{dockerSock, kernelTree, hostMounts}},
		{"crypto_mining", "mining", []rule{mining}},
		{"filter_bypass", "harmless programs that start others", []rule{helper, prompt}},
		{"network_recon", "scanners, tunnels, other machines", []rule{scanner, tunnel, remote}},
		{"package_install", "installing software", []rule{install}},
		{"persistence", "what starts by itself later", []rule{persist}},
		{"process_control", "ending other processes", []rule{kill, killAll}},
		{"env_dump", "showing the whole environment", []rule{environ, dump}},
		{"own_program", "mcp-tools itself and its data", []rule{ourselves}},
	}
	groups := make([]GroupInfo, 0, len(about))
	for _, a := range about {
		g := GroupInfo{Name: a.name, For: a.purpose}
		for _, r := range a.rules {
			g.Rules = append(g.Rules, RuleInfo{Name: r.name, Default: r.action, Reason: r.reason})
		}
		groups = append(groups, g)
	}
	return groups
}

// KnownGroup reports whether there is a deny group of this name.
func KnownGroup(name string) bool {
	return slices.ContainsFunc(Groups(), func(g GroupInfo) bool { return g.Name == name })
}
