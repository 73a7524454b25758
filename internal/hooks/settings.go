package hooks

import (
	"embed"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/mcp-tools/mcp-tools/internal/config"
	"github.com/mcp-tools/mcp-tools/internal/sandbox"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// Settings are hooks, by name.
type Settings map[string]HookSettings

// HookSettings describe a hook.
type HookSettings struct {
	Event   Event         `yaml:"event" enum:"PreToolUse,PostToolUse" required:"true"`
	Tools   []string      `yaml:"tools"`
	Paths   []string      `yaml:"paths"`
	Risk    string        `yaml:"risk" enum:"reads,writes,destroys,runs"`
	Command []string      `yaml:"command" form:"command" required:"true"`
	Hosts   []string      `yaml:"hosts" form:"hostport"`
	Sandbox string        `yaml:"sandbox" enum:"auto,kernel,seatbelt,docker,kubernetes,host"`
	Timeout time.Duration `yaml:"timeout" max:"5m"`
}

// An Event is the time at which a hook runs. The names come from Claude Code.
type Event string

// The events.
const (
	Before Event = "PreToolUse"
	After  Event = "PostToolUse"
)

//go:embed settings.txt
var texts embed.FS

// SettingTexts returns the texts about the settings.
func (Settings) SettingTexts() string { return config.Texts(texts) }

// Check finds patterns that match nothing.
func (s Settings) Check(add config.Add) {
	for name, h := range s {
		for _, pattern := range h.Tools {
			if pattern == "" || strings.Trim(pattern, nameCharacters+"*") != "" {
				add(name+".tools", "%q is no name of a tool; write edit, or file_* for all tools with names that begin so",
					pattern)
			}
		}
		for _, pattern := range h.Paths {
			if pattern == "" || filepath.IsAbs(pattern) || !doublestar.ValidatePattern(pattern) {
				add(name+".paths", "%q is no pattern; write **/*.go, relative to the workspace", pattern)
			}
		}
	}
}

const nameCharacters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-"

// defaultTimeout is the time of a hook without one of its own.
const defaultTimeout = 10 * time.Second

// hook is a hook that is ready.
type hook struct {
	HookSettings
	name string
	risk tool.Risk // at least
}

// compile returns the hooks of an event, in the order of their names.
func (s Settings) compile(e Event) (all []hook) {
	for name, h := range s {
		if h.Event != e {
			continue
		}
		ready := hook{HookSettings: h, name: name, risk: tool.Reads}
		for _, risk := range []tool.Risk{tool.Writes, tool.Destroys, tool.Runs} {
			if risk.String() == h.Risk {
				ready.risk = risk
			}
		}
		if ready.Timeout == 0 {
			ready.Timeout = defaultTimeout
		}
		if ready.Sandbox == "" {
			ready.Sandbox = sandbox.Auto
		}
		all = append(all, ready)
	}
	slices.SortFunc(all, func(a, b hook) int { return strings.Compare(a.name, b.name) })
	return all
}

// wants reports whether a hook is about a call.
func (h hook) wants(c Call, paths func() []string) bool {
	matches := func(pattern string) bool { return doublestar.MatchUnvalidated(pattern, c.Tool) }
	if c.Risk < h.risk || len(h.Tools) > 0 && !slices.ContainsFunc(h.Tools, matches) {
		return false
	}
	return len(h.Paths) == 0 || slices.ContainsFunc(paths(), func(path string) bool {
		return slices.ContainsFunc(h.Paths, func(p string) bool { return doublestar.MatchUnvalidated(p, path) })
	})
}
