package policy

// DefaultProfile applies where neither the caller nor the rules name one.
const DefaultProfile = "full"

// The groups whose members follow from the catalogue, and a second name of the
// group teams.
const (
	groupNative  = "goclaw" // every tool of this program
	groupBridged = "mcp"    // every tool of connected MCP servers
	groupTeam    = "team"   // means teams
)

// builtinGroups are the groups that rules may name although no registered tool
// is in them. The members of a group are the tools that name it as theirs.
var builtinGroups = []string{
	"agents", "automation", "custom", "discovery", "fs", "knowledge", "media_gen", "media_read", "memory", "messaging",
	"results", "runtime", "script", "sessions", "skills", "teams", "web",
}

// optionalTools are registered only if the configuration wants them. Rules may
// name them in any case.
var optionalTools = []string{"browser"}

// A builtinProfile has a name that operators cannot give to another.
type builtinProfile struct {
	name  string
	rules ProfileRules
}

// builtinProfiles are the built-in profiles, in the order in which they are
// shown. They name groups, so that a new tool of a group is in the profile;
// single names are for profiles that are meant to be short, and for one tool of
// a group that the profile does not have.
var builtinProfiles = []builtinProfile{
	{"full", ProfileRules{
		Doc:   "every tool",
		Allow: List{"*"},
	}},
	{"coding", ProfileRules{
		Doc: "work on code: files, commands, web, memory, skills, media",
		Allow: List{"group:fs", "group:runtime", "group:sessions", "group:agents", "group:memory", "group:web",
			"group:knowledge", "group:media_gen", "group:media_read", "group:skills", "group:automation",
			"group:results"},
	}},
	{"messaging", ProfileRules{
		Doc: "talk to people: messages, web, sessions, reading media",
		Allow: List{"group:messaging", "group:web", "group:sessions", "group:agents", "group:media_read",
			"group:results",
			"skill_search"},
	}},
	{"minimal", ProfileRules{
		Doc:   "session_status and nothing else",
		Allow: List{"session_status"},
	}},
	{"readonly", ProfileRules{
		Doc:      "every tool that changes nothing",
		Allow:    List{"risk:reads"},
		Autonomy: ReadOnly,
	}},
	{"lean", ProfileRules{
		Doc:   "a short list for small contexts: files, commands, and a search for the rest",
		Allow: List{"group:discovery", "group:results", "read_file", "edit", "exec"},
	}},
}

// subagentDeny and leafDeny hold what belongs to the agent that answers to a
// person: its sessions, schedules and memory. Commands are denied as a group,
// since the other ways to run one would be the same power.
var (
	subagentDeny = List{"group:runtime", "group:automation", "group:sessions", "memory_search", "memory_get"}
	leafDeny     = List{"group:agents"}
)
