package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcp-tools/mcp-tools/cmd/mcp-tools/app"
	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/tools"
	"github.com/mcp-tools/mcp-tools/tools/custom"
)

func (a *CLI) customCommand() *cobra.Command {
	return group(&cobra.Command{
		Use:   "custom",
		Short: "Manage tools that you define",
		Long: `custom manages tools that you define: commands, HTTP requests and scripts with
placeholders for arguments. A definition is a file in the directory tools.d beside the
settings, or a row of the store, which all servers on it have. Running servers notice
changes.`,
	}, a.customListCommand(), a.customTestCommand(), a.customAddCommand(), a.customImportCommand(),
		a.customSwitchCommand("enable", false), a.customSwitchCommand("disable", true), a.customRemoveCommand())
}

// withCustom opens the definitions of the store.
func (a *CLI) withCustom(use func(custom.Rows) error) error {
	return a.WithStore(func(s *store.Store) error { return use(custom.Rows{Store: s}) })
}

// putCustom adds a definition to the store, unless the name is that of another tool.
func (a *CLI) putCustom(ctx context.Context, d custom.Definition) error {
	if err := checkCustom(d); err != nil {
		return err
	}
	data, err := a.DataDir()
	if err != nil {
		return err
	}
	return a.withCustom(func(r custom.Rows) error { return errors.Join(r.Put(ctx, d), app.MarkCustom(data)) })
}

// checkCustom returns why a definition that was read cannot be used, or nil.
func checkCustom(d custom.Definition) error {
	set, err := tools.All(tools.World{})
	if err != nil {
		return err
	}
	if _, taken := set.Lookup(d.Name); taken {
		return app.Usagef("there is a tool %q already; choose another name", d.Name)
	}
	if err := d.CheckScript(); err != nil {
		return app.Usagef("script: %v", err)
	}
	return nil
}

func (a *CLI) customListCommand() *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List the tools that you have defined", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			loaded, err := a.Load()
			if err != nil {
				return err
			}
			dir := app.CustomDir(loaded)
			all, wrong := custom.LoadDir(dir)
			var rows []custom.Definition
			err = a.withCustom(func(r custom.Rows) (err error) {
				rows, err = r.List(cmd.Context())
				return err
			})
			if len(all)+len(rows) == 0 && errors.Join(wrong, err) == nil {
				return a.say("There are no custom tools; write a file in %s, or use mcp-tools custom add.", dir)
			}
			ours, err2 := tools.All(tools.World{})
			if err2 != nil {
				return err2
			}
			seen := make(map[string]bool)
			for i, d := range slices.Concat(all, rows) {
				place, state, agent := "store", "enabled", "all agents"
				if i < len(all) {
					place = "file"
				}
				_, taken := ours.Lookup(d.Name)
				switch {
				case d.Disabled:
					state = "disabled"
				case taken || seen[d.Name]:
					state = "left out: the name is taken"
				default:
					seen[d.Name] = true
				}
				if d.Agent != "" {
					agent = "agent " + d.Agent
				}
				fmt.Fprintf(a.Out, "%-24s %-8s %-8s %-6s %s\n", d.Name, d.Kind(), state, place, agent)
			}
			return errors.Join(wrong, err)
		},
	}
}

func (a *CLI) customTestCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "test FILE [NAME=VALUE...]",
		Short: "Check a definition, and show what a call would do",
		Long: `test checks a definition. With arguments, as NAME=VALUE or one JSON object, it shows
what a call would do, and does nothing. To make a call use mcp-tools call NAME.`,
		Example: `  mcp-tools custom test weather.yaml city="New York"`,
		Args:    cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			d, err := custom.LoadFile(args[0])
			if err != nil {
				return app.Usagef("%s: %v", args[0], err)
			}
			if err := checkCustom(d); err != nil {
				return fmt.Errorf("%s: %w", args[0], err)
			}
			if why := d.Warning(); why != "" {
				fmt.Fprintf(a.Err, "warning: %s\n", why)
			}
			if len(args) == 1 {
				return a.say("%s is right: a %s named %s", args[0], d.Kind(), d.Name)
			}
			raw, err := testArguments(d, args[1:])
			if err != nil {
				return err
			}
			shown, err := custom.Preview(d, raw)
			if err != nil {
				return app.Usagef("%v", err)
			}
			return a.say("%s", shown)
		},
	}
}

// testArguments reads NAME=VALUE, where values are texts if the definition says so, else JSON if they
// are.
func testArguments(d custom.Definition, words []string) (json.RawMessage, error) {
	if len(words) == 1 && strings.HasPrefix(words[0], "{") {
		return json.RawMessage(words[0]), nil
	}
	properties, _ := d.Parameters["properties"].(map[string]any)
	all := map[string]any{}
	for _, word := range words {
		name, value, found := strings.Cut(word, "=")
		if !found {
			return nil, app.Usagef("%q is not NAME=VALUE", word)
		}
		all[name] = value
		property, _ := properties[name].(map[string]any)
		if property["type"] != "string" && json.Valid([]byte(value)) {
			all[name] = json.RawMessage(value)
		}
	}
	return json.Marshal(all)
}

func (a *CLI) customAddCommand() *cobra.Command {
	return &cobra.Command{
		Use: "add FILE", Short: "Add a definition to the store, or replace one", Args: takes("FILE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			d, err := custom.LoadFile(args[0])
			if err != nil {
				return app.Usagef("%s: %v", args[0], err)
			}
			if err := a.putCustom(cmd.Context(), d); err != nil {
				return err
			}
			return a.say("tool %s is in the store", d.Name)
		},
	}
}

func (a *CLI) customImportCommand() *cobra.Command {
	var check bool
	cmd := &cobra.Command{
		Use:   "import FILE",
		Short: "Import tools of goclaw, which are shell commands with {{.key}}",
		Long: `import reads tools of goclaw as JSON: one, or a list. A shell command that is one
program with arguments becomes a command without a shell. Others are refused, with the
reason. - reads stdin.`,
		Args: takes("FILE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			from := io.Reader(a.In)
			if args[0] != "-" {
				f, err := os.Open(args[0])
				if err != nil {
					return err
				}
				defer f.Close()
				from = f
			}
			text, err := io.ReadAll(io.LimitReader(from, 10<<20))
			if err != nil {
				return err
			}
			seeds, err := custom.ParseSeeds(text)
			if err != nil {
				return app.Usagef("%s: %v", args[0], err)
			}
			return a.importSeeds(cmd.Context(), seeds, check)
		},
	}
	cmd.Flags().BoolVar(&check, "check", false, "only show what they would become")
	return cmd
}

func (a *CLI) importSeeds(ctx context.Context, seeds []custom.Seed, check bool) error {
	refused := 0
	for _, s := range seeds {
		d, secrets, err := custom.Convert(s)
		if err == nil && !check {
			err = a.putCustom(ctx, d)
		}
		if err != nil {
			refused++
			fmt.Fprintf(a.Err, "%s is refused: %v\n", s.Name, err)
			continue
		}
		text, err := d.YAML()
		if err != nil {
			return err
		}
		if check {
			fmt.Fprintf(a.Out, "---\n%s", text)
			continue
		}
		fmt.Fprintf(a.Out, "tool %s is in the store\n", d.Name)
		for _, name := range secrets {
			fmt.Fprintf(a.Out, "  set its value: mcp-tools secrets set %s\n", name)
		}
	}
	if refused > 0 {
		return fmt.Errorf("%d of %d tools were refused", refused, len(seeds))
	}
	return nil
}

func (a *CLI) customSwitchCommand(name string, disabled bool) *cobra.Command {
	return &cobra.Command{
		Use: name + " NAME", Short: strings.ToUpper(name[:1]) + name[1:] + " a tool of the store", Args: takes("NAME"),
		RunE: on(a.withCustom, func(ctx context.Context, r custom.Rows, args []string) error {
			d, err := r.Get(ctx, args[0])
			if d.Disabled = disabled; err == nil {
				err = r.Put(ctx, d)
			}
			if err != nil {
				return fmt.Errorf("%q: %w", args[0], err)
			}
			return a.say("tool %s is %sd", args[0], name)
		}),
	}
}

func (a *CLI) customRemoveCommand() *cobra.Command {
	return &cobra.Command{
		Use: "remove NAME", Short: "Remove a tool of the store", Args: takes("NAME"),
		RunE: on(a.withCustom, func(ctx context.Context, r custom.Rows, args []string) error {
			if err := r.Remove(ctx, args[0]); err != nil {
				return fmt.Errorf("%q: %w", args[0], err)
			}
			return a.say("tool %s is removed", args[0])
		}),
	}
}
