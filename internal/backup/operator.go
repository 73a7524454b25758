// Package backup copies the store of an installation, alone or with the other files of
// it, restores such copies, and moves the store to another place. How the tables are
// copied, package store knows. Begin with Room.
package backup

import (
	"archive/zip"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/audit"
	"github.com/mcp-tools/mcp-tools/internal/blob"
	"github.com/mcp-tools/mcp-tools/internal/room"
	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/terminal"
	"github.com/mcp-tools/mcp-tools/internal/text"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/internal/vault"
)

// A Setup has the settings that the room of the store needs.
type Setup struct {
	Places func() (Places, error)
	// At returns the options of another store.
	At func(place string) (store.Options, error)
}

// Room returns the operators' verbs for the store. Restoring a backup is no verb, because it
// works without settings: see [Places.Restore].
func Room(setup Setup) *room.Room {
	o := &operator{setup: setup}
	return &room.Room{
		Name: "store", Title: "Inspect, back up, restore and move the store",
		Doc: `store manages the store, with memories, knowledge, skills, tokens, rules for
approvals and the audit log. It is SQLite in the data directory, or the
database of store.dsn. See docs/store.md.`,
		Open: func(h *room.Host) error { o.Store, o.data = h.Store, h.Data; return nil },
		Verbs: []room.Verb{
			room.Do(room.Verb{
				Name: "status", Title: "Show the location and the content of the store", Risk: tool.Reads, Where: room.Operator,
				Doc:     `status shows the location of the store, its size, tables, and change feed.`,
				Example: "  mcp-tools store status\n  mcp-tools store status --output json",
			}, o.status),
			room.Do(room.Verb{
				Name: "backup", Title: "Back up the store, or everything, to a file", Args: []string{"file"},
				Risk: tool.Writes,
				Doc: `backup writes a consistent copy of the store to a file, while servers keep running.
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
			}, o.backup),
			room.Do(room.Verb{
				Name: "migrate-to", Title: "Copy the store to another location or engine", Args: []string{"place"},
				Risk: tool.Writes,
				Doc: `migrate-to copies everything to another store, which must be empty: a postgres://
URL, a directory for SQLite, or secret:NAME, env:NAME or file:PATH for a URL with a
password. The copy is read again and compared. This store is not changed. Stop the
servers first: changes made after the copy has started are not copied.`,
				Example: `  mcp-tools store migrate-to postgres://mcp@db.example.com/mcp
  mcp-tools store migrate-to secret:store-url
  mcp-tools store migrate-to /srv/mcp-tools`,
			}, o.migrate),
		},
		Checks: []room.Check{{Name: "store", Run: o.check}},
	}
}

// operator has the verbs of a store.
type operator struct {
	*store.Store
	data  func() (string, error)
	setup Setup
}

// exists returns an error if there is no store yet.
func (o *operator) exists() error {
	if !o.Missing() {
		return nil
	}
	return tool.Errorf(tool.NotFound, "there is no store in %s yet", filepath.Dir(o.Location())).
		Try("a server or mcp-tools store restore creates it")
}

func (o *operator) status(ctx context.Context, _ struct{}) (none tool.Result, err error) {
	if err := o.exists(); err != nil {
		return none, err
	}
	st, err := o.Status(ctx)
	if err != nil {
		return none, err
	}
	rows := [][]string{{"engine", st.Engine}, {"location", st.Location}, {"size", terminal.FileSize(st.Bytes)}}
	if st.WAL != nil {
		rows = append(rows, []string{"log", terminal.FileSize(*st.WAL)})
	}
	rows = append(rows, []string{"step", fmt.Sprint(st.Step)})
	feed := "empty"
	if st.Feed.Oldest > 0 {
		feed = fmt.Sprintf("%s to %s, since %s", st.Feed.First, st.Feed.Last, terminal.Date(time.UnixMilli(st.Feed.Oldest)))
	}
	rows = append(rows, []string{"feed", feed})
	if st.Others != nil {
		rows = append(rows, []string{"connected", text.Plural(int(*st.Others), "other connection")})
	}
	tables := [][]string{{"", ""}, {"TABLE", "ROWS"}}
	for _, t := range st.Tables {
		tables = append(tables, []string{t.Name, fmt.Sprint(t.Rows)})
	}
	return tool.Text(terminal.Table(rows) + terminal.Table(tables)).With(st), nil
}

// A Copy is the result of a verb that copies a store.
type Copy struct {
	store.Manifest
	From  string `json:"from"`
	To    string `json:"to"`
	Bytes int64  `json:"bytes,omitempty"`
	Moved bool   `json:"moved,omitempty"`
}

// size returns the number of rows and tables.
func (c Copy) size() string {
	return text.Plural(int(c.Rows()), "row") + " of " + text.Plural(len(c.Tables), "table")
}

type backupArgs struct {
	File string `json:"file" jsonschema:"the file to write"`
	All  bool   `json:"all,omitempty" jsonschema:"also the vault, settings, history of files and other files"`
}

func (o *operator) backup(ctx context.Context, a backupArgs) (none tool.Result, err error) {
	note, err := o.collect(ctx)
	if err != nil {
		return none, err
	}
	path, err := filepath.Abs(a.File)
	if err != nil {
		return none, err
	}
	places, err := o.setup.Places()
	if err != nil {
		return none, err
	}
	done := Copy{From: o.Location(), To: path}
	if a.All {
		done.Manifest, err = places.backup(ctx, o.Store, path)
	} else {
		done.Manifest, err = o.Backup(ctx, path)
	}
	if err != nil {
		return none, err
	}
	info, err := os.Stat(path)
	if err != nil {
		return none, err
	}
	done.Bytes = info.Size()
	more := "\nIt also has the other files of this installation, the key of the vault among them: keep it private."
	if !a.All {
		more = places.missing("\nNot in it, so copy it to another place too, or use --all:", "", false)
	}
	return note(room.Said(done, "%s has %s (%s).%s", a.File, done.size(), terminal.FileSize(done.Bytes), more)), nil
}

// collect copies the journals of killed processes to the store, and returns a function that adds a note to a result.
// The store must exist.
func (o *operator) collect(ctx context.Context) (func(tool.Result) tool.Result, error) {
	if err := o.exists(); err != nil {
		return nil, err
	}
	dir, err := o.data()
	if err != nil {
		return nil, err
	}
	note, err := audit.NewDB(o.Store).Collect(ctx, dir)
	return func(r tool.Result) tool.Result {
		if note == "" {
			return r
		}
		return room.Beside(r, "%s", note)
	}, err
}

// missing returns lines about the files that backups of the store do not have: of all of them,
// or only of the files missing on this machine.
func (p Places) missing(title, when string, onlyMissing bool) string {
	lines := ""
	for _, part := range p.parts()[:3] {
		if _, err := os.Lstat(part.path); onlyMissing != (err == nil) {
			what, _, _ := strings.Cut(part.what, " and ")
			lines += fmt.Sprintf("\n  %s: copy %s%s", what, part.path, when)
		}
	}
	if lines == "" {
		return ""
	}
	return title + lines
}

// Restore replaces the content of a store with a backup, and restores the other files
// that are in it. open opens the store; whole is set if the backup has the settings too.
func (p Places) Restore(
	ctx context.Context, file string, force bool, open func(ctx context.Context, whole bool) (*store.Store, error),
) (none tool.Result, err error) {
	if _, err := os.Stat(file); err != nil {
		return none, err
	}
	var places map[*zip.File]spot // before there is a store: a refusal leaves none behind
	whole, notAll := openAll(file)
	if notAll == nil {
		defer whole.Close()
		if places, err = p.spots(&whole.Reader, force); err != nil {
			return none, err
		}
	}
	s, err := open(ctx, notAll == nil)
	if err != nil {
		return none, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if err := vault.ForgetCopy(p.Vault); err != nil {
		return none, err
	}
	done := Copy{From: file, To: s.Location()}
	if notAll == nil {
		if done.Manifest, err = restoreAll(ctx, s, places, force); err == nil {
			err = p.restoreBlobs(ctx, &whole.Reader, s)
		}
	} else {
		done.Manifest, err = s.Restore(ctx, file, force)
	}
	if errors.Is(err, store.ErrNotEmpty) {
		return none, fmt.Errorf("%w; --force replaces its content", err)
	}
	if err != nil {
		return none, err
	}
	if err := audit.ForgetLastHead(p.Data); err != nil { // the restored log may be an earlier one
		return none, err
	}
	more := ""
	switch {
	case notAll != nil:
		more = p.missing("\nNot restored, because backups do not have it:", " from the old machine before the first call", true)
	case p.DataOnly:
		more = "\nSettings, custom tools and plugins were not restored, because --data names " +
			"a place for data only; --config FILE names a place for them."
	}
	return room.Said(done, "%s has %s, as of %s. Search indexes will be rebuilt.%s", done.To, done.size(),
		terminal.Date(time.UnixMilli(done.Made)), more), nil
}

type migrateArgs struct {
	Place string `json:"place" jsonschema:"place of the other store"`
}

func (o *operator) migrate(ctx context.Context, a migrateArgs) (none tool.Result, err error) {
	options, err := o.setup.At(a.Place)
	if err != nil {
		return none, err
	}
	note, err := o.collect(ctx)
	if err != nil {
		return none, err
	}
	to, err := store.Open(ctx, options)
	if err != nil {
		return none, err
	}
	defer func() { err = errors.Join(err, to.Close()) }()
	done := Copy{From: o.Location(), To: to.Location()}
	done.Manifest, done.Moved, err = o.CopyTo(ctx, to)
	if errors.Is(err, store.ErrNotEmpty) {
		return none, tool.Errorf(tool.Conflict, "%w", err).Try("migrate-to needs an empty store")
	}
	if err != nil {
		return none, err
	}
	if err := o.copyBlobs(ctx, to); err != nil {
		return none, fmt.Errorf("the rows were copied, but not all large contents: %w; empty %s and try again", err, to.Location())
	}
	result := room.Said(done, "%s has %s; all were compared and are equal.\n"+
		"Now set store.dsn to %s, or start servers with --store %[3]s. %s was not changed.", done.To, done.size(), a.Place,
		done.From)
	if done.Moved {
		result = room.Beside(result, "%s has changed since the copy started, so the copy is incomplete: "+
			"stop the servers, empty the copy, and try again.", done.From)
	}
	return note(result), nil
}

// copyBlobs copies the large contents to the place that the settings name for the other store.
func (o *operator) copyBlobs(ctx context.Context, to *store.Store) error {
	places, err := o.setup.Places()
	if err != nil {
		return err
	}
	return places.withBlobs(o.Store, func(from *blob.Blobs) error {
		return places.withBlobs(to, func(other *blob.Blobs) error {
			if from.InDatabase() && other.InDatabase() {
				return nil // they are rows
			}
			if _, err := from.CopyTo(ctx, other); err != nil || !from.InDatabase() {
				return err
			}
			return to.Update(ctx, func(t *store.Tx) error {
				_, err := t.Exec(`DELETE FROM blob`)
				return err
			})
		})
	})
}

// check opens the store.
func (o *operator) check(ctx context.Context, f *room.Findings) {
	if o.Missing() {
		f.OK("SQLite; it is created when data is first stored")
		return
	}
	st, err := o.Status(ctx)
	if err != nil {
		f.Fail("check that it runs and that store.dsn is right; its content was not checked", "%v", err)
		return
	}
	engine := map[string]string{"sqlite": "SQLite", "postgres": "PostgreSQL"}[st.Engine]
	f.OK("%s at %s, %s", engine, st.Location, terminal.FileSize(st.Bytes))
}
