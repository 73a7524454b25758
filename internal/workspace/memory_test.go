package workspace_test

import (
	"context"
	"errors"
	"io/fs"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/internal/workspace"
	"github.com/mcp-tools/mcp-tools/internal/workspace/workspacetest"
)

// memoryFiles is a [workspace.Source] that keeps files in memory, for an agent or
// for one user of it. It serves an agent's context files and its memory. If a user
// has no file of a name, the agent's file is used.
//
// The context files of an open agent belong to its users. Users of a predefined
// agent see only USER.md and BOOTSTRAP.md, and write only USER.md.
type memoryFiles struct {
	Predefined bool // agents are predefined
	Evolves    bool // and may change their SOUL.md

	mu    sync.Mutex
	files map[fileKey]storedFile
	tick  time.Time
}

type fileKey struct{ agent, user, name string }

type storedFile struct {
	content  string
	modified time.Time
}

func newMemory() *memoryFiles {
	return &memoryFiles{files: map[fileKey]storedFile{}, tick: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
}

// Route returns a route to m.
func (m *memoryFiles) Route() workspace.Route { return workspace.Route{Serves: m.Serves, Source: m} }

// Routed is an option for [workspacetest.New] that adds the route.
func (m *memoryFiles) Routed(o *workspace.Options) { o.Routes = append(o.Routes, m.Route()) }

// Put stores a file of a user, or of the agent when user is "".
func (m *memoryFiles) Put(agent, user, name, content string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.put(fileKey{agent, user, name}, content)
}

// Get returns what is stored for a user, or for the agent when user is "".
func (m *memoryFiles) Get(agent, user, name string) (content string, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	f, ok := m.files[fileKey{agent, user, name}]
	return f.content, ok
}

func (m *memoryFiles) put(o fileKey, content string) {
	m.tick = m.tick.Add(time.Second)
	m.files[o] = storedFile{content, m.tick}
}

// Note returns the note for results that name such a file.
func (*memoryFiles) Note() string { return "kept in the store" }

func (m *memoryFiles) Serves(ctx context.Context, name string) bool {
	return tool.CallerFrom(ctx).Agent != "" && (isContext(name) || isMemory(name))
}

func isContext(name string) bool {
	switch name {
	case "SOUL.md", "AGENTS.md", "IDENTITY.md", "TOOLS.md", "USER.md", "USER_PREDEFINED.md", "BOOTSTRAP.md":
		return true
	}
	return false
}

func isMemory(name string) bool {
	return name == "MEMORY.md" || name == "memory.md" || strings.HasPrefix(name, "memory/")
}

// Read returns the user's file, or else the agent's.
func (m *memoryFiles) Read(ctx context.Context, name string) ([]byte, time.Time, error) {
	if !m.readable(name) {
		return nil, time.Time{}, tool.Errorf(tool.Refused, "%q is already loaded into your context", name).
			Try("continue without reading it")
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	f, ok := m.files[m.holder(tool.CallerFrom(ctx), name)]
	if !ok {
		return nil, time.Time{}, &fs.PathError{Op: "read", Path: name, Err: fs.ErrNotExist}
	}
	return []byte(f.content), f.modified, nil
}

func (m *memoryFiles) readable(name string) bool {
	return !m.Predefined || isMemory(name) || name == "USER.md" || name == "BOOTSTRAP.md"
}

// holder returns the key of the file that a caller sees.
func (m *memoryFiles) holder(c tool.Caller, name string) fileKey {
	if own := (fileKey{c.Agent, c.User, name}); m.files[own] != (storedFile{}) {
		return own
	}
	return fileKey{c.Agent, "", name}
}

// Write changes the user's file. Writing an empty BOOTSTRAP.md removes it, because
// the first conversation has ended.
func (m *memoryFiles) Write(ctx context.Context, name string, content []byte) error {
	c := tool.CallerFrom(ctx)
	own := fileKey{c.Agent, c.User, name}
	done := name == "BOOTSTRAP.md" && len(content) == 0
	if m.Predefined && isContext(name) && name != "USER.md" && !done {
		if name != "SOUL.md" || !m.Evolves {
			return tool.Errorf(tool.Refused, "%q is part of the agent's predefined configuration", name).
				Try("write USER.md or a memory file")
		}
		own.user = ""
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if done {
		delete(m.files, own)
		return nil
	}
	m.put(own, string(content))
	return nil
}

// Remove removes the user's file, or the agent's if there is no user.
func (m *memoryFiles) Remove(ctx context.Context, name string) error {
	c := tool.CallerFrom(ctx)
	m.mu.Lock()
	defer m.mu.Unlock()
	own := fileKey{c.Agent, c.User, name}
	if _, ok := m.files[own]; !ok {
		return &fs.PathError{Op: "remove", Path: name, Err: fs.ErrNotExist}
	}
	delete(m.files, own)
	return nil
}

// List returns what the caller can read.
func (m *memoryFiles) List(ctx context.Context, _ string) ([]workspace.SourceEntry, error) {
	c := tool.CallerFrom(ctx)
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []workspace.SourceEntry
	for o, f := range m.files {
		if m.holder(c, o.name) == o && m.readable(o.name) {
			entry := workspace.SourceEntry{Name: o.name, Size: int64(len(f.content)), Modified: f.modified}
			out = append(out, entry)
		}
	}
	return out, nil
}

func TestMemory(t *testing.T) {
	user := workspacetest.For(t.Context(), tool.Caller{Agent: "a", User: "u"})
	agent := workspacetest.For(t.Context(), tool.Caller{Agent: "a"})
	m := newMemory()
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
	user := workspacetest.For(t.Context(), tool.Caller{Agent: "a", User: "u"})
	m := newMemory()
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
