package policy

// DefaultProfile applies if neither the caller nor the rules name a profile.
const DefaultProfile = "full"

// Bridged is the group of the tools of other servers.
const Bridged = "mcp"

// The groups with members derived from the catalogue, and an alias of the group
// teams.
const (
	groupNative  = "goclaw" // every tool of this program
	groupTeam    = "team"   // alias of teams
	groupResults = "results"

	groupDiscovery = "discovery" // tools that find and call unlisted tools
)

// builtinGroups are the groups that rules may name although no registered tool
// is in them. The members of a group are the tools that name it as theirs.
var builtinGroups = []string{
	"agents", "automation", "custom", "data", "discovery", "fs", "knowledge", "media_gen", "media_read", "memory",
	"messaging",
	"results", "runtime", "script", "sessions", "skills", "teams", "web",
}

// A builtinProfile is a profile that operators cannot redefine.
type builtinProfile struct {
	name, doc string
	rules     ProfileRules
}

// builtinProfiles are the built-in profiles, in the order of the output.
var builtinProfiles = []builtinProfile{
	{"full", "every tool", ProfileRules{
		Allow: List{"*"},
	}},
	{"coding", "work on code: files, commands, web, memory, skills, teams; more by tool_search", ProfileRules{
		Allow: List{"group:fs", "group:runtime", "group:sessions", "group:agents", "group:memory", "group:web",
			"group:knowledge", "group:media_gen", "group:media_read", "group:skills", "group:automation",
			"group:results", "group:teams", "group:script", "group:data", "group:discovery"},
		Listed: List{"group:fs", "group:runtime", "group:sessions", "spawn", "delegate", "group:memory",
			"group:web", "group:knowledge", "read_document", "read_image", "skill_search", "use_skill", "datetime",
			"todo_update", "plan_create", "group:results", "group:teams", "group:script", "group:discovery"},
	}},
	{"messaging", "talk to people: messages, web, sessions, reading media", ProfileRules{
		Allow: List{"group:messaging", "group:web", "group:sessions", "group:agents", "group:media_read",
			"group:results",
			"skill_search"},
	}},
	{"minimal", "session_status and nothing else", ProfileRules{
		Allow: List{"session_status"},
	}},
	{"readonly", "every tool that changes nothing", ProfileRules{
		Allow:    List{"risk:reads"},
		Autonomy: ReadOnly,
	}},
	{"lean", "every tool, but a short list for small contexts: files, commands, and a search for the rest",
		ProfileRules{
			Allow:  List{"*"},
			Listed: List{"group:discovery", "group:results", "read_file", "edit", "exec"},
		}},
}

// subagentDeny and leafDeny name the tools for the agent that works with a
// person: its sessions, schedules and memory. Commands are denied as a group,
// since each tool of the group can run any command.
var (
	subagentDeny = List{"group:runtime", "group:automation", "group:sessions", "memory_search", "memory_get"}
	leafDeny     = List{"group:agents"}
	// apartAllow names the tools of subagentDeny for subagents in workspaces of their own.
	apartAllow = List{"exec", "process"}
)
