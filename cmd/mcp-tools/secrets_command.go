package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/mcp-tools/mcp-tools/internal/config"
	"github.com/mcp-tools/mcp-tools/internal/vault"
	"github.com/mcp-tools/mcp-tools/scrub"
)

func (a *app) secretsCommand() *cobra.Command {
	return group(&cobra.Command{
		Use:   "secrets",
		Short: "Keep secrets that settings and commands may use, and nobody sees",
		Long: `secrets manages the vault, in which secrets are kept encrypted. Settings refer to
one as secret:NAME. None is ever shown: who has forgotten a secret sets it anew.
docs/secrets.md tells where the key is, and how to move it.`,
	}, a.secretsSetCommand(), a.secretsListCommand(), a.secretsRemoveCommand(), a.secretsRotateCommand())
}

func (a *app) secretsSetCommand() *cobra.Command {
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
				return usageError{err}
			}
			return a.withVault(func(v *vault.Vault) error { return a.setSecret(cmd.Context(), v, args[0], file) })
		},
	}
	cmd.Flags().StringVar(&file, "from-file", "", "file that holds the secret and nothing else")
	return cmd
}

// nameOfSecret takes one argument. A second one is most likely the secret, so it
// is not repeated.
func nameOfSecret(cmd *cobra.Command, args []string) error {
	if len(args) > 1 {
		return usagef("%s takes the NAME of a secret and nothing else: the secret itself is asked for, or comes through a pipe or with --from-file; "+
			"what stood on the command line others may have seen, and the shell may keep it", cmd.CommandPath())
	}
	return takes("the NAME of a secret")(cmd, args)
}

// A keptSecret is an entry with what became of it.
type keptSecret struct {
	vault.Entry
	Replaced bool `json:"replaced"`
}

func (a *app) setSecret(ctx context.Context, v *vault.Vault, name, file string) error {
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
		fmt.Fprintf(a.err, "Where it appears in a result it will be seen: %v\n", err)
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

func (a *app) secretsListCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List the names of all secrets, and when they were set",
		Long:  `list prints the names of all secrets. It needs no key, and shows no secret.`,
		Example: `  mcp-tools secrets list
  mcp-tools secrets list --output json`,
		Args: takes(),
		RunE: func(*cobra.Command, []string) error {
			return a.withVault(func(v *vault.Vault) error {
				list, err := v.List()
				if err != nil {
					return err
				}
				return a.show(list, func(w io.Writer) error { return a.printSecrets(w, list) })
			})
		},
	}
}

func (a *app) printSecrets(w io.Writer, list []vault.Entry) error {
	if len(list) == 0 {
		_, err := fmt.Fprintln(w, "There are no secrets; mcp-tools secrets set NAME keeps one.")
		return err
	}
	rows := [][]string{{"NAME", "FIRST SET", "CHANGED"}}
	for _, e := range list {
		rows = append(rows, []string{e.Name, day(e.Created), day(e.Changed)})
	}
	return a.painter(w).columns(w, rows)
}

func (a *app) secretsRemoveCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "remove NAME",
		Short:   "Forget a secret",
		Long:    `remove takes a secret out of the vault. It needs no key.`,
		Example: `  mcp-tools secrets remove deploy-key`,
		Args:    takes("the NAME of a secret"),

		ValidArgsFunction: a.completeSecrets,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withVault(func(v *vault.Vault) error {
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

func (a *app) secretsRotateCommand() *cobra.Command {
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
			return a.withVault(func(v *vault.Vault) error {
				r, err := v.Rotate(cmd.Context(), vault.Place(from))
				if err != nil {
					return err
				}
				return a.show(r, func(w io.Writer) error { return a.printRotation(w, r, vault.Place(from)) })
			})
		},
	}
	cmd.Flags().StringVar(&from, "from", "", "where the old key is: file, env or keyring (default: where the settings say)")
	offer(cmd, "from", completeWords("file", "env", "keyring"))
	return cmd
}

func (a *app) printRotation(w io.Writer, r vault.Rotation, from vault.Place) error {
	sealed := "secret is sealed with a new key"
	if r.Secrets != 1 {
		sealed = "secrets are sealed with a new key"
	}
	key, next := r.Key, ""
	switch {
	case r.Place == vault.Env && (from == "" || from == vault.Env):
		key = "the variable " + config.EnvVaultKeyNext
		next = fmt.Sprintf("Put it into %s now, and unset %s.\n", config.EnvVaultKey, config.EnvVaultKeyNext)
	case from == vault.Env && r.Place != vault.Env:
		next = fmt.Sprintf("Unset %s now: it would be taken for the key.\n", config.EnvVaultKey)
	}
	_, err := fmt.Fprintf(w, "%d %s, which is in %s.\n%s", r.Secrets, sealed, key, next)
	return err
}

// completeSecrets offers the names of secrets, for one argument.
func (a *app) completeSecrets(_ *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	var names []string
	if len(args) > 0 {
		return choices(nil)
	}
	err := a.withVault(func(v *vault.Vault) error {
		list, err := v.List()
		for _, e := range list {
			names = append(names, cobra.CompletionWithDesc(e.Name, "changed "+day(e.Changed)))
		}
		return err
	})
	if err != nil {
		return choices(nil)
	}
	return choices(names)
}
