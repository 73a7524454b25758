package store

import (
	"context"
	"errors"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// A failure is an error of the database. Its text is for operators; as a
// *tool.Error it says only that the store is not available.
type failure struct{ err error }

func (f *failure) Error() string {
	var inner *failure // has the advice already
	var lite *sqlite.Error
	if !errors.As(f.err, &inner) && errors.As(f.err, &lite) {
		return f.err.Error() + advice(lite.Code()&0xff)
	}
	return f.err.Error()
}

// advice returns the remedy of operators for an error code of SQLite.
func advice(code int) string {
	switch code {
	case sqlite3.SQLITE_IOERR:
		return "; check whether the disk is full or broken"
	case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB:
		return "; the file is damaged: stop the servers, move it away, and run mcp-tools store restore with a backup"
	}
	return ""
}

func (f *failure) Unwrap() error { return f.err }

// As converts the failure to a *tool.Error, unless the database works.
func (f *failure) As(target any) bool {
	known, ok := target.(**tool.Error)
	if !ok || f.notOutage() {
		return false
	}
	*known = tool.Errorf(tool.Unavailable, "the store is not available").
		Try("try again later; the operator finds the cause in the log").Because(f.err)
	return true
}

// notOutage reports whether the database works: the call was cancelled, or a
// statement was wrong.
func (f *failure) notOutage() bool {
	if errors.Is(f.err, context.Canceled) || errors.Is(f.err, context.DeadlineExceeded) {
		return true
	}
	var pg *pgconn.PgError
	if errors.As(f.err, &pg) {
		return strings.HasPrefix(pg.Code, "22") || strings.HasPrefix(pg.Code, "23") || strings.HasPrefix(pg.Code, "42")
	}
	var lite *sqlite.Error
	if errors.As(f.err, &lite) {
		switch lite.Code() & 0xff {
		case sqlite3.SQLITE_ERROR, sqlite3.SQLITE_CONSTRAINT, sqlite3.SQLITE_MISMATCH, sqlite3.SQLITE_RANGE,
			sqlite3.SQLITE_TOOBIG:
			return true
		}
	}
	return false
}

// logFailure logs err if the store is not available, because models do not see
// the cause.
func (s *Store) logFailure(err error) error {
	var f *failure
	if errors.As(err, &f) && !f.notOutage() {
		s.log.Warn("the store is not available", "err", err)
	}
	return err
}
