package workspacetest

import (
	"errors"
	"io/fs"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

func TestMemory(t *testing.T) {
	user := For(t.Context(), tool.Caller{Agent: "a", User: "u"})
	agent := For(t.Context(), tool.Caller{Agent: "a"})
	m := NewMemory()
	m.Put("a", "", "BOOTSTRAP.md", "hello")
	for _, step := range []struct{ do, name, want string }{
		{"read", "BOOTSTRAP.md", "hello"}, {"write", "BOOTSTRAP.md", "started"}, {"read", "BOOTSTRAP.md", "started"},
		{"write", "BOOTSTRAP.md", ""}, {"read", "BOOTSTRAP.md", "hello"}, {"write", "SOUL.md", "mine"}, {"read", "SOUL.md", "mine"},
	} {
		if step.do == "write" {
			if err := m.Write(user, step.name, []byte(step.want)); err != nil {
				t.Error(err)
			}
			continue
		}
		if got, _, err := m.Read(user, step.name); string(got) != step.want || err != nil {
			t.Errorf("%s: %q, %v; want %q", step.name, got, err, step.want)
		}
	}
	if _, ok := m.Get("a", "u", "BOOTSTRAP.md"); ok {
		t.Error("an empty BOOTSTRAP.md is kept")
	}
	if _, _, err := m.Read(agent, "SOUL.md"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the agent sees a user's copy: %v", err)
	}
	if err := m.Write(agent, "SOUL.md", []byte("all")); err != nil {
		t.Error(err)
	}
	if got, ok := m.Get("a", "", "SOUL.md"); got != "all" || !ok {
		t.Errorf("without a user: %q", got)
	}
	if err := m.Remove(user, "SOUL.md"); err != nil {
		t.Error(err)
	}
	if got, _, err := m.Read(user, "SOUL.md"); string(got) != "all" || err != nil {
		t.Errorf("after removing the user's: %q, %v", got, err)
	}
	if err := m.Remove(user, "SOUL.md"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("removing the agent's as a user: %v", err)
	}
}

func TestPredefined(t *testing.T) {
	user := For(t.Context(), tool.Caller{Agent: "a", User: "u"})
	m := NewMemory()
	m.Predefined = true
	for _, name := range []string{"SOUL.md", "AGENTS.md", "USER.md", "MEMORY.md"} {
		m.Put("a", "", name, "the agent's")
	}
	for name, want := range map[string]struct{ read, write bool }{
		"SOUL.md": {false, false}, "AGENTS.md": {false, false}, "USER.md": {true, true}, "MEMORY.md": {true, true}, "memory/x": {true, true},
	} {
		_, _, err := m.Read(user, name)
		if refused := tool.AsError(err) != nil && tool.AsError(err).Kind == tool.Refused; refused == want.read {
			t.Errorf("reading %s: %v", name, err)
		}
		if err := m.Write(user, name, []byte("new")); (err == nil) != want.write {
			t.Errorf("writing %s: %v", name, err)
		}
	}
	m.Evolves = true
	if err := m.Write(user, "SOUL.md", []byte("grown")); err != nil {
		t.Error(err)
	}
	if got, ok := m.Get("a", "", "SOUL.md"); got != "grown" || !ok {
		t.Errorf("SOUL.md of the agent: %q", got)
	}
	entries, err := m.List(user, ".")
	if err != nil || len(entries) != 3 {
		t.Errorf("%v, %v; want USER.md, MEMORY.md and memory/x", entries, err)
	}
}
