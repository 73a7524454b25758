package cli

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/mcp-tools/mcp-tools/cmd/mcp-tools/app"
	"github.com/mcp-tools/mcp-tools/cmd/mcp-tools/terminal"
	"github.com/mcp-tools/mcp-tools/internal/config"
	"github.com/mcp-tools/mcp-tools/internal/vault"
	"github.com/mcp-tools/mcp-tools/scrub"
)

func (a *CLI) secretsCommand() *cobra.Command {
	return group(&cobra.Command{
		Use:   "secrets",
		Short: "Keep secrets that settings and commands may use, and nobody sees",
		Long: `secrets manages the vault, in which secrets are kept encrypted. Settings refer to
one as secret:NAME. None is ever shown: who has forgotten a secret sets it anew.
docs/secrets.md tells where the key is, and how to move it.`,
	}, a.secretsSetCommand(), a.secretsListCommand(), a.secretsRemoveCommand(), a.secretsRotateCommand())
}

func (a *CLI) secretsSetCommand() *cobra.Command {
	file := ""
	cmd := &cobra.Command{
		Use:   "set NAME",
		Short: "Keep a secret, or change it",
		Long: `set keeps a secret under a name. It is asked for on the terminal, without showing
what is typed, or read from stdin or a file. It is no argument, because others
could see it there. A line break at its end is not part of it. The first secret
makes the vault and its key.`,
		Example: `  mcp-tools secrets set deploy-key
  gh auth token | mcp-tools secrets set github
  mcp-tools secrets set tls-key --from-file key.pem`,
		Args:              nameOfSecret,
		ValidArgsFunction: a.completeSecrets,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := vault.CheckName(args[0]); err != nil {
				return app.UsageError{Err: err}
			}
			return a.WithVault(func(v *vault.Vault) error { return a.setSecret(cmd.Context(), v, args[0], file) })
		},
	}
	cmd.Flags().StringVar(&file, "from-file", "", "file that holds the secret and nothing else")
	return cmd
}

// nameOfSecret takes one argument. A second one is most likely the secret, so it
// is not repeated.
func nameOfSecret(cmd *cobra.Command, args []string) error {
	if len(args) > 1 {
		return app.Usagef("%s takes the NAME of a secret and nothing else: the secret itself is asked for, or comes through a pipe or with --from-file; "+
			"what stood on the command line others may have seen, and the shell may keep it", cmd.CommandPath())
	}
	return takes("the NAME of a secret")(cmd, args)
}

// A keptSecret is an entry with what became of it.
type keptSecret struct {
	vault.Entry
	Replaced bool `json:"replaced"`
}

func (a *CLI) setSecret(ctx context.Context, v *vault.Vault, name, file string) error {
	value, err := a.secretValue(ctx, name, file)
	if err != nil {
		return err
	}
	defer clear(value)
	e, replaced, err := v.Set(ctx, name, value)
	if err != nil {
		return err
	}
	if err := new(scrub.Scrubber).Set(name, string(value)); err != nil {
		fmt.Fprintf(a.Err, "Where it appears in a result it will be seen: %v\n", err)
	}
	return a.show(keptSecret{e, replaced}, func(w io.Writer) error {
		what := "kept"
		if replaced {
			what = "changed"
		}
		_, err := fmt.Fprintf(w, "The secret %[1]s is %[2]s. Settings refer to it as secret:%[1]s\n", name, what)
		return err
	})
}

func (a *CLI) secretsListCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List the names of all secrets, and when they were set",
		Long:  `list prints the names of all secrets. It needs no key, and shows no secret.`,
		Example: `  mcp-tools secrets list
  mcp-tools secrets list --output json`,
		Args: takes(),
		RunE: func(*cobra.Command, []string) error {
			return a.WithVault(func(v *vault.Vault) error {
				list, err := v.List()
				if err != nil {
					return err
				}
				return a.show(list, func(w io.Writer) error { return a.printSecrets(w, list) })
			})
		},
	}
}

func (a *CLI) printSecrets(w io.Writer, list []vault.Entry) error {
	if len(list) == 0 {
		_, err := fmt.Fprintln(w, "There are no secrets; mcp-tools secrets set NAME keeps one.")
		return err
	}
	rows := [][]string{{"NAME", "FIRST SET", "CHANGED"}}
	for _, e := range list {
		rows = append(rows, []string{e.Name, terminal.Date(e.Created), terminal.Date(e.Changed)})
	}
	return a.painter(w).Columns(w, rows)
}

func (a *CLI) secretsRemoveCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "remove NAME",
		Short:   "Forget a secret",
		Long:    `remove takes a secret out of the vault. It needs no key.`,
		Example: `  mcp-tools secrets remove deploy-key`,
		Args:    takes("the NAME of a secret"),

		ValidArgsFunction: a.completeSecrets,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.WithVault(func(v *vault.Vault) error {
				if err := v.Remove(cmd.Context(), args[0]); err != nil {
					return err
				}
				return a.show(map[string]string{"removed": args[0]}, func(w io.Writer) error {
					_, err := fmt.Fprintf(w, "The secret %s is removed.\n", args[0])
					return err
				})
			})
		},
	}
}

func (a *CLI) secretsRotateCommand() *cobra.Command {
	from := ""
	cmd := &cobra.Command{
		Use:   "rotate",
		Short: "Seal all secrets under a new key",
		Long: `rotate makes a new key, seals all secrets with it and removes the old one. The
secrets stay as they are. Where the key is in the variable MCP_TOOLS_VAULT_KEY,
put the new one into MCP_TOOLS_VAULT_KEY_NEXT first.

With --from the old key is taken from there, while the new one goes to where the
settings say (vault.key_from): so a key is moved.`,
		Example: `  mcp-tools secrets rotate
  MCP_TOOLS_VAULT_KEY_FROM=keyring mcp-tools secrets rotate --from file`,
		Args: takes(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if from != "" {
				if err := oneOf("from", from, "file", "env", "keyring"); err != nil {
					return err
				}
			}
			return a.WithVault(func(v *vault.Vault) error {
				r, err := v.Rotate(cmd.Context(), vault.KeyStore(from))
				if err != nil {
					return err
				}
				return a.show(r, func(w io.Writer) error { return a.printRotation(w, r, vault.KeyStore(from)) })
			})
		},
	}
	cmd.Flags().StringVar(&from, "from", "", "where the old key is: file, env or keyring (default: where the settings say)")
	offer(cmd, "from", completeWords("file", "env", "keyring"))
	return cmd
}

func (a *CLI) printRotation(w io.Writer, r vault.Rotation, from vault.KeyStore) error {
	sealed := "secret is sealed with a new key"
	if r.Secrets != 1 {
		sealed = "secrets are sealed with a new key"
	}
	key, next := r.Key, ""
	switch {
	case r.KeyStore == vault.Env && (from == "" || from == vault.Env):
		key = "the variable " + config.EnvVaultKeyNext
		next = fmt.Sprintf("Put it into %s now, and unset %s.\n", config.EnvVaultKey, config.EnvVaultKeyNext)
	case from == vault.Env && r.KeyStore != vault.Env:
		next = fmt.Sprintf("Unset %s now: it would be taken for the key.\n", config.EnvVaultKey)
	}
	_, err := fmt.Fprintf(w, "%d %s, which is in %s.\n%s", r.Secrets, sealed, key, next)
	return err
}

// completeSecrets offers the names of secrets, for one argument.
func (a *CLI) completeSecrets(_ *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	var names []string
	if len(args) > 0 {
		return choices(nil)
	}
	err := a.WithVault(func(v *vault.Vault) error {
		list, err := v.List()
		for _, e := range list {
			names = append(names, cobra.CompletionWithDesc(e.Name, "changed "+terminal.Date(e.Changed)))
		}
		return err
	})
	if err != nil {
		return choices(nil)
	}
	return choices(names)
}

// secretValue gets the secret to keep: from a file if one is named, from a
// person if there is one at the terminal, else from stdin. A line break at the
// end is not part of it.
func (a *CLI) secretValue(ctx context.Context, name, file string) ([]byte, error) {
	var value []byte
	var err error
	switch {
	case file != "":
		value, err = fileSecret(file)
	case terminal.IsTerminal(a.In):
		value, err = a.typedSecret(ctx, name)
	default:
		value, err = readSecret(a.In)
	}
	if err != nil {
		return nil, fmt.Errorf("reading the secret: %w", err)
	}
	return bytes.TrimSuffix(bytes.TrimSuffix(value, []byte("\n")), []byte("\r")), nil
}

func fileSecret(path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return readSecret(file)
}

// readSecret reads a secret and a line break, and of what is too long enough
// to notice.
func readSecret(r io.Reader) ([]byte, error) {
	value := make([]byte, vault.MaxSecret+3) // at once: no copies are left behind
	n, err := io.ReadFull(r, value)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = nil
	}
	return value[:n], err
}

// typedSecret asks a person, and shows nothing of the answer.
func (a *CLI) typedSecret(ctx context.Context, name string) (value []byte, err error) {
	show, err := terminal.HideTyping(a.In)
	if err != nil {
		return nil, fmt.Errorf("this terminal shows what is typed (%w); use a pipe or --from-file", err)
	}
	defer func() { err = errors.Join(err, show()) }()
	if _, err := fmt.Fprintf(a.Err, "The secret %s (what you type is not shown): ", name); err != nil {
		return nil, err
	}
	line, err := person{bufio.NewReader(a.In), a.Err}.line(ctx)
	if err != nil {
		return nil, err
	}
	if len(line) > terminal.MaxTyped {
		return nil, fmt.Errorf("a terminal passes on no more than %d bytes of a line; use a pipe or --from-file", terminal.MaxTyped)
	}
	return []byte(line), nil
}
