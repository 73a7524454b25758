package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/mcp-tools/mcp-tools/cmd/mcp-tools/terminal"
	"github.com/mcp-tools/mcp-tools/internal/text"

	"github.com/spf13/cobra"

	"github.com/mcp-tools/mcp-tools/internal/store"
)

func (a *CLI) storeCommand() *cobra.Command {
	return group(&cobra.Command{
		Use:   "store",
		Short: "Look at the store, back it up, restore it, move it",
		Long: `store is for whoever looks after what mcp-tools keeps: memories, knowledge,
skills, tokens, rules of approvals, jobs, the record of calls. It is in SQLite in the data directory,
or where store.dsn says.
docs/store.md tells more.`,
	}, a.storeStatusCommand(), a.storeBackupCommand(), a.storeRestoreCommand(), a.storeMigrateCommand())
}

func (a *CLI) storeStatusCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "status",
		Short: "Show where the store is, and what is in it",
		Long:  `status shows where the store is, its size, its tables, its feed of changes and its jobs.`,
		Example: `  mcp-tools store status
  mcp-tools store status --output json`,
		Args: takes(),
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			s, err := a.OpenExistingStore(cmd.Context())
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, s.Close()) }()
			st, err := s.Status(cmd.Context())
			if err != nil {
				return err
			}
			return a.show(st, func(w io.Writer) error { return a.printStore(w, st) })
		},
	}
}

func (a *CLI) printStore(w io.Writer, st store.Status) error {
	rows := [][]string{
		{"engine", st.Engine},
		{"location", st.Location},
		{"size", terminal.FileSize(st.Bytes)},
	}
	if st.WAL != nil {
		rows = append(rows, []string{"log", terminal.FileSize(*st.WAL)})
	}
	rows = append(rows, []string{"step", fmt.Sprint(st.Step)})
	feed := "empty"
	if st.Feed.Oldest > 0 {
		feed = fmt.Sprintf("%s to %s, since %s", st.Feed.First, st.Feed.Last, terminal.Date(time.UnixMilli(st.Feed.Oldest)))
	}
	rows = append(rows, []string{"feed", feed})
	jobs := []string{}
	for _, state := range slices.Sorted(maps.Keys(st.Jobs)) {
		jobs = append(jobs, fmt.Sprintf("%d %s", st.Jobs[state], state))
	}
	if len(jobs) == 0 {
		jobs = []string{"none"}
	}
	rows = append(rows, []string{"jobs", strings.Join(jobs, ", ")})
	if st.Others != nil {
		rows = append(rows, []string{"connected", text.Plural(int(*st.Others), "other connection")})
	}
	p := a.painter(w)
	if err := p.Columns(w, rows); err != nil {
		return err
	}
	tables := [][]string{{"", ""}, {"TABLE", "ROWS"}}
	for _, t := range st.Tables {
		tables = append(tables, []string{t.Name, fmt.Sprint(t.Rows)})
	}
	return p.Columns(w, tables)
}

// A storeCopy is what a command that copies a store prints.
type storeCopy struct {
	store.Manifest
	From  string `json:"from"`
	To    string `json:"to"`
	Bytes int64  `json:"bytes,omitempty"`
	Moved bool   `json:"moved,omitempty"`
}

func (a *CLI) storeBackupCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "backup FILE",
		Short: "Write everything in the store to a file",
		Long: `backup writes what the store holds at one moment to a file, while servers go on
working, with what killed ones have left here of the record of calls. The file is
for both engines: a backup of SQLite can be restored into PostgreSQL, and the other
way round. An earlier backup of that name is replaced when the new one is complete.
The file is private, and not encrypted: it holds everything that agents remember,
and the record of calls, but not the key of that record, audit.key in the data
directory. Calls that wait for approval are not in it.`,
		Example: `  mcp-tools store backup /backup/mcp-tools-$(date +%F).zip`,
		Args:    takes("the FILE to write"),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			s, err := a.OpenExistingStore(cmd.Context())
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, s.Close()) }()
			path, err := filepath.Abs(args[0])
			if err != nil {
				return err
			}
			if err := a.RecoverAuditLog(cmd.Context(), s); err != nil {
				return err
			}
			m, err := s.Backup(cmd.Context(), path)
			if err != nil {
				return err
			}
			info, err := os.Stat(path)
			if err != nil {
				return err
			}
			return a.show(storeCopy{Manifest: m, From: s.Location(), To: path, Bytes: info.Size()}, func(w io.Writer) error {
				_, err := fmt.Fprintf(w, "%s has %s of %s (%s).\n",
					args[0], text.Plural(int(m.Rows()), "row"), text.Plural(len(m.Tables), "table"), terminal.FileSize(info.Size()))
				return err
			})
		},
	}
}

func (a *CLI) storeRestoreCommand() *cobra.Command {
	force := false
	cmd := &cobra.Command{
		Use:   "restore FILE",
		Short: "Fill the store from a backup",
		Long: `restore fills the store with what a backup holds, and makes the store if there is
none. It happens as a whole or not at all, and everything is compared with the
digests in the backup before it counts. A store that has rows is left alone,
unless --force says that the backup replaces them. Servers that run on the store
cannot write meanwhile, and have to be started again afterwards; search indexes
are filled anew. Tokens that were revoked since the backup count again. The key of
the record of calls is not in a backup: copy audit.key into the data directory of a
machine that is new.`,
		Example: `  mcp-tools store restore /backup/mcp-tools-2027-01-31.zip
  mcp-tools store restore --force /backup/mcp-tools-2027-01-31.zip`,
		Args: takes("the FILE of a backup"),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			s, err := a.OpenStore(cmd.Context())
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, s.Close()) }()
			m, err := s.Restore(cmd.Context(), args[0], force)
			if errors.Is(err, store.ErrNotEmpty) {
				return fmt.Errorf("%w; --force replaces everything there", err)
			}
			if err != nil {
				return err
			}
			return a.show(storeCopy{Manifest: m, From: args[0], To: s.Location()}, func(w io.Writer) error {
				_, err := fmt.Fprintf(w, "%s has %s of %s, as they were on %s. Search indexes are filled anew.\n",
					s.Location(), text.Plural(int(m.Rows()), "row"), text.Plural(len(m.Tables), "table"), terminal.Date(time.UnixMilli(m.Made)))
				return err
			})
		},
	}
	cmd.Flags().BoolVar(&force, "force", false, "replace everything that the store holds now")
	return cmd
}

func (a *CLI) storeMigrateCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "migrate-to PLACE",
		Short: "Copy the store to another place or engine",
		Long: `migrate-to copies everything to another store, which has to be empty: a
postgres:// URL, a directory for SQLite, or secret:NAME, env:NAME or file:PATH
where a URL with a password is. Every table is read again there and compared.
This store is not changed. Stop the servers first: what they write after the copy
began stays here.`,
		Example: `  mcp-tools store migrate-to postgres://mcp@db.example.com/mcp
  mcp-tools store migrate-to secret:store-url
  mcp-tools store migrate-to /srv/mcp-tools`,
		Args: takes("the PLACE of the other store"),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			o, err := a.StoreOptionsAt(args[0])
			if err != nil {
				return err
			}
			s, err := a.OpenExistingStore(cmd.Context())
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, s.Close()) }()
			if err := a.RecoverAuditLog(cmd.Context(), s); err != nil {
				return err
			}
			return a.migrateStore(cmd.Context(), s, o, args[0])
		},
	}
}

func (a *CLI) migrateStore(ctx context.Context, from *store.Store, o store.Options, place string) (err error) {
	to, err := store.Open(ctx, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, to.Close()) }()
	m, moved, err := from.CopyTo(ctx, to)
	if errors.Is(err, store.ErrNotEmpty) {
		return fmt.Errorf("%w; a store is copied to an empty one only", err)
	}
	if err != nil {
		return err
	}
	if moved {
		fmt.Fprintf(a.Err, "%s has changed since the copy began, and the copy does not have that: stop the servers, empty the copy, and copy again.\n", from.Location())
	}
	return a.show(storeCopy{Manifest: m, From: from.Location(), To: to.Location(), Moved: moved}, func(w io.Writer) error {
		_, err := fmt.Fprintf(w, "%s has %s of %s; each was read again and is the same.\nSet store.dsn to %s now, or start servers with --store %[4]s. %s is as it was.\n",
			to.Location(), text.Plural(int(m.Rows()), "row"), text.Plural(len(m.Tables), "table"), place, from.Location())
		return err
	})
}
