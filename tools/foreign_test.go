package tools

import (
	"strings"
	"testing"
)

// TestSubstitutesExist looks up the tools that are named in place of those of other systems.
func TestSubstitutesExist(t *testing.T) {
	all, err := All(World{})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{
		"git_status", "git_diff", "git_commit", "git_log", "git_diff_staged", "tool::git_status", "process_list",
		"disk_usage", "network_check", "code_analyze", "code_format", "code_lint", "code_test", "code_explain",
		"vector_store", "vector_search", "vector_delete", "sql_build", "snapshot_create", "snapshot_list",
		"snapshot_restore", "compose", "todo_create", "todo_list", "todo_delete", "kg_visualize", "TodoWrite", "sleep",
		"delete_file", "move_file", "rename_file", "create_directory",
	} {
		if _, ours := all.Lookup(name); ours {
			t.Errorf("%s is a tool of ours", name)
		}
		list := substitutes(name)
		if len(list) == 0 {
			t.Errorf("%s has no substitute", name)
		}
		for _, s := range list {
			if _, ok := all.Lookup(s.tool); !ok || !strings.Contains(s.try, s.tool) && s.tool != "read_file" {
				t.Errorf("%s: there is no tool %q, or %q does not name it", name, s.tool, s.try)
			}
		}
	}
	for _, name := range []string{"", "git_", "git_a;rm -rf /", "nothing", "git"} {
		if got := substitutes(name); got != nil {
			t.Errorf("%q has the substitutes %v", name, got)
		}
	}
	everything, nothing := func(string) bool { return true }, func(string) bool { return false }
	if got := Substitute("git_status", everything); got != `use exec with the command "git status --short"` {
		t.Errorf("git_status: %q", got)
	}
	if got := Substitute("git_status", nothing); got != "" {
		t.Errorf("without exec: %q", got)
	}
	if got := Substitute("network_check", func(name string) bool { return name == "web_fetch" }); !strings.Contains(got,
		"web_fetch") {
		t.Errorf("without http_request: %q", got)
	}
}
