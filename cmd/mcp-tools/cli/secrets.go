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
	"github.com/mcp-tools/mcp-tools/internal/config"
	"github.com/mcp-tools/mcp-tools/internal/terminal"
	"github.com/mcp-tools/mcp-tools/internal/vault"
	"github.com/mcp-tools/mcp-tools/scrub"
)

func (a *CLI) secretsCommand() *cobra.Command {
	return group(&cobra.Command{
		Use:   "secrets",
		Short: "Manage the vault of secrets for settings and commands",
		Long: `secrets manages the vault, which stores secrets encrypted. Settings refer to them
as secret:NAME. Secrets are never shown; a forgotten secret has to be set again.
docs/secrets.md describes where the key is, and how to move it.`,
	}, a.secretsSetCommand(), a.secretsListCommand(), a.secretsRemoveCommand(), a.secretsRotateCommand())
}

func (a *CLI) secretsSetCommand() *cobra.Command {
	file := ""
	cmd := &cobra.Command{
		Use:   "set NAME",
		Short: "Store or change a secret",
		Long: `set stores a secret under a name. It asks for the secret on the terminal, without
showing what is typed, or reads it from stdin or a file; as an argument, other users
could see it. A line break at the end is removed. The first secret creates the vault
and its key.`,
		Example: `  mcp-tools secrets set deploy-key
  gh auth token | mcp-tools secrets set github
  mcp-tools secrets set tls-key --from-file key.pem`,
		Args:              nameOfSecret,
		ValidArgsFunction: completeFirst(a.secretNames),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := vault.CheckName(args[0]); err != nil {
				return app.UsageError{Err: err}
			}
			return a.WithVault(func(v *vault.Vault) error { return a.setSecret(cmd.Context(), v, args[0], file) })
		},
	}
	cmd.Flags().StringVar(&file, "from-file", "", "file that contains only the secret")
	return cmd
}

// nameOfSecret checks that there is one argument. A second one is probably the
// secret, so the error does not repeat it.
func nameOfSecret(cmd *cobra.Command, args []string) error {
	if len(args) > 1 {
		return app.Usagef("%s takes only the NAME of a secret: type the secret when asked, or use a pipe or "+
			"--from-file; arguments can be seen by other users and are kept by the shell", cmd.CommandPath())
	}
	return takes("the NAME of a secret")(cmd, args)
}

// A keptSecret is a stored secret, as JSON.
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
		fmt.Fprintf(a.Err, "This secret will not be masked in results: %v\n", err)
	}
	what := "stored"
	if replaced {
		what = "changed"
	}
	return a.report(keptSecret{e, replaced}, "The secret %[1]s was %[2]s. Settings refer to it as secret:%[1]s", name,
		what)
}

func (a *CLI) secretsListCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List the names of all secrets, and when they were set",
		Long:  `list prints the names of all secrets. It needs no key, and shows no secret.`,
		Example: `  mcp-tools secrets list
  mcp-tools secrets list --output json`,
		Args: takes(),
		RunE: on(a.WithVault, func(_ context.Context, v *vault.Vault, _ []string) error {
			list, err := v.List()
			if err != nil {
				return err
			}
			const none = "There are no secrets in this data directory; mcp-tools secrets set NAME stores one."
			return showList(a, list, none, []string{"NAME", "FIRST SET", "CHANGED"}, func(e vault.Entry) []string {
				return []string{e.Name, terminal.Date(e.Created), terminal.Date(e.Changed)}
			})
		}),
	}
}

func (a *CLI) secretsRemoveCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "remove NAME",
		Short:   "Delete a secret",
		Long:    `remove deletes a secret from the vault. It needs no key.`,
		Example: `  mcp-tools secrets remove deploy-key`,
		Args:    takes("the NAME of a secret"),

		ValidArgsFunction: completeFirst(a.secretNames),
		RunE: on(a.WithVault, func(ctx context.Context, v *vault.Vault, args []string) error {
			if err := v.Remove(ctx, args[0]); err != nil {
				return err
			}
			return a.report(map[string]string{"removed": args[0]}, "The secret %s was removed.", args[0])
		}),
	}
}

func (a *CLI) secretsRotateCommand() *cobra.Command {
	from := ""
	cmd := &cobra.Command{
		Use:   "rotate",
		Short: "Encrypt all secrets with a new key",
		Long: `rotate creates a new key, encrypts all secrets with it and removes the old key. If
the key is in the variable MCP_TOOLS_VAULT_KEY, first set MCP_TOOLS_VAULT_KEY_NEXT to
the new one.

With --from, the old key is read from there, and the new one is stored where the
setting vault.key_from says. This moves the key.`,
		Example: `  mcp-tools secrets rotate
  MCP_TOOLS_VAULT_KEY_FROM=keyring mcp-tools secrets rotate --from file`,
		Args: takes(),
		RunE: on(a.WithVault, func(ctx context.Context, v *vault.Vault, _ []string) error {
			if from != "" {
				if err := oneOf("from", from, "file", "env", "keyring"); err != nil {
					return err
				}
			}
			r, err := v.Rotate(ctx, vault.KeyStore(from))
			if err != nil {
				return err
			}
			return a.show(r, func(w io.Writer) error { return a.printRotation(w, r, vault.KeyStore(from)) })
		}),
	}
	cmd.Flags().StringVar(&from, "from", "",
		"location of the old key: file, env or keyring (default: that of the settings)")
	offer(cmd, "from", completeWords("file", "env", "keyring"))
	return cmd
}

func (a *CLI) printRotation(w io.Writer, r vault.Rotation, from vault.KeyStore) error {
	sealed := "secret was encrypted with a new key"
	if r.Secrets != 1 {
		sealed = "secrets were encrypted with a new key"
	}
	key, next := r.Key, ""
	switch {
	case r.KeyStore == vault.Env && (from == "" || from == vault.Env):
		key = "the variable " + config.EnvVaultKeyNext
		next = fmt.Sprintf("Now set %s to it, and unset %s.\n", config.EnvVaultKey, config.EnvVaultKeyNext)
	case from == vault.Env && r.KeyStore != vault.Env:
		next = fmt.Sprintf("Now unset %s, or it will be used as the key.\n", config.EnvVaultKey)
	}
	_, err := fmt.Fprintf(w, "%d %s, which is in %s.\n%s", r.Secrets, sealed, key, next)
	return err
}

// secretNames lists the names of secrets.
func (a *CLI) secretNames(context.Context) (names []string, err error) {
	err = a.WithVault(func(v *vault.Vault) error {
		list, err := v.List()
		for _, e := range list {
			names = append(names, cobra.CompletionWithDesc(e.Name, "changed "+terminal.Date(e.Changed)))
		}
		return err
	})
	return names, err
}

// secretValue reads a secret: from a file if one is given, from the terminal if
// there is one, else from stdin. A line break at the end is removed.
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

// readSecret reads a secret with a line break, up to one byte more than allowed, so
// that Set refuses longer ones.
func readSecret(r io.Reader) ([]byte, error) {
	value := make([]byte, vault.MaxSecret+3) // allocated once, so that no copies are left in memory
	n, err := io.ReadFull(r, value)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = nil
	}
	return value[:n], err
}

// typedSecret reads a secret from the terminal without showing it.
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
		return nil, fmt.Errorf("a terminal accepts at most %d bytes in a line; use a pipe or --from-file",
			terminal.MaxTyped)
	}
	return []byte(line), nil
}
