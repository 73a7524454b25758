package storetest

import (
	"database/sql/driver"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"modernc.org/sqlite"

	"github.com/mcp-tools/mcp-tools/internal/store"
)

// A Clock is the clock of a database. It stands still between calls of Set. Processes that open the store
// after [UseClock], with DSN, go by it.
type Clock struct {
	DSN   string
	store *store.Store
	file  string // has the time for SQLite; "" for PostgreSQL
}

// NewClock returns a clock for the store at dsn.
func NewClock(t testing.TB, s *store.Store, dsn string) *Clock {
	t.Helper()
	if !strings.HasPrefix(dsn, "postgres") {
		return &Clock{dsn, s, filepath.Join(dsn, clockFile)}
	}
	c := &Clock{dsn + "&search_path=public,simulated,pg_catalog", s, ""}
	c.write(t, `CREATE SCHEMA simulated`)
	c.write(t, `CREATE TABLE simulated.clock (ms BIGINT NOT NULL)`)
	c.write(t, `INSERT INTO simulated.clock VALUES (0)`)
	c.write(t, `CREATE FUNCTION simulated.clock_timestamp() RETURNS timestamptz LANGUAGE sql VOLATILE AS
		'SELECT to_timestamp(ms / 1000.0) FROM simulated.clock'`)
	return c
}

func (c *Clock) write(t testing.TB, statement string, args ...any) {
	t.Helper()
	if err := c.store.Update(t.Context(), func(tx *store.Tx) error {
		_, err := tx.Exec(statement, args...)
		return err
	}); err != nil {
		t.Fatal(err)
	}
}

// Set sets the clock, and wakes the waiters of a topic.
func (c *Clock) Set(t testing.TB, at time.Time, topics ...string) {
	t.Helper()
	if c.file == "" {
		c.write(t, "UPDATE simulated.clock SET ms = $1", store.Millis(at))
	} else if err := replace(c.file, fmt.Sprint(store.Millis(at))); err != nil {
		t.Fatal(err)
	}
	if err := c.store.Update(t.Context(), func(tx *store.Tx) error {
		for _, topic := range topics {
			if err := tx.Changed(topic, ""); err != nil {
				return err
			}
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
}

// replace writes a file whose readers see the old or the new text.
func replace(path, text string) error {
	if err := os.WriteFile(path+".new", []byte(text), 0o600); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

const clockFile = "clock"

// UseClock makes this process go by the clock of the store at dsn, if that is SQLite; a DSN of a [Clock] is
// enough for PostgreSQL. It is for processes that do nothing else.
func UseClock(dsn string) {
	sqlite.MustRegisterScalarFunction("unixepoch", 1,
		func(*sqlite.FunctionContext, []driver.Value) (driver.Value, error) {
			text, err := os.ReadFile(filepath.Join(dsn, clockFile))
			if err != nil {
				return nil, err
			}
			ms, err := strconv.ParseInt(string(text), 10, 64)
			return float64(ms) / 1000, err
		})
}
