package policy

import "slices"

// DefaultProfile applies where neither the caller nor the rules name one.
const DefaultProfile = "full"

// The groups whose members follow from the catalogue, and a name by which
// some know another group.
const (
	groupNative  = "goclaw" // every tool of our own
	groupBridged = "mcp"    // every tool of other servers
	groupTeam    = "team"   // means teams
)

// builtinGroups are the built-in groups. A tool also belongs to the group of its
// Spec, so these lists name only what a reader expects in them whether or not
// it is registered: their names are known, even where they match nothing.
var builtinGroups = map[string][]string{
	"fs":         {"read_file", "write_file", "list_files", "edit", "search", "glob", "apply_patch", "history", "undo"},
	"runtime":    {"exec", "credentialed_exec", "process"},
	"web":        {"web_search", "web_fetch", "http_request", "browser"},
	"memory":     {"memory_search", "memory_get", "memory_store", "memory_forget"},
	"sessions":   {"sessions_list", "sessions_history", "sessions_send", "spawn", "session_status"},
	"knowledge":  {"knowledge_graph_search", "knowledge_graph_add", "knowledge_graph_remove", "skill_search"},
	"automation": {"cron", "datetime"},
	"messaging":  {"message", "create_forum_topic"},
	"teams":      {"team_tasks", "team_message"},
	"media_gen":  {"create_image", "create_audio", "create_video", "tts"},
	"media_read": {"read_image", "read_audio", "read_document", "read_video"},
	"skills":     {"use_skill", "copy_skill", "publish_skill"},
	"results":    {"read_result"},
	"discovery":  {"tool_search", "tool_call"},
}

// A builtinProfile has a name that operators cannot give to another.
type builtinProfile struct {
	name  string
	rules ProfileRules
}

// builtinProfiles are the built-in profiles, in the order in which they are shown.
var builtinProfiles = []builtinProfile{
	{"full", ProfileRules{
		Doc:   "every tool",
		Allow: List{"*"},
	}},
	{"coding", ProfileRules{
		Doc: "work on code: files, commands, web, memory, media",
		Allow: List{"group:fs", "group:runtime", "group:sessions", "group:memory", "group:web", "group:knowledge",
			"group:media_gen", "group:media_read", "group:skills", "datetime", "read_result"},
	}},
	{"messaging", ProfileRules{
		Doc:   "talk to people: messages, web, sessions, reading media",
		Allow: List{"group:messaging", "group:web", "group:sessions", "group:media_read", "skill_search", "read_result"},
	}},
	{"minimal", ProfileRules{
		Doc:   "session_status and nothing else",
		Allow: List{"session_status"},
	}},
	{"readonly", ProfileRules{
		Doc:      "every tool that changes nothing",
		Allow:    List{"risk:reads", "read_result"},
		Autonomy: ReadOnly,
	}},
	{"lean", ProfileRules{
		Doc:   "a short list for small contexts: files, commands, and a search for the rest",
		Allow: List{"tool_search", "tool_call", "read_result", "read_file", "edit", "exec"},
	}},
}

// subagentDeny and leafDeny hold what belongs to the agent that answers to a
// person: its own status, schedules, memory and messages. Commands are denied
// as a group, since the other ways to run one would be the same power.
var (
	subagentDeny = List{"gateway", "agents_list", "whatsapp_login", "session_status", "cron",
		"memory_search", "memory_get", "sessions_send", "group:runtime"}
	leafDeny = List{"sessions_list", "sessions_history", "spawn", "sessions_spawn", "subagent"}
)

// knownNames lists, sorted, every tool that the built-in lists mention.
func knownNames() []string {
	var names []string
	for _, members := range builtinGroups {
		names = append(names, members...)
	}
	for _, list := range []List{subagentDeny, leafDeny} {
		for _, entry := range list {
			if plain(entry) {
				names = append(names, entry)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}
