package workspacetest

import (
	"context"
	"io/fs"
	"strings"
	"sync"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/internal/workspace"
)

// Memory is a [workspace.Source] that keeps files in memory, each for an agent
// or for one user of it. It serves an agent's context files and its memory; of
// a user who has none of a name, the agent's counts.
//
// An open agent's context files belong to its users. A predefined one shows
// them USER.md and BOOTSTRAP.md only, and they write USER.md only.
type Memory struct {
	Predefined bool // agents are predefined
	Evolves    bool // and may rewrite their SOUL.md

	mu    sync.Mutex
	files map[owned]stored
	tick  time.Time
}

type owned struct{ agent, user, name string }

type stored struct {
	content  string
	modified time.Time
}

// NewMemory is empty.
func NewMemory() *Memory {
	return &Memory{files: map[owned]stored{}, tick: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
}

// Route sends to m what it serves.
func (m *Memory) Route() workspace.Route { return workspace.Route{Serves: m.Serves, Source: m} }

// Routed is an option for [New].
func (m *Memory) Routed(o *workspace.Options) { o.Routes = append(o.Routes, m.Route()) }

// Put stores a file of a user, or of the agent when user is "".
func (m *Memory) Put(agent, user, name, content string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.put(owned{agent, user, name}, content)
}

// Get returns what is stored for a user, or for the agent when user is "".
func (m *Memory) Get(agent, user, name string) (content string, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	f, ok := m.files[owned{agent, user, name}]
	return f.content, ok
}

func (m *Memory) put(o owned, content string) {
	m.tick = m.tick.Add(time.Second)
	m.files[o] = stored{content, m.tick}
}

// Serves reports whether a name is one of an agent's files.
func (m *Memory) Serves(ctx context.Context, name string) bool {
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

// Read returns the user's copy, else the agent's.
func (m *Memory) Read(ctx context.Context, name string) ([]byte, time.Time, error) {
	if !m.readable(name) {
		return nil, time.Time{}, tool.Errorf(tool.Refused, "%q is already loaded into your context", name).Try("go on without reading it")
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	f, ok := m.files[m.holder(tool.CallerFrom(ctx), name)]
	if !ok {
		return nil, time.Time{}, &fs.PathError{Op: "read", Path: name, Err: fs.ErrNotExist}
	}
	return []byte(f.content), f.modified, nil
}

func (m *Memory) readable(name string) bool {
	return !m.Predefined || isMemory(name) || name == "USER.md" || name == "BOOTSTRAP.md"
}

// holder is whose copy a caller sees.
func (m *Memory) holder(c tool.Caller, name string) owned {
	if own := (owned{c.Agent, c.User, name}); m.files[own] != (stored{}) {
		return own
	}
	return owned{c.Agent, "", name}
}

// Write changes the user's copy. An empty BOOTSTRAP.md is one less: the first
// conversation is over.
func (m *Memory) Write(ctx context.Context, name string, content []byte) error {
	c := tool.CallerFrom(ctx)
	own := owned{c.Agent, c.User, name}
	done := name == "BOOTSTRAP.md" && len(content) == 0
	if m.Predefined && isContext(name) && name != "USER.md" && !done {
		if name != "SOUL.md" || !m.Evolves {
			return tool.Errorf(tool.Refused, "%q is part of the agent's predefined configuration", name).Try("write USER.md or a memory file")
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

// Remove removes the user's copy, or the agent's when there is no user.
func (m *Memory) Remove(ctx context.Context, name string) error {
	c := tool.CallerFrom(ctx)
	m.mu.Lock()
	defer m.mu.Unlock()
	own := owned{c.Agent, c.User, name}
	if _, ok := m.files[own]; !ok {
		return &fs.PathError{Op: "remove", Path: name, Err: fs.ErrNotExist}
	}
	delete(m.files, own)
	return nil
}

// List returns what the caller can read.
func (m *Memory) List(ctx context.Context, _ string) ([]workspace.SourceEntry, error) {
	c := tool.CallerFrom(ctx)
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []workspace.SourceEntry
	for o, f := range m.files {
		if m.holder(c, o.name) == o && m.readable(o.name) {
			out = append(out, workspace.SourceEntry{Name: o.name, Size: int64(len(f.content)), Modified: f.modified})
		}
	}
	return out, nil
}
