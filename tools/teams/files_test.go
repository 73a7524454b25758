package teams

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/store/storetest"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

func TestFilesOfATeam(t *testing.T) {
	each(t, func(t *testing.T, w crew) {
		f := w.Files()
		if f.Serves(w.as("stranger"), "team/a.md") || f.Serves(w.as("stranger"), "TEAM.md") ||
			!f.Serves(w.as("ann"), "team/a.md") || !f.Serves(w.as("ann"), "TEAM.md") ||
			f.Serves(w.as("ann"), "teams/a.md") {
			t.Error("it serves the wrong files")
		}
		w.must(f.Write(w.as("ann"), "team/a/b.md", []byte("text")))
		content, _, err := f.Read(w.as("bob"), "team/a/b.md")
		w.must(err)
		wants(t, string(content), "text")
		list, err := f.List(w.as("bob"), ".")
		w.must(err)
		names := ""
		for _, e := range list {
			names += e.Name + " "
		}
		wants(t, names, "TEAM.md", "AVAILABILITY.md", "DELEGATION.md", "team/a/b.md")
		if list, err := f.List(w.as("stranger"), "."); len(list) > 0 || err != nil {
			t.Error(list, err)
		}
		for name, want := range map[string]string{
			"team/x.exe": "cannot end in .exe", "team/x.SH": "cannot end in .sh", "team/x.bat.": "cannot end in .bat",
			"team/" + strings.Repeat("x", 300): "cannot be the name", "TEAM.md": "is written by the server",
		} {
			if err := f.Write(w.as("ann"), name, []byte("x")); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want %q", name, err, want)
			}
		}
		if err := f.Write(w.as("ann"), "team/big",
			make([]byte, maxFileBytes+1)); tool.AsError(err).Kind != tool.TooLarge {
			t.Error(err)
		}
		for _, failed := range []error{
			f.Write(w.as("rev"), "team/a/b.md", []byte("x")), f.Write(w.as("rev"), "team/a/b.md", nil),
			f.Remove(w.as("rev"), "team/a/b.md"), f.Write(w.as("stranger"), "team/x", []byte("x")),
		} {
			if tool.AsError(failed) == nil || tool.AsError(failed).Kind != tool.Refused {
				t.Errorf("%v, want a refusal", failed)
			}
		}
		w.must(f.Write(w.as("bob"), "team/a/b.md", nil)) // empty content removes
		if _, _, err := f.Read(w.as("bob"), "team/a/b.md"); !errors.Is(err, fs.ErrNotExist) {
			t.Error(err)
		}
		if err := f.Remove(w.as("bob"), "team/a/b.md"); !errors.Is(err, fs.ErrNotExist) {
			t.Error(err)
		}
	})
}

func TestNumberOfFiles(t *testing.T) {
	each(t, func(t *testing.T, w crew) {
		f := w.Files()
		for n := range maxTeamFiles {
			w.must(f.Write(w.as("ann"), fmt.Sprintf("team/d%d/f", n), []byte("x")))
		}
		if err := f.Write(w.as("ann"), "team/more", []byte("x")); tool.AsError(err).Kind != tool.TooLarge {
			t.Error(err)
		}
		w.must(f.Write(w.as("ann"), "team/d0/f", []byte("changed")))
		text, err := w.call(w.as("ann"), "workspace_dir", `{}`)
		w.must(err)
		wants(t, text, `"path":"team/"`, `"files":100`, `"max_files":100`, `"bytes":106`)
		text, err = w.call(w.as("rev"), "workspace_dir", `{"scope":"shared"}`)
		w.must(err)
		wants(t, text, `"path":"team/"`, `"writable":false`)
		if text, err := w.call(w.as("stranger"), "workspace_dir", `{}`); err != nil || !strings.Contains(text, "file_state_dir/") {
			t.Errorf("without a team: %s, %v", text, err)
		}
		if text, err := w.call(w.as("stranger"), "workspace_dir", `{"scope":"team"}`); err == nil {
			t.Errorf("the team of an agent without one: %s", text)
		}
		text, err = w.call(w.as("stranger"), "workspace_dir", `{"scope":"user"}`)
		w.must(err)
		wants(t, text, `"path":"file_state_dir/"`)
	})
}

func TestFilesOfIsolatedBoards(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		w := newCrew(t, s, Options{}, Settings{Isolated: true})
		ada, eve := callBy(t, tool.Caller{Agent: "ann", User: "ada"}), callBy(t, tool.Caller{Agent: "bob", User: "eve"})
		f := w.Files()
		w.must(f.Write(ada, "team/own", []byte("private")))
		w.must(f.Write(ada, "team/shared/all", []byte("common")))
		if _, _, err := f.Read(eve, "team/own"); !errors.Is(err, fs.ErrNotExist) {
			t.Error(err)
		}
		content, _, err := f.Read(eve, "team/shared/all")
		w.must(err)
		wants(t, string(content), "common")
		list, err := f.List(eve, "team")
		w.must(err)
		if len(list) != 1 || list[0].Name != "team/shared/all" {
			t.Errorf("%+v", list)
		}
	})
}

func TestFilesThatTheServerWrites(t *testing.T) {
	each(t, func(t *testing.T, w crew) {
		w.create("Free", "")
		w.create("Given", `,"assignee":"ann"`)
		read := func(agent, name string) string {
			t.Helper()
			content, _, err := w.Files().Read(w.as(agent), name)
			w.must(err)
			return string(content)
		}
		wants(t, read("lead", "TEAM.md"), "# Team crew", "You are lead, its lead", "- ann (member)", "- rev (reviewer)",
			"before you create a task")
		wants(t, read("bob", "TEAM.md"), "You are bob, its member", "Claim a task")
		wants(t, read("lead", "AVAILABILITY.md"), "- ann (member): never seen, has 1 task", "- lead (lead): last seen ",
			"1 task for any member")
		wants(t, read("lead", "DELEGATION.md"), "## ann", "It has 1 task.")
		for n := range maxTargets {
			w.must(w.Add(t.Context(), "crew", fmt.Sprint("more", n), Member))
		}
		if text := read("lead", "DELEGATION.md"); !strings.Contains(text, "more1, ") || strings.Contains(text, "##") {
			t.Error(text)
		}
		brief, err := w.Brief(w.as("lead"))
		w.must(err)
		wants(t, brief, "# Team crew")
		if brief, err := w.Brief(w.as("ann")); brief != "" || err != nil {
			t.Error(brief, err)
		}
	})
}

func TestAttachments(t *testing.T) {
	each(t, func(t *testing.T, w crew) {
		id := w.create("Work", "")
		w.must(w.Files().Write(w.as("ann"), "team/report.md", []byte("text")))
		w.do("ann", "attach", id, `,"file_id":"report.md"`)
		w.do("ann", "attach", id, `,"file":"team/report.md"`)
		w.refuses("ann", "attach", id, `,"file":"team/none.md"`, "the team has no file")
		wants(t, w.do("ann", "get", id, ""), `"attachments":["team/report.md"]`)
		if _, err := w.call(w.as("ann"), "team_message",
			`{"action":"send","to":"bob","text":"see","media":["report.md"]}`); err != nil {
			t.Error(err)
		}
		text, err := w.call(w.as("bob"), "team_message", `{"action":"read"}`)
		w.must(err)
		wants(t, text, `"files":["team/report.md"]`)
	})
}
