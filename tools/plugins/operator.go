package plugins

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/room"
	"github.com/mcp-tools/mcp-tools/internal/text"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// Room returns the operators' verbs for plugins. set returns the plugins of the settings, and
// taken reports whether a tool of the program has a name.
func Room(set func() (Set, error), taken func(name string) bool) *room.Room {
	o := &operator{set, taken}
	return &room.Room{
		Name: "plugins", Title: "Manage plugins: tools, skills, context files and MCP servers in one directory",
		Doc: `plugins manages directories, or archives, with a file plugin.yaml: tools, skills,
context files and MCP servers. They are found in the directory plugins beside the
settings, and in the directories of the setting plugins.dirs. A plugin counts when you have
enabled it, and until one of its files changes. Running servers notice changes.`,
		Verbs: []room.Verb{
			room.Do(room.Verb{Name: "list", Title: "List the plugins", Risk: tool.Reads, Where: room.Operator}, o.list),
			room.Do(room.Verb{
				Name: "show", Title: "Show the parts of a plugin, and changes since it was enabled",
				Args: []string{"name"}, Risk: tool.Reads, Where: room.Operator,
			}, o.show),
			room.Do(room.Verb{
				Name: "enable", Title: "Enable a plugin as it is now", Args: []string{"name"}, Risk: tool.Writes,
			}, o.enable),
			room.Do(room.Verb{
				Name: "disable", Title: "Disable a plugin", Args: []string{"name"}, Risk: tool.Writes, Where: room.Operator,
			}, o.disable),
			room.Do(room.Verb{
				Name: "add", Title: "Copy a directory or unpack an archive, and enable the plugin", Args: []string{"path"},
				Risk: tool.Writes,
				Doc: `add copies a directory, or unpacks an archive (.tar.gz, .tgz or .zip), into the
directory plugins beside the settings, and enables the plugin. It replaces one of the
same name, and shows which files differ.`,
				Example: `  mcp-tools plugins add weather-1.2.tar.gz`,
			}, o.add),
			room.Do(room.Verb{
				Name: "remove", Title: "Disable a plugin and remove its directory", Args: []string{"name"}, Risk: tool.Destroys,
			}, o.remove),
		},
	}
}

// operator has the verbs of plugins.
type operator struct {
	set   func() (Set, error)
	taken func(name string) bool
}

// A sheet describes a plugin to programs.
type sheet struct {
	Name        string   `json:"name"`
	Version     string   `json:"version,omitempty"`
	Description string   `json:"description,omitempty"`
	State       State    `json:"state"`
	Why         string   `json:"why,omitempty"`
	Path        string   `json:"path,omitempty"`
	Digest      string   `json:"digest,omitempty"`
	Changes     []string `json:"changes,omitempty"`
	Tools       []string `json:"tools,omitempty"`
	Skills      []string `json:"skills,omitempty"`
	Context     []string `json:"context,omitempty"`
	Servers     []string `json:"servers,omitempty"`
	Programs    []string `json:"programs,omitempty"`
	Platforms   []string `json:"platforms,omitempty"`
}

func (p Plugin) sheet() sheet {
	s := sheet{
		Name: p.Name, Version: p.Version, Description: p.Description, State: p.State, Why: p.Why, Path: p.Path,
		Digest: p.Digest, Changes: p.Changes, Skills: p.Skills, Context: p.Context, Programs: p.Programs,
		Platforms: p.Platforms, Servers: slices.Sorted(maps.Keys(p.Servers)),
	}
	for _, d := range p.Tools {
		s.Tools = append(s.Tools, d.Name)
	}
	return s
}

func (o *operator) list(context.Context, struct{}) (tool.Result, error) {
	set, err := o.set()
	if err != nil {
		return tool.Result{}, err
	}
	list, err := set.List()
	if err != nil {
		return tool.Result{}, err
	}
	var sheets []sheet
	for _, p := range list {
		sheets = append(sheets, p.sheet())
	}
	none := fmt.Sprintf("There are no plugins in %s; add one with mcp-tools plugins add PATH.", strings.Join(set.Dirs, ", "))
	return room.Rows(sheets, none, []string{"NAME", "VERSION", "STATE", "PARTS"}, func(s sheet) []string {
		parts := fmt.Sprintf("%s, %s, %s", text.Plural(len(s.Tools), "tool"), text.Plural(len(s.Skills), "skill"),
			text.Plural(len(s.Servers), "server"))
		if s.Why != "" {
			parts = strings.ReplaceAll(s.Why, "\n", "; ")
		}
		return []string{s.Name, s.Version, string(s.State), parts}
	}), nil
}

type nameArgs struct {
	Name string `json:"name" jsonschema:"the plugin, as in list"`
}

func (o *operator) show(_ context.Context, a nameArgs) (tool.Result, error) {
	set, err := o.set()
	if err != nil {
		return tool.Result{}, err
	}
	p, err := set.Get(a.Name)
	return tool.Text(o.describe(p)).With(p.sheet()), rated(err)
}

// describe returns the facts that an operator has to know before enabling a plugin.
func (o *operator) describe(p Plugin) string {
	var b strings.Builder
	line := func(what, format string, args ...any) {
		fmt.Fprintf(&b, "%-10s %s\n", what, fmt.Sprintf(format, args...))
	}
	line(p.Name, "%s", strings.TrimSpace(p.Version+"  "+p.Description))
	line("state", "%s", p.State)
	if p.Why != "" {
		line("", "%s", p.Why)
	}
	line("path", "%s", p.Path)
	line("digest", "%s", p.Digest)
	for _, d := range p.Tools {
		kind, note := d.Kind()+", "+d.Effect(), ""
		if d.Sandbox != "" {
			kind += ", sandbox " + d.Sandbox
		}
		if secrets := d.Secrets(); len(secrets) > 0 {
			kind += ", secrets " + strings.Join(secrets, ", ")
		}
		if o.taken(d.Name) {
			note = " is left out: there is a tool of this name"
		}
		line("tool", "%s (%s)%s", d.Name, kind, note)
	}
	for _, name := range p.Skills {
		line("skill", "%s", name)
	}
	for _, name := range p.Context {
		line("context", "%s, for all agents", name)
	}
	for _, name := range slices.Sorted(maps.Keys(p.Servers)) {
		line("server", "%s: %s", name, p.Servers[name].Where())
	}
	for _, name := range p.Programs {
		line("needs", "%s", name)
	}
	for _, change := range p.Changes {
		line("change", "%s", change)
	}
	return b.String()
}

func (o *operator) enable(ctx context.Context, a nameArgs) (tool.Result, error) {
	return o.enabled(func(s Set) (Plugin, error) { return s.Enable(ctx, a.Name) })
}

type addArgs struct {
	Path string `json:"path" jsonschema:"the directory or the archive"`
}

func (o *operator) add(ctx context.Context, a addArgs) (tool.Result, error) {
	return o.enabled(func(s Set) (Plugin, error) { return s.Add(ctx, a.Path) })
}

// enabled describes the plugin that do has enabled.
func (o *operator) enabled(do func(Set) (Plugin, error)) (tool.Result, error) {
	set, err := o.set()
	if err != nil {
		return tool.Result{}, err
	}
	p, err := do(set)
	if err != nil {
		return tool.Result{}, rated(err)
	}
	off := ""
	if p.State == Lacking {
		off = ", and off: " + p.Why
	}
	return room.Said(p.sheet(), "%s%s is enabled%s", o.describe(p), p.Name, off), nil
}

func (o *operator) disable(ctx context.Context, a nameArgs) (tool.Result, error) {
	set, err := o.set()
	if err == nil {
		err = set.Disable(ctx, a.Name)
	}
	return tool.Textf("%s is disabled", a.Name), err
}

func (o *operator) remove(ctx context.Context, a nameArgs) (tool.Result, error) {
	set, err := o.set()
	if err == nil {
		err = set.Remove(ctx, a.Name)
	}
	return tool.Textf("%s is removed", a.Name), rated(err)
}

// rated gives the error about an unknown plugin its kind.
func rated(err error) error {
	if errors.Is(err, ErrUnknown) {
		return tool.Errorf(tool.NotFound, "%v", err).Because(err)
	}
	return err
}
