package store

import "strings"

// A dialect maps words in double braces to the SQL of an engine.
type dialect struct {
	name  string
	words *strings.Replacer
}

func sqliteDialect() dialect {
	return dialect{"sqlite", strings.NewReplacer(
		"{{now}}", "CAST(unixepoch('subsec')*1000 AS INTEGER)",
		"{{skip}}", "",
		"{{lock}}", "", // a writer holds the whole file
		"{{max}}", "max",
		"{{json}}", "",
		"{{fail}}", "OR FAIL ", // else SQLite copies every page it changes, to undo the statement
		"{{blob}}", "BLOB",
		"{{feed}}", "seq INTEGER PRIMARY KEY AUTOINCREMENT, xid BIGINT NOT NULL DEFAULT 0",
		"{{settled}}", "TRUE",
		"{{unlogged}}", "",
		"{{uncompressed}}", "",
		"{{postgres}}", "--", // the line is for PostgreSQL
	)}
}

func postgresDialect() dialect {
	return dialect{"postgres", strings.NewReplacer(
		"{{now}}", "(extract(epoch FROM clock_timestamp())*1000)::bigint",
		"{{skip}}", "FOR UPDATE SKIP LOCKED",
		"{{lock}}", "FOR UPDATE",
		"{{max}}", "greatest",
		"{{json}}", "::json",
		"{{fail}}", "",
		"{{blob}}", "BYTEA",
		"{{feed}}", "seq BIGSERIAL, xid BIGINT NOT NULL DEFAULT pg_current_xact_id()::text::bigint, PRIMARY KEY "+
			"(xid, seq)",
		"{{settled}}", "xid < pg_snapshot_xmin(pg_current_snapshot())::text::bigint",
		"{{unlogged}}", "UNLOGGED",
		"{{uncompressed}}", "ALTER TABLE blob ALTER COLUMN data SET STORAGE EXTERNAL;", // so that a part is read alone
		"{{postgres}}", "",
	)}
}

// sql returns a statement in the dialect of the engine.
func (s *Store) sql(text string) string {
	if known, ok := s.written.Load(text); ok {
		return known.(string)
	}
	written := s.dialect.words.Replace(text)
	s.written.Store(text, written) // texts are constants, so the cache is bounded
	return written
}
