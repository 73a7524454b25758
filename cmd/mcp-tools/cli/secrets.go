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
	"github.com/mcp-tools/mcp-tools/internal/terminal"
	"github.com/mcp-tools/mcp-tools/internal/vault"
	"github.com/mcp-tools/mcp-tools/scrub"
)

func (a *CLI) secretsSetCommand() *cobra.Command {
	file := ""
	cmd := &cobra.Command{
		Use:   "set NAME",
		Short: "Store or change a secret",
		Long: `set stores a secret under a name. It asks for the secret on the terminal, without
showing it, or reads it from stdin or a file; as an argument, other users
could see it. A line break at the end is removed. The first secret creates the vault
and its key.`,
		Example: `  mcp-tools secrets set deploy-key
  gh auth token | mcp-tools secrets set github
  mcp-tools secrets set tls-key --from-file key.pem`,
		Args: nameOfSecret,
		ValidArgsFunction: completeFirst(func(ctx context.Context) (names []string, err error) {
			err = a.WithVault("", func(v *vault.Vault) (err error) { names, err = v.Names(ctx); return err })
			return names, err
		}),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := vault.CheckName(args[0]); err != nil {
				return app.UsageError{Err: err}
			}
			return a.WithVault(args[0], func(v *vault.Vault) error { return a.setSecret(cmd.Context(), v, args[0], file) })
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
		return nil, fmt.Errorf("this terminal shows typed text (%w); use a pipe or --from-file", err)
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
