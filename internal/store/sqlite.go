package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/mcp-tools/mcp-tools/internal/private"
)

// sqliteFile is the name of the database in the data directory.
const sqliteFile = "store.db"

const (
	busyTimeout = 5 * time.Second
	logBytes    = 16 << 20 // size of the log file after truncation
)

// useSQLite configures s for SQLite in a directory.
func (s *Store) useSQLite(o Options) error {
	s.dialect = sqliteDialect()
	dir, err := filepath.Abs(o.DSN)
	if err != nil {
		return err
	}
	s.location = filepath.Join(dir, sqliteFile)
	s.connect = func(ctx context.Context) error { return s.connectSQLite(ctx, dir, o.Full) }
	s.checkpoints = &checkpointer{store: s, wake: make(chan struct{}, 1)}
	s.notifier = newNotifier(&walWatch{store: s, looks: make(chan bool, 1)}, s.log)
	return nil
}

// connectSQLite opens the database. It writes with one connection. Its queue is
// fair, unlike the lock of SQLite. Writing transactions begin with BEGIN
// IMMEDIATE, because one that has read before cannot wait for the lock.
func (s *Store) connectSQLite(ctx context.Context, dir string, full bool) (err error) {
	if err := private.MakeDir(dir); err != nil {
		return fmt.Errorf("the store's directory: %w", err)
	}
	if err := touch(s.location); err != nil {
		return fmt.Errorf("the store: %w", err)
	}
	sync := "NORMAL"
	if full {
		sync = "FULL"
	}
	common := []string{
		fmt.Sprintf("busy_timeout(%d)", busyTimeout.Milliseconds()), "foreign_keys(1)", "synchronous(" + sync + ")",
		fmt.Sprintf("journal_size_limit(%d)", logBytes),
	}
	s.write, err = s.sqliteOpen(s.location, true, append(common, "journal_mode(WAL)", "wal_autocheckpoint(8000)"))
	if err != nil {
		return err
	}
	s.write.SetMaxOpenConns(1)
	s.read, err = s.sqliteOpen(s.location, false, append(common, "query_only(1)"))
	if err != nil {
		return err
	}
	s.read.SetMaxOpenConns(4)
	// Two processes cannot switch to WAL at the same time.
	unlock, err := private.Lock(ctx, filepath.Join(dir, "store.lock"), 30*time.Second)
	if err != nil {
		return s.unavailable(err)
	}
	defer unlock()
	if err := s.write.PingContext(ctx); err != nil {
		return s.unavailable(err)
	}
	return nil
}

func (s *Store) sqliteOpen(path string, immediate bool, pragmas []string) (*sql.DB, error) {
	q := url.Values{"_pragma": pragmas}
	if immediate {
		q.Set("_txlock", "immediate")
	}
	u := url.URL{Scheme: "file", OmitHost: true, Path: filepath.ToSlash(path), RawQuery: q.Encode()}
	c, err := sqlite.NewConnector(u.String())
	if err != nil {
		return nil, err
	}
	return sql.OpenDB(connector{c, &s.tracer}), nil
}

// touch creates the file with private permissions before SQLite does. It fails if
// other users may read or write it, because the store has tokens and approvals.
func touch(path string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	return errors.Join(private.CheckFile(f), f.Close())
}

// sqliteBusy reports whether a transaction was blocked by another process.
func sqliteBusy(err error) bool {
	var e *sqlite.Error
	return errors.As(err, &e) && e.Code()&0xff == sqlite3.SQLITE_BUSY
}
