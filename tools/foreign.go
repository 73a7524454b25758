package tools

import "strings"

// A substitute does the work of a tool that other systems have and this one has not.
type substitute struct {
	tool string // that the caller must be able to use
	try  string // the advice
}

// Substitute returns the advice in place of a tool of another system, with one of the tools that are usable. It returns
// "" if it does not know.
func Substitute(name string, usable func(tool string) bool) string {
	for _, s := range substitutes(name) {
		if usable(s.tool) {
			return s.try
		}
	}
	return ""
}

// substitutes returns the tools to use in place of a tool of another system, the best first. It returns nil for an
// unknown name.
func substitutes(name string) []substitute {
	name = strings.TrimPrefix(strings.ToLower(name), "tool::")
	command := func(text string) []substitute {
		return []substitute{{"exec", `use exec with the command "` + text + `"`}}
	}
	if verb, found := strings.CutPrefix(name, "git_"); found && verb != "" && len(verb) < 30 &&
		!strings.ContainsFunc(verb, func(c rune) bool { return (c < 'a' || c > 'z') && c != '_' }) {
		return command("git " + gitCommand(verb))
	}
	switch name {
	case "delete_file", "remove_file":
		return []substitute{{"apply_patch", `use apply_patch with "*** Delete File: PATH"`}}
	case "move_file", "rename_file":
		return []substitute{{"apply_patch", `use apply_patch with "*** Update File: PATH" and "*** Move to: PATH"`}}
	case "create_directory", "make_directory", "mkdir":
		return []substitute{{"write_file", "write the file with write_file: it makes the directories"}}
	case "process_list", "list_processes":
		return command("ps aux")
	case "disk_usage":
		return command("df -h")
	case "code_analyze", "code_lint", "code_test", "code_format", "run_tests", "lint", "format_code":
		return []substitute{{"exec",
			"use exec with the command of the project that does it, such as its linter or its tests"}}
	case "code_explain", "sql_build":
		return []substitute{{"read_file", "read the files, and do it yourself"}}
	case "network_check", "ping":
		return []substitute{{"http_request", "use http_request on the address"},
			{"web_fetch", "use web_fetch on the address"}}
	case "vector_search":
		return []substitute{{"memory_search", "use memory_search"}}
	case "vector_store":
		return []substitute{{"memory_store", "use memory_store"}}
	case "vector_delete":
		return []substitute{{"memory_forget", "use memory_forget"}}
	case "kg_visualize":
		return []substitute{{"knowledge_graph_search", "use knowledge_graph_search, and draw the results"}}
	case "snapshot_create", "snapshot_list", "checkpoint":
		return []substitute{{"history", "nothing is needed before a change: history lists former versions of files"}}
	case "snapshot_restore", "rollback":
		return []substitute{{"undo", "use undo; history lists changes that can be undone"}}
	case "compose":
		return []substitute{{"script", "use script to call several tools in one call"}}
	case "todo_create", "todo_add", "todo_delete", "todo_write", "todowrite":
		return []substitute{{"todo_update", "use todo_update with action add or complete"}}
	case "todo_list", "todo_read", "todoread":
		return []substitute{{"read_file", "read the list in file_state_dir with read_file"}}
	case "sleep", "delay":
		return []substitute{{"wait", "use wait"}, {"cron", "use cron to go on later"}}
	}
	return nil
}

// gitCommand returns the command of git for the verb in a name such as git_diff_staged.
func gitCommand(verb string) string {
	switch verb {
	case "status":
		return "status --short"
	case "log", "history":
		return "log --oneline -20"
	case "diff_staged":
		return "diff --staged"
	case "diff_unstaged":
		return "diff"
	case "create_branch":
		return "switch -c NAME"
	case "add":
		return "add FILES"
	case "commit":
		return "commit -m MESSAGE"
	}
	return strings.ReplaceAll(verb, "_", "-")
}
