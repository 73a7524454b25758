// Package cli is the command line. A command reads flags, calls the packages that do the work,
// and prints their results. It decides nothing else. Begin with Run.
package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/version"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mcp-tools/mcp-tools/cmd/mcp-tools/app"
	"github.com/mcp-tools/mcp-tools/cmd/mcp-tools/cli/doctor"
	"github.com/mcp-tools/mcp-tools/internal/config"
	"github.com/mcp-tools/mcp-tools/internal/room"
	"github.com/mcp-tools/mcp-tools/internal/terminal"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// A CLI is the command line of one run of the program.
type CLI struct {
	app.Env
	output string
}

// New returns the command line of a run.
func New(env app.Env) *CLI {
	env.Doctor = doctor.Examine
	return &CLI{Env: env}
}

// Run executes the command line args and returns the exit code: 0 for success, 1 for a failure,
// 2 for invalid arguments or settings, or the exit code of a command that a tool ran.
func Run(ctx context.Context, env app.Env, args []string) int {
	cmd := New(env).Command()
	cmd.SetArgs(args)
	err := cmd.ExecuteContext(ctx)
	if err == nil {
		return 0
	}
	if text := err.Error(); text != "" {
		fmt.Fprintln(env.Err, "mcp-tools:", terminal.ForReader(env.Err, text))
	}
	return exitCode(err)
}

// painter returns the painter for output to w.
func (a *CLI) painter(w io.Writer) terminal.Painter { return terminal.NewPainter(w, a.Getenv) }

// failed is the error of a command that has printed everything already.
type failed struct{ code int } // 0: 1

func (failed) Error() string { return "" }

func exitCode(err error) int {
	var usage app.UsageError
	var settings config.Problems
	var said failed
	if errors.As(err, &said) && said.code != 0 {
		return said.code
	}
	if errors.As(err, &usage) || errors.As(err, &settings) || strings.HasPrefix(err.Error(), "unknown ") {
		return 2
	}
	return 1
}

// Command returns the whole command line.
func (a *CLI) Command() *cobra.Command {
	serve := a.serveCommand()
	root := &cobra.Command{
		Use:   "mcp-tools",
		Short: "Tools for agents over the Model Context Protocol",
		Long: `mcp-tools serves a suite of tools for agents over the Model Context Protocol.

Without a command it serves one client over stdio, which is how Claude Desktop,
VS Code, Cursor and others start it; mcp-tools connect CLIENT sets them up.
With --http it serves many clients, each with a token; see mcp-tools token create.`,
		Example: `  mcp-tools                                  serve the client that started it
  mcp-tools --http 127.0.0.1:8080            serve over HTTP
  mcp-tools connect claude-desktop           add it to the settings of a client
  mcp-tools tools list --profile coding      list the tools that an agent sees
  mcp-tools call datetime timezone=Asia/Tokyo
  mcp-tools ui                               see and decide in a browser
  mcp-tools doctor                           find problems, and suggest solutions`,
		Version:       version.String(),
		Args:          noCommand,
		RunE:          serve.RunE,
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.SetOut(a.Out)
	root.SetErr(a.Err)
	root.PersistentPreRunE = func(*cobra.Command, []string) error {
		_, err := a.asJSON() // before the command does anything
		return err
	}
	root.SetFlagErrorFunc(flagError)
	a.globalFlags(root.PersistentFlags())
	root.Flags().AddFlagSet(serve.Flags())
	root.AddCommand(serve, a.toolsCommand(), a.callCommand(), a.configCommand(),
		a.connectCommand(), a.disconnectCommand(),
		a.printConfigCommand(),
		a.uiCommand(), a.doctorCommand(), a.loadCommand(), a.upgradeCommand(), a.versionCommand(), a.manualCommand())
	for _, r := range a.Rooms() {
		root.AddCommand(a.roomCommands(r, a.byHand(r)...)...)
	}
	full := root.UsageTemplate()
	root.SetUsageTemplate(usage)
	serve.SetUsageTemplate(full)
	a.completion(root)
	return root
}

// byHand returns the commands of a room that are no verbs: conversations, and output that is no list.
func (a *CLI) byHand(r *room.Room) []*cobra.Command {
	switch r.Name {
	case "approvals":
		return []*cobra.Command{a.approvalsWatchCommand()}
	case "audit":
		return []*cobra.Command{a.auditExportCommand()}
	case "secrets":
		return []*cobra.Command{a.secretsSetCommand()}
	case "store":
		return []*cobra.Command{a.storeRestoreCommand()}
	}
	return nil
}

// dataExists returns an error if --data names a directory that does not exist, for a command that only reads: the
// answer would be that all is well, or that there is nothing.
func (a *CLI) dataExists() error {
	if a.Data == "" {
		return nil
	}
	if _, err := os.Stat(a.Data); errors.Is(err, fs.ErrNotExist) {
		return app.Usagef("there is no data directory %s; correct --data", a.Data)
	}
	return nil
}

func noCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	text := fmt.Sprintf("there is no command %q", args[0])
	switch name := cmd.Name(); {
	case strings.Trim(args[0], "0123456789") == "" && (name == "mcp-tools" || name == "serve"):
		return app.Usagef("%s; to serve over HTTP use --http 127.0.0.1:%s", text, args[0])
	case name == "secrets" && slices.Contains([]string{"get", "show", "read", "print", "cat"}, args[0]):
		return app.Usagef("%s: secrets are never shown; mcp-tools secrets list shows their names", text)
	}
	cmd.SuggestionsMinimumDistance = 2
	if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
		return app.Usagef("%s; did you mean %q?", text, near[0])
	}
	return app.Usagef("%s; %s -h lists all commands", text, cmd.CommandPath())
}

// globalFlags adds the flags of every command: locations, output, and the
// settings that have flags.
func (a *CLI) globalFlags(flags *pflag.FlagSet) {
	flags.StringVar(&a.ConfigFile, "config", "",
		"settings file (default: config.yaml in the user's configuration directory, if it exists)")
	flags.StringVar(&a.Data, "data", "",
		"data directory (default: mcp-tools in the user's data directory)")
	flags.StringVarP(&a.output, "output", "o", "text", "output format: text or json")
	a.Overrides = make(map[string]string)
	for _, s := range app.SettingsReader().Settings() {
		if s.Flag == "" {
			continue
		}
		f := flags.VarPF(override{a.Overrides, s.Key, s.Bool}, s.Flag, "", flagText(s))
		if s.Bool {
			f.NoOptDefVal = "true"
		}
	}
}

// flagText returns a setting's description in the style of flags, with its values.
func flagText(s config.Setting) string {
	text := strings.ToLower(s.Doc[:1]) + strings.TrimSuffix(s.Doc[1:], ".")
	if s.Values != nil {
		text += " (" + strings.Join(s.Values, ", ") + ")"
	}
	return text
}

// usage is the template for commands other than serve. They have few flags of their own.
const usage = `Usage:
  {{.UseLine}}{{if .HasAvailableSubCommands}}
  {{.CommandPath}} [command]{{end}}{{if .HasExample}}

Examples:
{{.Example}}{{end}}{{if .HasAvailableSubCommands}}

Commands:{{range .Commands}}{{if .IsAvailableCommand}}
  {{rpad .Name .NamePadding }} {{.Short}}{{end}}{{end}}{{end}}{{if .HasAvailableLocalFlags}}

Flags:
{{.LocalFlags.FlagUsages | trimTrailingWhitespaces}}{{end}}{{if .HasParent}}

--config, --data, --output json and the flags of settings work here too; mcp-tools serve -h lists them.{{end}}
`

// flagError adds the nearest flag to the error of an unknown one.
func flagError(cmd *cobra.Command, err error) error {
	unknown := (*pflag.NotExistError)(nil)
	if !errors.As(err, &unknown) {
		return app.UsageError{Err: err}
	}
	name := unknown.GetSpecifiedName()
	if name == "json" {
		return app.Usagef("%w; for JSON use --output json", err)
	}
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	if near := tool.Nearest(name, names); near != "" {
		return app.Usagef("%w; did you mean --%s?", err, near)
	}
	return app.Usagef("%w; %s -h lists the flags", err, cmd.CommandPath())
}

// An override is a flag for a setting. Package config checks its value.
type override struct {
	values map[string]string
	key    string
	bool   bool
}

func (o override) String() string { return o.values[o.key] }

func (o override) Set(text string) error {
	o.values[o.key] = text
	return nil
}

func (o override) Type() string {
	if o.bool {
		return ""
	}
	return "value"
}

// asJSON reports whether results are printed as JSON; other formats are an error.
func (a *CLI) asJSON() (bool, error) {
	if !slices.Contains([]string{"text", "json"}, a.output) {
		return false, app.Usagef("--output is %q, it must be text or json", a.output)
	}
	return a.output == "json", nil
}

// show prints a result: v as JSON, or with text.
func (a *CLI) show(v any, text func(w io.Writer) error) error {
	wanted, err := a.asJSON()
	if err != nil {
		return err
	}
	if !wanted {
		return text(a.Out)
	}
	e := json.NewEncoder(a.Out)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

// report prints the result of an action: v as JSON, or a line of text.
func (a *CLI) report(v any, format string, args ...any) error {
	return a.show(v, func(w io.Writer) error {
		_, err := fmt.Fprintf(w, format+"\n", args...)
		return err
	})
}

// say prints a message about an action.
func (a *CLI) say(format string, args ...any) error {
	_, err := fmt.Fprintf(a.Out, format+"\n", args...)
	return err
}

// showList prints a list: as JSON, or as a table with a row for each element, or the text
// none if there are no elements.
func showList[T any](a *CLI, list []T, none string, head []string, row func(T) []string) error {
	return a.show(append([]T{}, list...), func(w io.Writer) error {
		if len(list) == 0 && none != "" {
			_, err := fmt.Fprintln(w, none)
			return err
		}
		rows := [][]string{head}
		for _, one := range list {
			rows = append(rows, row(one))
		}
		return a.painter(w).Columns(w, rows)
	})
}

// on returns the body of a command that works on an object, such as the teams of the store:
// open passes the object to do, and closes it afterwards.
func on[T any](
	open func(use func(T) error) error, do func(ctx context.Context, it T, args []string) error,
) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		return open(func(it T) error { return do(cmd.Context(), it, args) })
	}
}

// takes returns a check that a command gets exactly these arguments.
func takes(names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) < len(names):
			return app.Usagef("%s needs %s; see %s -h", cmd.CommandPath(),
				strings.Join(names[len(args):], " and "), cmd.CommandPath())
		case len(args) > len(names):
			return app.Usagef("%s takes no argument %q; see %s -h", cmd.CommandPath(),
				args[len(names)], cmd.CommandPath())
		}
		return nil
	}
}

// group makes a command that has only subcommands.
func group(cmd *cobra.Command, below ...*cobra.Command) *cobra.Command {
	cmd.AddCommand(below...)
	cmd.Args = noCommand
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		var names []string
		for _, sub := range below {
			names = append(names, sub.Name())
		}
		return app.Usagef("%s needs one of %s; see %s -h", cmd.CommandPath(), strings.Join(names, ", "),
			cmd.CommandPath())
	}
	return cmd
}

// oneOf checks the value of a flag.
func oneOf(flag, value string, words ...string) error {
	for _, word := range words {
		if value == word {
			return nil
		}
	}
	return app.Usagef("--%s is %q, it must be %s", flag, value, strings.Join(words, " or "))
}

// ended returns nil if err is the cancellation of ctx: an interrupt is not a
// failure.
func ended(ctx context.Context, err error) error {
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return nil
	}
	return err
}
