package cli

import (
	"context"
	"errors"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"github.com/mcp-tools/mcp-tools/internal/config"
	"github.com/mcp-tools/mcp-tools/internal/store"
)

// storeRestoreCommand is no verb, because it works without the settings: they may be in
// the backup.
func (a *CLI) storeRestoreCommand() *cobra.Command {
	force := false
	cmd := &cobra.Command{
		Use:   "restore FILE",
		Short: "Restore the store from a backup",
		Long: `restore replaces the content of the store with a backup, and creates the store if
there is none. It succeeds completely or changes nothing; all data is checked against
the digests in the backup. A store with rows is only replaced with --force. Running
servers cannot write during the restore and must be restarted afterwards; search
indexes are rebuilt. Tokens that were revoked after the backup are valid again. The
key of the audit log is only in a backup made with --all: otherwise copy audit.key to
the data directory of a new machine. A backup made with --all restores all its files,
to the places that this machine has for them; existing ones are only replaced with
--force. With --data and without --config it leaves out the settings, custom tools and
plugins, which are beside the settings file of this machine.`,
		Example: `  mcp-tools store restore /backup/mcp-tools-2027-01-31.zip
  mcp-tools store restore --force /backup/mcp-tools-2027-01-31.zip`,
		Args: takes("the FILE of a backup"),
		RunE: func(cmd *cobra.Command, args []string) error {
			places, err := a.Places()
			if err != nil {
				return err
			}
			done, err := places.Restore(cmd.Context(), args[0], force, a.storeToRestore)
			if err != nil {
				return err
			}
			return a.showResult(done)
		},
	}
	cmd.Flags().BoolVar(&force, "force", false, "replace the content of the store")
	return cmd
}

// storeToRestore opens the store of the settings. The settings file need not exist if the backup has it: then the
// defaults say where the store is.
func (a *CLI) storeToRestore(ctx context.Context, everything bool) (*store.Store, error) {
	settings, err := config.File(a.ConfigFile, a.Getenv)
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(settings); !everything || !errors.Is(err, fs.ErrNotExist) {
		return a.OpenStore(ctx)
	}
	empty, err := os.CreateTemp("", "mcp-tools-settings-*.yaml")
	if err != nil {
		return nil, err
	}
	defer os.Remove(empty.Name())
	if err := empty.Close(); err != nil {
		return nil, err
	}
	without := a.Env
	without.ConfigFile = empty.Name()
	return without.OpenStore(ctx)
}
