package policy

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// suite is a catalogue like that of the full suite: every group, every risk,
// tools that only their own Spec puts into a group, and two other servers.
func suite() []Tool {
	var specs []Tool
	add := func(group string, risk Risk, names ...string) {
		for _, name := range names {
			specs = append(specs, Tool{Name: name, Group: group, Risk: risk})
		}
	}
	add("fs", Reads, "read_file", "list_files", "search", "glob", "history")
	add("fs", Writes, "edit", "apply_patch", "undo")
	add("fs", Destroys, "write_file")
	add("runtime", Runs, "exec", "credentialed_exec", "powershell")
	add("runtime", Reads, "process")
	add("web", Reads, "web_search", "web_fetch")
	add("web", Runs, "http_request", "browser")
	add("memory", Reads, "memory_search", "memory_get")
	add("memory", Writes, "memory_store")
	add("memory", Destroys, "memory_forget")
	add("sessions", Reads, "sessions_list", "sessions_history", "session_status")
	add("sessions", Runs, "sessions_send")
	add("agents", Runs, "spawn")
	add("knowledge", Reads, "knowledge_graph_search")
	add("knowledge", Writes, "knowledge_graph_add")
	add("knowledge", Destroys, "knowledge_graph_remove")
	add("automation", Runs, "cron")
	add("automation", Reads, "datetime")
	add("messaging", Runs, "message", "create_forum_topic", "message_react")
	add("teams", Writes, "team_tasks", "team_message")
	add("media_gen", Runs, "create_image", "create_audio", "create_video", "tts")
	add("media_read", Reads, "read_image", "read_audio", "read_document", "read_video")
	add("skills", Reads, "skill_search", "use_skill")
	add("skills", Writes, "publish_skill")
	add("results", Reads, "read_result")
	add("discovery", Reads, "tool_search")
	add("discovery", Runs, "tool_call")
	add("mcp", Reads, "git-hub__list_issues")
	add("mcp", Runs, "git-hub__create_issue", "db__query")
	for i := range specs {
		switch specs[i].Name {
		case "read_file":
			specs[i].Also = []string{"Read", "tool::file_read"}
		case "exec":
			specs[i].Also, specs[i].Rates = []string{"bash", "shell"}, true
		}
	}
	return specs
}

func spec(t testing.TB, name string) Tool {
	t.Helper()
	for _, s := range suite() {
		if s.Name == name {
			return s
		}
	}
	t.Fatalf("the test suite has no tool %q", name)
	return Tool{}
}

func TestEntries(t *testing.T) {
	c := NewCatalogue(suite())
	for _, test := range []struct{ entry, want string }{
		{"exec", "exec"},
		{"shell", "exec"},
		{"tool::file_read", "read_file"},
		{"group:runtime", "exec credentialed_exec powershell process"},
		{"group:team", "team_tasks team_message"},
		{"group:teams", "team_tasks team_message"},
		{"group:messaging", "message create_forum_topic message_react"},
		{"group:mcp", "git-hub__list_issues git-hub__create_issue db__query"},
		{"mcp:*", "git-hub__list_issues git-hub__create_issue db__query"},
		{"mcp:git-hub", "git-hub__list_issues git-hub__create_issue"},
		{"mcp:db", "db__query"},
		{"mcp:away", ""},
		{"db__query", "db__query"},
		{"read_*", "read_file read_image read_audio read_document read_video read_result"},
		{"*_call", "tool_call"},
		{"?dit", "edit"},
		{"risk:destroys", "write_file memory_forget knowledge_graph_remove"},
		{"risk:unrated", ""},
		{"EXEC", ""},
		{"group:", ""},
		{"", ""},
	} {
		if got := strings.Join(names(c, c.selected(test.entry)), " "); got != test.want {
			t.Errorf("%q names %q, want %q", test.entry, got, test.want)
		}
	}
	native := c.selected("group:goclaw")
	if diff := cmp.Diff(names(c, c.all().minus(c.selected("group:mcp"))), names(c, native)); diff != "" {
		t.Errorf("group:goclaw is not all that is native:\n%s", diff)
	}
}

// TestSpecJoinsItsGroup checks that a tool joins a group by its Spec alone.
func TestSpecJoinsItsGroup(t *testing.T) {
	c := NewCatalogue([]Tool{
		{Name: "brand_new", Group: "fs", Risk: Reads},
		{Name: "other", Group: "weather", Risk: Reads},
	})
	for entry, want := range map[string]string{"group:fs": "brand_new", "group:weather": "other"} {
		if got := strings.Join(names(c, c.selected(entry)), " "); got != want {
			t.Errorf("%s names %q, want %q", entry, got, want)
		}
	}
}

// TestANewToolIsInTheProfilesOfItsGroup adds one tool to each group that a
// profile for work names: the profile must not deny it.
func TestANewToolIsInTheProfilesOfItsGroup(t *testing.T) {
	for _, b := range builtinProfiles {
		for _, entry := range b.rules.Allow {
			group, ok := strings.CutPrefix(entry, "group:")
			if !ok {
				continue
			}
			c := NewCatalogue(append(suite(), Tool{Name: "brand_new", Group: group, Risk: Reads}))
			p, problems := Compile(Rules{}, c)
			if p == nil {
				t.Fatal(problems)
			}
			if got := p.Verdict(Subject{Profile: b.name}, "brand_new"); got != Allow {
				t.Errorf("profile %s, group %s: %s", b.name, group, got)
			}
		}
	}
	if entries := builtinProfiles[1].rules.Allow; slices.ContainsFunc(entries,
		func(e string) bool { return !strings.HasPrefix(e, "group:") }) {
		t.Errorf("the profile coding names single tools: %v", entries)
	}
}

func TestFirstOfTwoNamesakesCounts(t *testing.T) {
	c := NewCatalogue([]Tool{{Name: "a", Risk: Runs}, {Name: "a", Risk: Reads}})
	if got := names(c, c.selected("risk:reads")); len(got) != 0 {
		t.Errorf("the namesake changed the risk: %q", got)
	}
}

func names(c Catalogue, s set) []string {
	var out []string
	for i, spec := range c.tools {
		if s.has(i) {
			out = append(out, spec.Name)
		}
	}
	return out
}

// FuzzEntry parses entries, which also come from untrusted requests.
func FuzzEntry(f *testing.F) {
	for _, entry := range []string{"exec", "group:fs", "mcp:git-hub", "a__b", "risk:reads", "tool::file_read",
		"read_*", "group:"} {
		f.Add(entry)
	}
	c := NewCatalogue(suite())
	f.Fuzz(func(t *testing.T, entry string) {
		if text, nearest := c.unknown(entry); text != "" {
			if !c.selected(entry).empty() {
				t.Errorf("%q: %s, yet it names tools", entry, text)
			}
			if again, _ := c.unknown(nearest); nearest != "" && again != "" {
				t.Errorf("%q: the suggestion %q is not better", entry, nearest)
			}
		}
	})
}
