package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mcp-tools/mcp-tools/cmd/mcp-tools/app"
	"github.com/mcp-tools/mcp-tools/cmd/mcp-tools/cli/doctor"
	"github.com/mcp-tools/mcp-tools/internal/terminal"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mcp-tools/mcp-tools/internal/clients"
	"github.com/mcp-tools/mcp-tools/internal/text"
)

// An entry describes our entry in the settings file of a client.
type entry struct {
	project       bool
	name          string
	url, tokenEnv string
}

func (e *entry) nameFlags(flags *pflag.FlagSet) {
	flags.BoolVar(&e.project, "project", false,
		"use the settings file of the project in this directory, instead of your own")
	flags.StringVar(&e.name, "name", clients.EntryName, "name of the entry")
}

func (e *entry) allFlags(flags *pflag.FlagSet) {
	e.nameFlags(flags)
	flags.StringVar(&e.url, "url", "",
		"address of a running server, such as https://host/mcp; without it the client starts its own server")
	flags.StringVar(&e.tokenEnv, "token-env", "",
		"environment variable from which the client takes the token for --url")
}

// client returns the client, and the environment with its files.
func (e *entry) client(name string) (clients.Client, clients.Env, error) {
	env, err := clients.HostEnv()
	if err != nil {
		return clients.Client{}, env, err
	}
	c, err := clients.Find(name)
	if err == nil && e.project {
		c, err = c.Project()
	}
	if err != nil {
		return c, env, app.UsageError{Err: err}
	}
	return c, env, nil
}

func (a *CLI) connectCommand() *cobra.Command {
	var e entry
	cmd := &cobra.Command{
		Use:   "connect CLIENT",
		Short: "Add this server to a client's settings",
		Long: `connect adds this server to the settings file of a client: ` + clientNames() + `.
Nothing else in the file changes, and the old file is kept as a backup. Before that
the server is started once, as the client will start it.

Flags of serve, such as --profile and --workspace, become arguments of the entry.
Clients that start servers in no project need --workspace, the directory whose files
the agent may use. With --project the entry names no path of this machine: the
others who use the project have mcp-tools in their PATH. An entry that is there is updated.`,
		Example: `  mcp-tools connect claude-desktop --workspace ~/src
  mcp-tools connect vscode --project --profile coding
  mcp-tools connect cursor --url https://host.example.com/mcp --token-env MCP_TOOLS_TOKEN`,
		Args:              takes("a CLIENT (" + clientNames() + ")"),
		ValidArgsFunction: completeFirst(clientsToConnect),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, env, err := e.client(args[0])
			if err != nil {
				return err
			}
			s, err := a.entryServer(cmd, c, e)
			if err != nil {
				return err
			}
			listed, err := a.tryEntry(cmd.Context(), s)
			if err != nil {
				return err
			}
			if s.URL == "" {
				run, err := a.CommandsRun(cmd.Context())
				if err != nil {
					return err
				}
				listed += run
			}
			change, err := c.Connect(env, s)
			if err != nil {
				return err
			}
			if change.Note != "" {
				fmt.Fprintln(a.Err, "Warning:", change.Note)
			}
			if s.URL == "" {
				listed += "mcp-tools ui shows questions and work of agents in a browser, and takes your answers.\n"
			}
			return a.showChange(c, change, c.Title+" is already connected; %s is up to date.\n", listed)
		},
	}
	e.allFlags(cmd.Flags())
	return cmd
}

func (a *CLI) disconnectCommand() *cobra.Command {
	var e entry
	cmd := &cobra.Command{
		Use:   "disconnect CLIENT",
		Short: "Remove this server from a client's settings",
		Long: `disconnect removes our entry from the settings file of a client and keeps everything
else. A file that had only the entry is removed. There is a backup in any case.`,
		Example: `  mcp-tools disconnect claude-desktop
  mcp-tools disconnect vscode --project`,
		Args:              takes("a CLIENT (" + clientNames() + ")"),
		ValidArgsFunction: completeFirst(clientsToConnect),
		RunE: func(_ *cobra.Command, args []string) error {
			c, env, err := e.client(args[0])
			if err != nil {
				return err
			}
			change, err := c.Disconnect(env, e.name)
			if err != nil {
				return err
			}
			return a.showChange(c, change, c.Title+" is not connected; %s has no such entry.\n", "")
		},
	}
	e.nameFlags(cmd.Flags())
	return cmd
}

func (a *CLI) printConfigCommand() *cobra.Command {
	var e entry
	cmd := &cobra.Command{
		Use:   "print-config CLIENT",
		Short: "Print the entry that connect would add to a client's settings",
		Long: `print-config prints our entry in the client's format, to be pasted by hand, and
on stderr the file that it belongs to. It takes the same flags as connect.`,
		Example: `  mcp-tools print-config zed
  mcp-tools print-config codex --url https://host.example.com/mcp --token-env MCP_TOOLS_TOKEN`,
		Args:              takes("a CLIENT (" + clientNames() + ")"),
		ValidArgsFunction: completeFirst(clientsToConnect),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, env, err := e.client(args[0])
			if err != nil {
				return err
			}
			s, err := a.entryServer(cmd, c, e)
			if err != nil {
				return err
			}
			text, err := c.Render(s)
			if err != nil {
				return err
			}
			fmt.Fprintf(a.Err, "Add this to %s\n", c.Path(env))
			_, err = a.Out.Write(text)
			return err
		},
	}
	e.allFlags(cmd.Flags())
	return cmd
}

var clientNames = sync.OnceValue(func() string {
	var names []string
	for _, c := range clients.All() {
		names = append(names, c.Name)
	}
	return strings.Join(names, ", ")
})

// entryServer returns the entry of this server in the client's settings.
func (a *CLI) entryServer(cmd *cobra.Command, c clients.Client, e entry) (clients.Server, error) {
	s := clients.Server{Name: e.name, URL: e.url, TokenEnv: e.tokenEnv}
	passed, err := a.passedOn(cmd.Flags())
	if err != nil {
		return s, err
	}
	if e.url != "" {
		if len(passed) > 0 {
			return s, app.Usagef(
				"%s is for a server that the client starts; the one at %s has its own settings "+
					"(the end of the address can choose a profile: /mcp/PROFILE)",
				passed[0], e.url,
			)
		}
		if e.tokenEnv == "" {
			fmt.Fprintln(a.Err, "The entry has no token; a server that wants one answers 401. Use --token-env, or add "+
				"the header Authorization to the entry by hand.")
		}
		return s, checked(s)
	}
	view, err := a.Examine() // otherwise the client would be the first to find mistakes
	if err != nil {
		return s, err
	}
	if e.project {
		if i := slices.IndexFunc(passed, func(arg string) bool {
			return slices.Contains([]string{"--config", "--data", "--workspace"}, arg)
		}); i >= 0 {
			return s, app.Usagef("%s names a path of this machine, and the file of a project is for all its users; "+
				"omit it: the client starts the server in the project", passed[i])
		}
		if s.Command, s.Args, err = a.ClientCommand(); err != nil {
			return s, err
		}
		if len(s.Args) == 0 {
			s.Command = "mcp-tools"
		}
		s.Args = append(s.Args, passed...)
		if _, err := exec.LookPath(s.Command); err != nil {
			fmt.Fprintf(a.Err, "Warning: %s is not in your PATH, where the client will look for it.\n", s.Command)
		}
		return s, checked(s)
	}
	workspace, err := a.entryWorkspace(cmd, c, view.Loaded.Config.Connections.Stdio.Workspace)
	if err != nil {
		return s, err
	}
	if workspace != "" && !slices.Contains(passed, "--workspace") {
		passed = append(passed, "--workspace", workspace)
	}
	if s.Command, s.Args, err = a.ClientCommand(); err != nil {
		return s, err
	}
	s.Args = append(s.Args, passed...)
	return s, checked(s)
}

// entryWorkspace checks the workspace of an entry. If the client needs one and none is
// chosen, it asks a person at the terminal.
func (a *CLI) entryWorkspace(cmd *cobra.Command, c clients.Client, chosen string) (string, error) {
	if chosen == "" && !c.Anywhere {
		return "", nil
	}
	const why = "%s does not start servers in your project"
	if chosen == "" && cmd.Name() == "connect" && terminal.IsTerminal(a.In) {
		fmt.Fprintf(a.Err, why+". Directory whose files the agent may use: ", c.Title)
		line, err := bufio.NewReader(a.In).ReadString('\n')
		if err != nil && line == "" {
			return "", fmt.Errorf("reading the directory: %w", err)
		}
		chosen = expandHome(strings.TrimSpace(line))
	}
	if chosen == "" {
		return "", app.Usagef(why+"; name the directory whose files the agent may use, such as --workspace ~/src",
			c.Title)
	}
	dir, err := app.WorkspaceDir(chosen)
	if err != nil {
		return "", err
	}
	if warning := app.WorkspaceWarning(dir); warning != "" {
		fmt.Fprintln(a.Err, "Warning:", warning)
	}
	return dir, nil
}

// expandHome replaces a leading tilde: shells leave it in --flag=~/dir.
func expandHome(path string) string {
	home, err := os.UserHomeDir()
	if rest, ok := strings.CutPrefix(path, "~"); ok && err == nil && (rest == "" || rest[0] == '/') {
		return filepath.Join(home, rest)
	}
	return path
}

func checked(s clients.Server) error {
	if err := s.Check(); err != nil {
		return app.UsageError{Err: err}
	}
	return nil
}

// passedOn returns the flags of serve that were given to this command, as
// arguments for the client. Clients have other working directories, so paths are
// absolute.
func (a *CLI) passedOn(flags *pflag.FlagSet) ([]string, error) {
	known := map[string]bool{"config": true, "data": true}
	for _, s := range app.SettingsReader().Settings() {
		known[s.Flag] = s.Flag != ""
	}
	var args []string
	var problems []error
	flags.Visit(func(f *pflag.Flag) {
		if !known[f.Name] {
			return
		}
		value := f.Value.String()
		switch f.Name {
		case "http", "sse", "tls-cert", "tls-key", "metrics":
			problems = append(problems,
				app.Usagef(
					"--%s is for servers that run by themselves; clients start theirs over stdio; or use --url",
					f.Name,
				))
		case "config", "data", "workspace":
			var err error
			if value, err = filepath.Abs(expandHome(value)); err != nil {
				problems = append(problems, err)
			}
		}
		args = append(args, "--"+f.Name, value)
	})
	return args, errors.Join(problems...)
}

// A clientChange is the result of connect and disconnect as JSON. It leaves out the entry: the
// entry may contain a token.
type clientChange struct {
	Client string `json:"client"`
	File   string `json:"file"`
	Change string `json:"change"` // none, added, updated or removed
	Backup string `json:"backup,omitempty"`
}

func changeOf(ch clients.Change) clientChange {
	out := clientChange{Client: ch.Client, File: ch.Path, Change: "added", Backup: ch.Backup}
	switch {
	case ch.NothingToDo:
		out.Change = "none"
	case ch.Removed || ch.After == "":
		out.Change = "removed"
	case ch.Replaced:
		out.Change = "updated"
	}
	return out
}

// tryEntry connects to the server of an entry as the client will, and returns a message about
// it. A server that does not start is an error; one with an address may be off.
func (a *CLI) tryEntry(ctx context.Context, s clients.Server) (string, error) {
	var count int
	var took time.Duration
	var err error
	if s.URL != "" {
		token := a.Getenv(s.TokenEnv)
		if s.TokenEnv == "" || token == "" {
			return "", nil
		}
		if count, took, err = doctor.TryURL(ctx, s.URL, token); err != nil {
			fmt.Fprintf(a.Err, "Warning: %v; check it with mcp-tools doctor --url %s\n", err, s.URL)
			return "", nil
		}
	} else {
		program, err := exec.LookPath(s.Command)
		if err != nil {
			return "", nil // a warning was printed
		}
		if count, took, err = doctor.TryStart(ctx, program, s.Args); err != nil {
			return "", fmt.Errorf("the server of this entry does not start, so nothing was changed: %w", err)
		}
	}
	return fmt.Sprintf("Tried it: %s in %s. First ask for \"the files in this workspace\".\n",
		text.Plural(count, "tool"), took.Round(time.Millisecond)), nil
}

// showChange prints the change that was made, or idle if there was none, and then more.
func (a *CLI) showChange(c clients.Client, ch clients.Change, idle, more string) error {
	out := changeOf(ch)
	message := map[string]string{
		"none":    idle,
		"added":   "Added an entry to %s.\n",
		"updated": "Updated the entry in %s.\n",
		"removed": "Removed the entry from %s.\n",
	}[out.Change]
	if ch.Removed {
		message = "Removed %s, which had only this entry.\n"
	}
	message = fmt.Sprintf(message, ch.Path)
	if ch.Backup != "" {
		message += fmt.Sprintf("Backup of the file: %s\n", ch.Backup)
	}
	if out.Change == "added" || out.Change == "updated" {
		message += c.Check + "\n" + more
	}
	return a.show(out, func(w io.Writer) error {
		_, err := io.WriteString(w, message)
		return err
	})
}
