package store

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// A Status describes a store.
type Status struct {
	Engine   string        `json:"engine"`
	Location string        `json:"place"`
	Bytes    int64         `json:"bytes"`               // of the tables and indexes
	WAL      *int64        `json:"wal_bytes,omitempty"` // of SQLite's log; PostgreSQL has none for a single database
	Step     int           `json:"step"`
	Tables   []TableStatus `json:"tables"`
	Feed     FeedStatus    `json:"feed"`
	Others   *int64        `json:"others,omitempty"` // other connections to PostgreSQL; unknown for SQLite
}

// A TableStatus is the size of a table.
type TableStatus struct {
	Name string `json:"name"`
	Rows int64  `json:"rows"`
}

// A FeedStatus describes the change feed.
type FeedStatus struct {
	First  string `json:"first"`
	Last   string `json:"last"`
	Oldest int64  `json:"oldest"` // time of the first change in milliseconds, or 0
}

// Missing reports whether there is certainly no store at a DSN.
func Missing(dsn string) bool {
	if isPostgres(dsn) {
		return false
	}
	_, err := os.Lstat(filepath.Join(dsn, sqliteFile))
	return errors.Is(err, fs.ErrNotExist)
}

// Missing reports whether nobody has made the store yet. It opens nothing.
func (s *Store) Missing() bool {
	if s.dialect.name != "sqlite" || s.ready.Load() {
		return false
	}
	_, err := os.Lstat(s.location)
	return errors.Is(err, fs.ErrNotExist)
}

// Status returns the status of the store in one snapshot.
func (s *Store) Status(ctx context.Context) (st Status, err error) {
	st = Status{Engine: s.Engine(), Location: s.location}
	err = s.View(ctx, func(t *Tx) error {
		m, err := t.manifest()
		if err != nil {
			return err
		}
		st.Step = m.Step
		tables, err := tablesAt(ctx, m.Step)
		if err != nil {
			return err
		}
		for _, table := range tables {
			row := TableStatus{Name: table.Name}
			if err := t.Row("SELECT count(*) FROM "+quoted(table.Name), nil, &row.Rows); err != nil {
				return err
			}
			st.Tables = append(st.Tables, row)
		}
		return errors.Join(t.feedStatus(&st.Feed), t.sizes(&st, tables))
	})
	return st, err
}

func (t *Tx) feedStatus(f *FeedStatus) error {
	var first, last Cursor
	if err := errors.Join(t.end(&first, "TRUE", "ASC"), t.end(&last, "TRUE", "DESC")); err != nil {
		return err
	}
	f.First, f.Last = first.String(), last.String()
	return t.Row("SELECT coalesce(min(at), 0) FROM change", nil, &f.Oldest)
}

// sizes reads the sizes that the engine reports.
func (t *Tx) sizes(st *Status, tables []Table) error {
	if t.store.dialect.name == "sqlite" {
		var wal int64
		if info, err := os.Stat(t.store.location + "-wal"); err == nil {
			wal = info.Size()
		}
		st.WAL = &wal
		return t.Row("SELECT c.page_count * s.page_size FROM pragma_page_count c, pragma_page_size s", nil, &st.Bytes)
	}
	for _, table := range tables {
		var n int64
		if err := t.Row("SELECT pg_total_relation_size($1::text::regclass)", []any{quoted(table.Name)},
			&n); err != nil {
			return err
		}
		st.Bytes += n
	}
	var others int64
	err := t.Row(`SELECT count(*) FROM pg_stat_activity
		WHERE datname = current_database() AND application_name = 'mcp-tools'
		AND pid <> pg_backend_pid()`, nil, &others)
	st.Others = &others
	return err
}

// Unused reports whether the store certainly has no rows yet: it is a directory without a database, and no method has
// used it. Callers that only list things need not create it.
func (s *Store) Unused() bool {
	if s.dialect.name != "sqlite" || s.InUse() {
		return false
	}
	_, err := os.Lstat(s.location)
	return errors.Is(err, fs.ErrNotExist)
}
