package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mcp-tools/mcp-tools/internal/config"
)

// An app is one run of the program: its streams, its environment, and what the
// command line says for all commands.
type app struct {
	in      *os.File
	out     io.Writer
	err     io.Writer
	getenv  func(string) string
	environ func() []string

	patience time.Duration // of searches with an index that is not ready; 0 is theirs

	configFile string
	data       string
	output     string
	overrides  map[string]string // settings given as flags, by key
}

// A usageError is a mistake of the person at the keyboard.
type usageError struct{ error }

func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// A failed command has said everything already.
type failed struct{}

func (failed) Error() string { return "" }

func exitCode(err error) int {
	var usage usageError
	var settings config.Problems
	if errors.As(err, &usage) || errors.As(err, &settings) || strings.HasPrefix(err.Error(), "unknown ") {
		return 2
	}
	return 1
}

// command is the whole command line.
func (a *app) command() *cobra.Command {
	serve := a.serveCommand()
	root := &cobra.Command{
		Use:   "mcp-tools",
		Short: "Tools for agents over the Model Context Protocol",
		Long: `mcp-tools serves a suite of tools for agents over the Model Context Protocol.

Without a command it serves one client over stdio, which is how Claude Desktop,
VS Code, Cursor and others start it:  mcp-tools connect CLIENT  tells them how.
With --http it serves many, each with a token:  mcp-tools token create.`,
		Example: `  mcp-tools                                  serve the client that started it
  mcp-tools --http 127.0.0.1:8080            serve over HTTP
  mcp-tools connect claude-desktop           add it to a client
  mcp-tools tools list --profile coding      see what an agent would see
  mcp-tools call datetime timezone=Asia/Tokyo
  mcp-tools doctor                           find out what does not work, and why`,
		Version:       version(),
		Args:          noCommand,
		RunE:          serve.RunE,
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.SetOut(a.out)
	root.SetErr(a.err)
	root.PersistentPreRunE = func(*cobra.Command, []string) error {
		_, err := a.asJSON() // before anything is done whose result could not be shown
		return err
	}
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	a.globalFlags(root.PersistentFlags())
	root.Flags().AddFlagSet(serve.Flags())
	root.AddCommand(serve, a.toolsCommand(), a.callCommand(), a.policyCommand(), a.auditCommand(), a.approvalsCommand(), a.tokenCommand(), a.secretsCommand(), a.storeCommand(), a.memoryCommand(), a.skillsCommand(), a.agentsCommand(),
		a.configCommand(), a.connectCommand(), a.disconnectCommand(), a.printConfigCommand(), a.doctorCommand(), a.versionCommand())
	a.completion(root)
	return root
}

func noCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	text := fmt.Sprintf("there is no command %q", args[0])
	cmd.SuggestionsMinimumDistance = 2
	if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
		return usagef("%s; did you mean %q?", text, near[0])
	}
	return usagef("%s; %s -h lists them", text, cmd.CommandPath())
}

// globalFlags are the ones that every command takes: where things are, and
// every setting that has a flag.
func (a *app) globalFlags(flags *pflag.FlagSet) {
	flags.StringVar(&a.configFile, "config", "", "settings file (default: config.yaml in the user's configuration directory, if there)")
	flags.StringVar(&a.data, "data", "", "directory for everything that lasts (default: mcp-tools in the user's data directory)")
	flags.StringVarP(&a.output, "output", "o", "text", "how results are printed: text or json")
	a.overrides = make(map[string]string)
	for _, s := range config.Settings() {
		if s.Flag == "" {
			continue
		}
		f := flags.VarPF(override{a.overrides, s.Key, s.Bool}, s.Flag, "", asFlagText(s.Doc))
		if s.Bool {
			f.NoOptDefVal = "true"
		}
	}
}

// asFlagText writes a setting's description the way those of flags are written.
func asFlagText(doc string) string {
	return strings.ToLower(doc[:1]) + strings.TrimSuffix(doc[1:], ".")
}

// An override is a flag for a setting. What it accepts is config's business.
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

// load reads the settings.
func (a *app) load() (*config.Loaded, error) {
	loaded, err := config.Load(a.loadOptions())
	return loaded, missingSettings(err)
}

func (a *app) loadOptions() config.LoadOptions {
	return config.LoadOptions{Path: a.configFile, Getenv: a.getenv, Overrides: a.overrides}
}

// missingSettings helps whoever named a settings file that is not there.
func missingSettings(err error) error {
	if missing := (*fs.PathError)(nil); errors.Is(err, fs.ErrNotExist) && errors.As(err, &missing) {
		return usagef("there is no settings file %s; mcp-tools config example prints one to begin with", missing.Path)
	}
	return err
}

// dataDir is where everything lies that lasts.
func (a *app) dataDir() (string, error) { return config.DataDir(a.data, a.getenv) }

// asJSON reports whether results are wanted as JSON, and refuses other words.
func (a *app) asJSON() (bool, error) {
	if !slices.Contains([]string{"text", "json"}, a.output) {
		return false, usagef("--output is %q, it must be text or json", a.output)
	}
	return a.output == "json", nil
}

// show prints a result: v as JSON when that is wanted, else whatever text does.
func (a *app) show(v any, text func(w io.Writer) error) error {
	wanted, err := a.asJSON()
	if err != nil {
		return err
	}
	if !wanted {
		return text(a.out)
	}
	e := json.NewEncoder(a.out)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

// terminal reports whether f is a person's terminal.
func terminal(f any) bool {
	file, ok := f.(*os.File)
	if !ok {
		return false
	}
	info, err := file.Stat()
	if err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return false
	}
	null, err := os.Stat(os.DevNull) // the one character device that nobody looks at
	return err != nil || !os.SameFile(info, null)
}
