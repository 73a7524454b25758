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

// A failure is an error of the database. It tells operators what it is, and
// models only that the store cannot be used.
type failure struct{ err error }

func (f *failure) Error() string {
	var inner *failure // has said it
	var lite *sqlite.Error
	if !errors.As(f.err, &inner) && errors.As(f.err, &lite) {
		return f.err.Error() + advice(lite.Code()&0xff)
	}
	return f.err.Error()
}

// advice is what operators can do about an error of SQLite that does not say so.
func advice(code int) string {
	switch code {
	case sqlite3.SQLITE_IOERR:
		return "; see whether its disk is full, or fails"
	case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB:
		return "; it is damaged: stop the servers, move it away, and run mcp-tools store restore with a backup"
	}
	return ""
}

func (f *failure) Unwrap() error { return f.err }

// As makes the error of it that models read.
func (f *failure) As(target any) bool {
	known, ok := target.(**tool.Error)
	if !ok || f.notOutage() {
		return false
	}
	*known = tool.Errorf(tool.Unavailable, "the store cannot be used now").
		Try("try again later; the operator finds the cause in the log").Because(f.err)
	return true
}

// notOutage reports whether the database is well: the call was ended, or a statement
// was wrong.
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
		case sqlite3.SQLITE_ERROR, sqlite3.SQLITE_CONSTRAINT, sqlite3.SQLITE_MISMATCH, sqlite3.SQLITE_RANGE, sqlite3.SQLITE_TOOBIG:
			return true
		}
	}
	return false
}

// send writes down that the store could not be used, which models are not told
// more of.
func (s *Store) logFailure(err error) error {
	var f *failure
	if errors.As(err, &f) && !f.notOutage() {
		s.log.Warn("the store cannot be used at present", "err", err)
	}
	return err
}
