package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/mcp-tools/mcp-tools/cmd/mcp-tools/app"
	"github.com/mcp-tools/mcp-tools/internal/terminal"
	"github.com/mcp-tools/mcp-tools/internal/text"

	"github.com/spf13/cobra"

	"github.com/mcp-tools/mcp-tools/internal/config"
)

func (a *CLI) configCommand() *cobra.Command {
	return group(&cobra.Command{
		Use:   "config",
		Short: "Check and describe the settings",
		Long: `config is about the settings file. It is optional: every setting has a default,
and many have a flag. mcp-tools config example prints a file to start with.`,
	}, a.configCheckCommand(), a.configPathCommand(),
		a.printer("schema", "Print a JSON Schema of the settings file, for editors",
			`schema prints a JSON Schema (2020-12). Save it beside the settings file and begin
that file with

  # yaml-language-server: $schema=config.schema.json`, app.SettingsReader().Schema),
		a.printer("example", "Print an example of a settings file",
			"example prints a settings file in which every line is optional and explained.", app.ExampleSettings))
}

// printer returns a command that prints a constant text.
func (a *CLI) printer(name, short, long string, text func() []byte) *cobra.Command {
	return &cobra.Command{
		Use:     name,
		Short:   short,
		Long:    long,
		Example: "  mcp-tools config " + name,
		Args:    takes(),
		RunE: func(*cobra.Command, []string) error {
			_, err := a.Out.Write(text())
			return err
		},
	}
}

func (a *CLI) configCheckCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "check",
		Short: "Find mistakes in the settings",
		Long: `check reads the settings from file, environment and flags, as serve does, and
reports all mistakes, each with its place. The exit code is 2 if serve would not
start.`,
		Example: `  mcp-tools config check
  mcp-tools config check --config new.yaml`,
		Args: takes(),
		RunE: func(*cobra.Command, []string) error {
			v, err := a.Examine()
			if err != nil {
				return a.showProblems(err)
			}
			problems := append(config.Problems(app.SettingsReader().UnknownVariables(a.Environ())), v.Warnings...)
			problems = append(problems, v.Loaded.Warnings()...)
			if _, err := app.NewScrubber(v.Loaded.Config.Scrub, a.Sources(v.Loaded.Config)); err != nil {
				return a.showProblems(config.Problems{{Source: a.settingsName(v.Loaded), Text: err.Error()}})
			}
			return a.show(append(config.Problems{}, problems...), func(w io.Writer) error {
				for _, p := range problems {
					fmt.Fprintln(w, terminal.OneLine(p.String()))
				}
				_, err := fmt.Fprintf(w, "%s: no mistakes, %s\n", a.settingsName(v.Loaded),
					text.Plural(len(problems), "warning"))
				return err
			})
		},
	}
}

// settingsName returns a name for the settings as a whole.
func (a *CLI) settingsName(l *app.Loaded) string {
	if l.Path == "" {
		return "no settings file"
	}
	return l.Path
}

// showProblems prints mistakes in the settings as JSON, if the user wants JSON, and returns err
// for the message to people.
func (a *CLI) showProblems(err error) error {
	var problems config.Problems
	if !errors.As(err, &problems) {
		return err
	}
	nothing := func(io.Writer) error { return nil }
	return errors.Join(a.show(problems, nothing), err)
}

// A settingsPath is the location of the settings file and of the data.
type settingsPath struct {
	File   string `json:"file"`
	Exists bool   `json:"exists"`
	Data   string `json:"data"`
}

func (a *CLI) configPathCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "path",
		Short: "Print the path of the settings file",
		Long: `path prints which settings file is read, or where it would be; then a message on
stderr says that it does not exist.`,
		Example: `  mcp-tools config path
  $EDITOR "$(mcp-tools config path)"`,
		Args: takes(),
		RunE: func(*cobra.Command, []string) error {
			file, err := config.File(a.ConfigFile, a.Getenv)
			if err != nil {
				return err
			}
			data, err := a.DataDir()
			if err != nil {
				return err
			}
			_, err = os.Stat(file)
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
			found := settingsPath{file, err == nil, data}
			return a.show(found, func(w io.Writer) error {
				if !found.Exists {
					fmt.Fprintln(a.Err,
						"The file does not exist; defaults apply. mcp-tools config example prints one to start with.")
				}
				_, err := fmt.Fprintln(w, file)
				return err
			})
		},
	}
}
