package cli

import (
	"archive/zip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/terminal"
	"github.com/mcp-tools/mcp-tools/internal/text"

	"github.com/spf13/cobra"

	"github.com/mcp-tools/mcp-tools/internal/audit"
	"github.com/mcp-tools/mcp-tools/internal/store"
)

func (a *CLI) storeCommand() *cobra.Command {
	return group(&cobra.Command{
		Use:   "store",
		Short: "Inspect, back up, restore and move the store",
		Long: `store manages the store, with memories, knowledge, skills, tokens, rules for
approvals and the audit log. It is SQLite in the data directory, or the
database of store.dsn. See docs/store.md.`,
	}, a.storeStatusCommand(), a.storeBackupCommand(), a.storeRestoreCommand(), a.storeMigrateCommand())
}

func (a *CLI) storeStatusCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "status",
		Short: "Show the location and the content of the store",
		Long:  `status shows the location of the store, its size, tables, and change feed.`,
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
		feed = fmt.Sprintf("%s to %s, since %s", st.Feed.First, st.Feed.Last,
			terminal.Date(time.UnixMilli(st.Feed.Oldest)))
	}
	rows = append(rows, []string{"feed", feed})
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

// A storeCopy is the result of a command that copies a store.
type storeCopy struct {
	store.Manifest
	From  string `json:"from"`
	To    string `json:"to"`
	Bytes int64  `json:"bytes,omitempty"`
	Moved bool   `json:"moved,omitempty"`
}

// size returns the number of rows and tables.
func (c storeCopy) size() string {
	return text.Plural(int(c.Rows()), "row") + " of " + text.Plural(len(c.Tables), "table")
}

func (a *CLI) storeBackupCommand() *cobra.Command {
	everything := false
	cmd := &cobra.Command{
		Use:   "backup FILE",
		Short: "Back up the store, or everything, to a file",
		Long: `backup writes a consistent copy of the store to a file, while servers keep running.
Audit records that killed processes have left on this machine are included. A backup
can be restored into SQLite and PostgreSQL. An earlier backup of the same name is
replaced when the new one is complete. The file is private, but not encrypted: it
contains all memories and the audit log, but not the key of the audit log (audit.key
in the data directory), and no open approvals.

With --all the file has also the key of the audit log, the vault, the history of files,
private files of callers, long results, the settings, custom tools and plugins.
Such a file contains the secrets, unless the key of the vault is elsewhere.`,
		Example: `  mcp-tools store backup /backup/mcp-tools-$(date +%F).zip
  mcp-tools store backup --all /backup/everything-$(date +%F).zip`,
		Args: takes("the FILE to write"),
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
			backup := s.Backup
			if everything {
				backup = func(ctx context.Context, path string) (store.Manifest, error) {
					return a.backupAll(ctx, s, path)
				}
			}
			m, err := backup(cmd.Context(), path)
			if err != nil {
				return err
			}
			info, err := os.Stat(path)
			if err != nil {
				return err
			}
			done := storeCopy{Manifest: m, From: s.Location(), To: path, Bytes: info.Size()}
			return a.show(done, func(w io.Writer) error {
				_, err := fmt.Fprintf(w, "%s has %s (%s).\n", args[0], done.size(), terminal.FileSize(info.Size()))
				if everything {
					_, said := fmt.Fprintln(w,
						"It also has the other files of this installation, the vault among them: keep it private.")
					return errors.Join(err, said)
				}
				return errors.Join(err, a.printMissing(w, "Not in it, so copy it to another place too, or use --all:",
					"", false))
			})
		},
	}
	cmd.Flags().BoolVar(&everything, "all", false, "also the vault, settings, history of files and other files")
	return cmd
}

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
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if _, err := os.Stat(args[0]); err != nil {
				return err
			}
			var places map[*zip.File]spot // before there is a store: a refusal leaves none behind
			whole, notAll := openAll(args[0])
			if notAll == nil {
				defer whole.Close()
				if places, err = a.placesOf(&whole.Reader, force); err != nil {
					return err
				}
			}
			s, err := a.storeToRestore(cmd.Context(), notAll == nil)
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, s.Close()) }()
			var m store.Manifest
			if notAll == nil {
				m, err = a.restoreAll(cmd.Context(), s, places, force)
			} else {
				m, err = s.Restore(cmd.Context(), args[0], force)
			}
			if errors.Is(err, store.ErrNotEmpty) {
				return fmt.Errorf("%w; --force replaces its content", err)
			}
			if err != nil {
				return err
			}
			dir, err := a.DataDir()
			if err != nil {
				return err
			}
			if err := audit.ForgetLastHead(dir); err != nil { // the restored log may be an earlier one
				return err
			}
			done := storeCopy{Manifest: m, From: args[0], To: s.Location()}
			return a.show(done, func(w io.Writer) error {
				_, err := fmt.Fprintf(w, "%s has %s, as of %s. Search indexes will be rebuilt.\n",
					s.Location(), done.size(), terminal.Date(time.UnixMilli(m.Made)))
				if notAll == nil && a.onlyData() {
					_, said := fmt.Fprintln(w, "Settings, custom tools and plugins were not restored, because --data names "+
						"a place for data only; --config FILE names a place for them.")
					return errors.Join(err, said)
				}
				if notAll == nil {
					return err
				}
				return errors.Join(err, a.printMissing(w, "Not restored, because backups do not have it:",
					" from the old machine before the first call", true))
			})
		},
	}
	cmd.Flags().BoolVar(&force, "force", false, "replace the content of the store")
	return cmd
}

// printMissing prints what backups do not have: all of it, or only what is missing
// on this machine.
func (a *CLI) printMissing(w io.Writer, title, when string, onlyMissing bool) error {
	dir, err := a.DataDir()
	if err != nil {
		return err
	}
	vault, _, err := a.VaultDir()
	if err != nil {
		return err
	}
	for _, part := range []struct{ what, path string }{
		{"the key of the audit log", filepath.Join(dir, "audit.key")},
		{"the vault", vault},
		{"the history of files", filepath.Join(dir, "files")},
	} {
		if _, err := os.Lstat(part.path); onlyMissing == (err == nil) {
			continue
		}
		if title != "" {
			title += "\n"
		}
		if _, err := fmt.Fprintf(w, "%s  %s: copy %s%s\n", title, part.what, part.path, when); err != nil {
			return err
		}
		title = ""
	}
	return nil
}

func (a *CLI) storeMigrateCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "migrate-to PLACE",
		Short: "Copy the store to another location or engine",
		Long: `migrate-to copies everything to another store, which must be empty: a postgres://
URL, a directory for SQLite, or secret:NAME, env:NAME or file:PATH for a URL with a
password. The copy is read again and compared. This store is not changed. Stop the
servers first: changes made after the copy has started are not copied.`,
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
		return fmt.Errorf("%w; migrate-to needs an empty store", err)
	}
	if err != nil {
		return err
	}
	if moved {
		fmt.Fprintf(a.Err, "%s has changed since the copy started, so the copy is incomplete: "+
			"stop the servers, empty the copy, and try again.\n", from.Location())
	}
	done := storeCopy{Manifest: m, From: from.Location(), To: to.Location(), Moved: moved}
	return a.show(done, func(w io.Writer) error {
		_, err := fmt.Fprintf(w, "%s has %s; all were compared and are equal.\n"+
			"Now set store.dsn to %s, or start servers with --store %[3]s. %s was not changed.\n",
			to.Location(), done.size(), place, from.Location())
		return err
	})
}
