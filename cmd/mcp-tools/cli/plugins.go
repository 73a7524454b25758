package cli

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcp-tools/mcp-tools/cmd/mcp-tools/app"
	"github.com/mcp-tools/mcp-tools/internal/text"
	"github.com/mcp-tools/mcp-tools/tools"
	"github.com/mcp-tools/mcp-tools/tools/plugins"
)

func (a *CLI) pluginsCommand() *cobra.Command {
	return group(&cobra.Command{
		Use:   "plugins",
		Short: "Manage plugins: tools, skills, context files and MCP servers in one directory",
		Long: `plugins manages directories, or archives, with a file plugin.yaml: tools, skills,
context files and MCP servers. They are found in the directory plugins beside the
settings, and in those of the setting plugins.dirs. A plugin counts when you have
enabled it, and until one of its files changes. Running servers notice changes.`,
	}, a.pluginsListCommand(), a.pluginsShowCommand(), a.pluginsEnableCommand(), a.pluginsDisableCommand(),
		a.pluginsAddCommand(), a.pluginsRemoveCommand())
}

// withPlugins passes the plugins of the settings.
func (a *CLI) withPlugins(use func(plugins.Set) error) error {
	loaded, err := a.Load()
	if err != nil {
		return err
	}
	return use(app.PluginSet(loaded))
}

// A pluginSheet describes a plugin for --output json.
type pluginSheet struct {
	Name        string        `json:"name"`
	Version     string        `json:"version,omitempty"`
	Description string        `json:"description,omitempty"`
	State       plugins.State `json:"state"`
	Why         string        `json:"why,omitempty"`
	Path        string        `json:"path,omitempty"`
	Digest      string        `json:"digest,omitempty"`
	Changes     []string      `json:"changes,omitempty"`
	Tools       []string      `json:"tools,omitempty"`
	Skills      []string      `json:"skills,omitempty"`
	Context     []string      `json:"context,omitempty"`
	Servers     []string      `json:"servers,omitempty"`
	Programs    []string      `json:"programs,omitempty"`
	Platforms   []string      `json:"platforms,omitempty"`
}

func sheetOf(p plugins.Plugin) pluginSheet {
	s := pluginSheet{
		Name: p.Name, Version: p.Version, Description: p.Description, State: p.State, Why: p.Why, Path: p.Path,
		Digest: p.Digest, Changes: p.Changes, Skills: p.Skills, Context: p.Context, Programs: p.Programs,
		Platforms: p.Platforms, Servers: slices.Sorted(maps.Keys(p.Servers)),
	}
	for _, d := range p.Tools {
		s.Tools = append(s.Tools, d.Name)
	}
	return s
}

func (a *CLI) pluginsListCommand() *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List the plugins", Args: cobra.NoArgs,
		RunE: on(a.withPlugins, func(_ context.Context, set plugins.Set, _ []string) error {
			list, err := set.List()
			if err != nil {
				return err
			}
			sheets := []pluginSheet{}
			for _, p := range list {
				sheets = append(sheets, sheetOf(p))
			}
			return a.show(sheets, func(w io.Writer) error { return printPlugins(w, set, sheets) })
		}),
	}
}

func printPlugins(w io.Writer, set plugins.Set, list []pluginSheet) error {
	if len(list) == 0 {
		_, err := fmt.Fprintf(w, "There are no plugins in %s; add one with mcp-tools plugins add PATH.\n",
			strings.Join(set.Dirs, ", "))
		return err
	}
	for _, p := range list {
		parts := fmt.Sprintf("%s, %s, %s", text.Plural(len(p.Tools), "tool"), text.Plural(len(p.Skills), "skill"),
			text.Plural(len(p.Servers), "server"))
		if p.Why != "" {
			parts = strings.ReplaceAll(p.Why, "\n", "; ")
		}
		if _, err := fmt.Fprintf(w, "%-20s %-8s %-9s %s\n", p.Name, p.Version, p.State, parts); err != nil {
			return err
		}
	}
	return nil
}

func (a *CLI) pluginsShowCommand() *cobra.Command {
	return &cobra.Command{
		Use: "show NAME", Short: "Show what a plugin has, and what has changed since it was enabled",
		Args: takes("NAME"),
		RunE: on(a.withPlugins, func(_ context.Context, set plugins.Set, args []string) error {
			p, err := set.Get(args[0])
			if err != nil {
				return err
			}
			return a.show(sheetOf(p), func(w io.Writer) error { return printPlugin(w, p) })
		}),
	}
}

// printPlugin prints what an operator has to know before enabling a plugin.
func printPlugin(w io.Writer, p plugins.Plugin) error {
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
		kind := d.Kind() + ", " + d.Effect()
		if d.Sandbox != "" {
			kind += ", sandbox " + d.Sandbox
		}
		if secrets := d.Secrets(); len(secrets) > 0 {
			kind += ", secrets " + strings.Join(secrets, ", ")
		}
		line("tool", "%s (%s)%s", d.Name, kind, taken(d.Name))
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
	_, err := io.WriteString(w, b.String())
	return err
}

// taken returns a note about the name of a tool that is one of ours.
func taken(name string) string {
	set, err := tools.All(tools.World{})
	if err != nil {
		return ""
	}
	if _, ours := set.Lookup(name); ours {
		return " is left out: there is a tool of this name"
	}
	return ""
}

// enabled reports a plugin that was enabled.
func (a *CLI) enabled(p plugins.Plugin) error {
	if err := printPlugin(a.Out, p); err != nil {
		return err
	}
	if p.State == plugins.Lacking {
		return a.say("%s is enabled, and off: %s", p.Name, p.Why)
	}
	return a.say("%s is enabled", p.Name)
}

func (a *CLI) pluginsEnableCommand() *cobra.Command {
	return &cobra.Command{
		Use: "enable NAME", Short: "Enable a plugin as it is now", Args: takes("NAME"),
		RunE: on(a.withPlugins, func(ctx context.Context, set plugins.Set, args []string) error {
			p, err := set.Enable(ctx, args[0])
			if err != nil {
				return err
			}
			return a.enabled(p)
		}),
	}
}

func (a *CLI) pluginsDisableCommand() *cobra.Command {
	return &cobra.Command{
		Use: "disable NAME", Short: "Disable a plugin", Args: takes("NAME"),
		RunE: on(a.withPlugins, func(ctx context.Context, set plugins.Set, args []string) error {
			if err := set.Disable(ctx, args[0]); err != nil {
				return err
			}
			return a.say("%s is disabled", args[0])
		}),
	}
}

func (a *CLI) pluginsAddCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "add PATH",
		Short: "Copy a directory or unpack an archive, and enable the plugin",
		Long: `add copies a directory, or unpacks an archive (.tar.gz, .tgz or .zip), into the
directory plugins beside the settings, and enables the plugin. It replaces one of the
same name, and shows which files differ.`,
		Example: `  mcp-tools plugins add weather-1.2.tar.gz`,
		Args:    takes("PATH"),
		RunE: on(a.withPlugins, func(ctx context.Context, set plugins.Set, args []string) error {
			p, err := set.Add(ctx, args[0])
			if err != nil {
				return err
			}
			return a.enabled(p)
		}),
	}
}

func (a *CLI) pluginsRemoveCommand() *cobra.Command {
	return &cobra.Command{
		Use: "remove NAME", Short: "Disable a plugin and remove its directory", Args: takes("NAME"),
		RunE: on(a.withPlugins, func(ctx context.Context, set plugins.Set, args []string) error {
			if err := set.Remove(ctx, args[0]); err != nil {
				return err
			}
			return a.say("%s is removed", args[0])
		}),
	}
}
