package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-tools/mcp-tools/cmd/mcp-tools/app"
	"github.com/mcp-tools/mcp-tools/cmd/mcp-tools/cli"
	"github.com/mcp-tools/mcp-tools/internal/room"
	"github.com/mcp-tools/mcp-tools/internal/today"
	"github.com/mcp-tools/mcp-tools/tools"
)

// TestRoomsAreDeclared checks the declarations of all rooms, with nothing behind them.
func TestRoomsAreDeclared(t *testing.T) {
	if err := room.Faults(new(app.Env).Rooms()); err != nil {
		t.Error(err)
	}
}

// TestTodayHasWordsForEveryTool checks that the timeline of a day names no tool of the program by its name alone.
func TestTodayHasWordsForEveryTool(t *testing.T) {
	set, err := tools.All(tools.World{})
	if err != nil {
		t.Fatal(err)
	}
	for one := range set.All() {
		if !today.Known(one.Spec.Name) {
			t.Errorf("internal/today has no words for %s", one.Spec.Name)
		}
	}
}

// TestUndoOfOperators undoes what a call has changed: by the id in the timeline, and the undo by the id of its call.
func TestUndoOfOperators(t *testing.T) {
	dir := t.TempDir()
	work, file := filepath.Join(dir, "work"), filepath.Join(dir, "work", "notes", "a.txt")
	if err := os.Mkdir(work, 0o700); err != nil {
		t.Fatal(err)
	}
	in, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	run := func(wantCode int, args ...string) string {
		t.Helper()
		var out, both bytes.Buffer
		env := app.Env{In: in, Out: &out, Err: &both, Environ: func() []string { return nil },
			Getenv: func(name string) string { return map[string]string{"HOME": dir, "XDG_CONFIG_HOME": dir}[name] }}
		data := filepath.Join(dir, "data")
		if code := cli.Run(t.Context(), env, append([]string{"--data", data}, args...)); code != wantCode {
			t.Fatalf("%v: exit code %d: %s%s", args, code, out.String(), both.String())
		}
		return out.String()
	}
	if err := os.Mkdir(filepath.Join(dir, "data"), 0o700); err != nil {
		t.Fatal(err)
	}
	run(0, "call", "--workspace", work, "write_file", "path=notes/a.txt", "content=one\ntwo\n")
	var day today.Day
	date := "today"
	for _, date = range []string{"today", "yesterday"} { // it may be midnight
		if err := json.Unmarshal([]byte(run(0, "today", "--day", date, "--output", "json")), &day); err != nil {
			t.Fatal(err)
		}
		if day.Calls > 0 {
			break
		}
	}
	if len(day.Sessions) != 1 || len(day.Sessions[0].Events) != 1 || len(day.Sessions[0].Events[0].Changes) != 1 {
		t.Fatalf("the timeline is %+v", day)
	}
	event := day.Sessions[0].Events[0]
	if c := event.Changes[0]; c.File != "notes/a.txt" || c.Action != "created" || c.Added != 2 || !c.Undoable {
		t.Errorf("the change is %+v", c)
	}
	if out := run(0, "today", "--day", date, "--diff"); !strings.Contains(out, "+two") || !strings.Contains(out, event.Changes[0].ID) {
		t.Errorf("the timeline is %s", out)
	}
	for _, id := range []string{event.Changes[0].ID, event.Calls[0]} {
		if out := run(0, "activity", "change", id); !strings.Contains(out, "created notes/a.txt  +2 -0") ||
			!strings.Contains(out, "  +one\n") {
			t.Errorf("the change %s is %s", id, out)
		}
	}
	run(2, "undo", event.Changes[0].ID) // not confirmed
	run(0, "undo", event.Changes[0].ID, "--yes")
	if _, err := os.Stat(file); !os.IsNotExist(err) {
		t.Errorf("the file is still there: %v", err)
	}
	run(1, "undo", event.Calls[0], "--yes") // again, by the id of its call
	if out := run(0, "today", "--day", date); !strings.Contains(out, "undone by "+app.SystemUser()+" with ") {
		t.Errorf("the timeline does not name the operator: %s", out)
	}
	if out := run(0, "call", "--workspace", work, "history", "path=notes/a.txt"); !strings.Contains(out, "undone by the operator "+app.SystemUser()+" with ") {
		t.Errorf("the history does not name the operator: %s", out)
	}
}

// TestLocalVerbs checks that no token can call verbs with credentials in their arguments, and verbs with which an
// approver could make calls or instruct agents. The console has a few of these, for people who decide about all
// callers. A verb of the list that no longer exists is a mistake too.
func TestLocalVerbs(t *testing.T) {
	local := map[string][]string{
		"agents":    {"set", "import", "export", "undo"},
		"bridge":    {"add", "import", "approve", "refuse", "grant"},
		"memory":    {"import", "export", "set"},
		"messaging": {"send", "bind", "pair"},
		"plugins":   {"add", "enable", "remove"},
		"secrets":   {"remove", "rotate", "reset"},
		"skills":    {"share", "grant"},
		"store":     {"backup", "migrate-to"},
		"token":     {"create"},
	}
	console := []string{"bridge approve", "bridge refuse", "memory set"}
	who := room.Person{Name: "ann", Channel: room.ConsoleChannel}
	for _, r := range new(app.Env).Rooms() {
		for _, name := range local[r.Name] {
			v, ok := r.Verb(name)
			if !ok {
				t.Errorf("%s has no verb %s", r.Name, name)
				continue
			}
			token, tester, approver := who, who, who
			token.Channel, tester.Agent, approver.Decides = "http", "tester", true
			if v.Allows(token) || v.Allows(tester) || v.Allows(approver) {
				t.Errorf("%s %s can be called over HTTP, or by people who decide about some callers", r.Name, name)
			}
			if v.Allows(who) != slices.Contains(console, r.Name+" "+name) {
				t.Errorf("the console has %s %s: %v", r.Name, name, v.Allows(who))
			}
		}
		delete(local, r.Name)
	}
	if len(local) > 0 {
		t.Errorf("there are no rooms %v", local)
	}
}

// TestVerbsAlone calls every verb on an empty data directory, as the command line does: a verb opens its own room
// and no other, so none may need more.
func TestVerbsAlone(t *testing.T) {
	for _, r := range new(app.Env).Rooms() {
		for _, v := range r.Verbs {
			t.Run(r.Name+" "+v.Name, func(t *testing.T) {
				args := append([]string{r.Name}, strings.Fields(v.Name)...)
				if v.Top {
					args = args[1:]
				}
				for _, name := range v.Args {
					args = append(args, "none-"+strings.TrimSuffix(name, "..."))
				}
				for _, p := range v.Params() {
					if p.Required && !strings.Contains(strings.Join(v.Args, " "), p.Name) {
						args = append(args, "--"+strings.ReplaceAll(p.Name, "_", "-")+"=none")
					}
				}
				code, out := runCommand(t, args...)
				if code != 0 && strings.TrimSpace(out) == "" || strings.Contains(out, "nil pointer") ||
					strings.Contains(out, "internal") {
					t.Errorf("%v: exit code %d, %q", args, code, out)
				}
			})
		}
	}
}

// TestVerbsWithoutStore calls verbs while the store cannot be reached. All say so, once, and none says that the store
// is empty. No verb asks for a home directory first.
func TestVerbsWithoutStore(t *testing.T) {
	for _, verb := range []string{
		"approvals show abcd2345efgh", "approvals allow abcd2345efgh", "approvals forget abcd2345efgh", "approvals rules", "memory list",
		"memory purge --all", "skills revoke none", "agents show none SOUL.md", "cron remove none",
		"questions answer none none", "teams show none", "messaging unbind telegram:1", "custom list", "custom show none",
		"custom enable none", "custom remove none", "token revoke none", "pause", "cron show none", "cron run none",
		"cron pause none", "memory search none", "memory show none", "memory forget none", "knowledge list",
		"knowledge show none", "knowledge remove none", "sessions list", "sessions show none", "models costs",
	} {
		t.Run(verb, func(t *testing.T) {
			var both bytes.Buffer
			env := app.Env{Out: &both, Err: &both, Environ: func() []string { return nil }, Getenv: func(string) string {
				return ""
			}}
			code := cli.Run(t.Context(), env, append([]string{"--store", "postgres://127.0.0.1:1/none"}, strings.Fields(verb)...))
			out := both.String()
			if code != 1 || strings.Count(out, "no connection") != 1 || strings.Contains(out, "here is no") ||
				strings.Contains(out, "here are no") {
				t.Errorf("exit code %d, %q", code, out)
			}
		})
	}
}

// TestErrorsWithoutKind checks that people do not see the kind of an error, which is for programs.
func TestErrorsWithoutKind(t *testing.T) {
	for _, args := range [][]string{
		{"bridge", "show", "none"}, {"bridge", "revoke", "none"}, {"messaging", "test", "none"}, {"custom", "show", "none"},
		{"bridge", "add", "none", "https://127.0.0.1:1/"},
	} {
		if code, out := runCommand(t, args...); code != 1 || strings.Contains(out, "not_found:") ||
			strings.Contains(out, "unavailable:") {
			t.Errorf("%v: exit code %d, %q", args, code, out)
		}
	}
}

// runCommand runs the command line on an empty data directory.
func runCommand(t *testing.T, args ...string) (code int, out string) {
	t.Helper()
	dir := t.TempDir()
	data := filepath.Join(dir, "data")
	if err := os.Mkdir(data, 0o700); err != nil {
		t.Fatal(err)
	}
	in, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	var both bytes.Buffer
	env := app.Env{In: in, Out: &both, Err: &both, Environ: func() []string { return nil }, Getenv: func(name string) string {
		return map[string]string{"HOME": dir, "XDG_CONFIG_HOME": dir}[name]
	}}
	t.Chdir(dir)
	code = cli.Run(context.Background(), env, append([]string{"--data", data}, args...))
	return code, both.String()
}
