package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// A Scan copies the columns of a row into variables, like [sql.Rows.Scan].
type Scan = func(into ...any) error

// Row reads one row outside of a transaction. It is faster than [Store.View]. If there is no
// row the error is [ErrNotFound].
func (s *Store) Row(ctx context.Context, text string, args []any, into ...any) error {
	if err := s.open(ctx); err != nil {
		return s.logFailure(err)
	}
	if s.dialect.name == "sqlite" && ctx.Err() == nil {
		ctx = context.WithoutCancel(ctx) // preparing an interrupt takes longer than the query
	}
	read := func() error {
		return s.patiently(ctx, func() error {
			return s.read.QueryRowContext(ctx, s.sql(text), args...).Scan(into...)
		})
	}
	err := read()
	for attempt := 0; s.lostConnection(ctx, err) && attempt < maxLost; attempt++ {
		err = read()
	}
	if errors.Is(err, sql.ErrNoRows) {
		return ErrNotFound
	}
	if err != nil {
		return s.logFailure(s.unavailable(err))
	}
	return nil
}

// Select returns all rows of one query, each read by f, outside of a transaction. It is faster
// than [Store.View]: one statement sees one snapshot.
func Select[T any](ctx context.Context, s *Store, text string, args []any, f func(Scan) (T, error)) (list []T,
	err error) {
	if err := s.open(ctx); err != nil {
		return nil, s.logFailure(err)
	}
	for attempt := 0; ; attempt++ {
		var rows *sql.Rows
		err := s.patiently(ctx, func() (err error) {
			rows, err = s.read.QueryContext(ctx, s.sql(text), args...)
			return err
		})
		err = eachRow(rows, err, func(scan Scan) error {
			row, err := f(scan)
			list = append(list, row)
			return err
		})
		if err == nil {
			return list, nil
		}
		if len(list) > 0 || !s.lostConnection(ctx, err) || attempt == maxLost {
			return nil, s.logFailure(err)
		}
	}
}

// List returns all rows of a query, each read by f.
func List[T any](t *Tx, text string, args []any, f func(Scan) (T, error)) (list []T, err error) {
	err = t.Each(text, args, func(scan Scan) error {
		row, err := f(scan)
		if err != nil {
			return err
		}
		list = append(list, row)
		return nil
	})
	return list, err
}

// One reads a row of one column. It is a function for [List].
func One[T any](scan Scan) (value T, err error) {
	err = scan(&value)
	return value, err
}

// Now returns the time of the database's clock in milliseconds.
func (t *Tx) Now() (ms int64, err error) {
	err = t.Row("SELECT {{now}}", nil, &ms)
	return ms, err
}

// Lock makes other transactions that lock the same name wait until this one
// ends. It must come before all other changes of the transaction, so that no two
// transactions wait for each other.
func (t *Tx) Lock(name string) error {
	_, err := t.Exec("INSERT INTO latch (name) VALUES ($1) ON CONFLICT (name) DO UPDATE SET name = excluded.name", name)
	return err
}

// latchTable has a row for each name that [Tx.Lock] was called with. Copies of a
// store leave it out.
const latchTable = "latch"

// Insert inserts rows, several with one statement, into a table and its columns,
// for example "thing (id, name)". If it fails the transaction must be rolled back.
func (t *Tx) Insert(into string, rows [][]any) error {
	most := 8 // SQLite looks parameters up by name, one after the other
	if t.store.dialect.name == "postgres" {
		most = 128
	}
	var args []any
	for len(rows) > 0 {
		n := 1 // powers of two, so that the engines cache few statements
		for n < most && 2*n <= len(rows) {
			n *= 2
		}
		args = args[:0]
		for _, row := range rows[:n] {
			args = append(args, row...)
		}
		if _, err := t.Exec(t.store.insertText(into, n, len(rows[0])), args...); err != nil {
			return err
		}
		rows = rows[n:]
	}
	return nil
}

// An insertKey identifies a statement of [Tx.Insert].
type insertKey struct {
	into string
	rows int
}

// insertText returns the statement that inserts some rows of width columns.
func (s *Store) insertText(into string, rows, width int) string {
	if text, ok := s.inserts.Load(insertKey{into, rows}); ok {
		return text.(string)
	}
	var args []any
	list := make([]string, rows)
	for i := range list {
		list[i] = "(" + Params(&args, make([]any, width)...) + ")"
	}
	text := "INSERT {{fail}}INTO " + into + " VALUES " + strings.Join(list, ", ")
	s.inserts.Store(insertKey{into, rows}, text)
	return text
}

// Params appends values to the arguments of a statement and returns the
// parameters that stand for them, for example "$3, $4".
func Params[T any](args *[]any, values ...T) string {
	list := make([]string, len(values))
	for i, value := range values {
		*args = append(*args, value)
		list[i] = fmt.Sprintf("$%d", len(*args))
	}
	return strings.Join(list, ", ")
}

// In returns the parameters of values for "IN (...)", like [Params]. It rounds their number up
// to a power of four by repeating the last value, so that lists of many lengths need few
// statements. Without values it returns NULL: NULL matches no row.
func In[T any](args *[]any, values []T) string {
	if len(values) == 0 {
		return "NULL"
	}
	size := 1
	for size < len(values) {
		size *= 4
	}
	padded := slices.Clone(values)
	for len(padded) < size {
		padded = append(padded, values[len(values)-1])
	}
	return Params(args, padded...)
}

// FromMillis returns the time of a column of milliseconds; 0 is the zero time.
func FromMillis(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms)
}

// Millis returns a time as a column of milliseconds; the zero time is 0.
func Millis(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

// FromJSON decodes a column of JSON. An empty one leaves into as it is.
func FromJSON(text string, into any) error {
	if text == "" {
		return nil
	}
	if err := json.Unmarshal([]byte(text), into); err != nil {
		return fmt.Errorf("store: cannot decode JSON in a column: %w", err)
	}
	return nil
}

// ToJSON encodes a value for a column of JSON, or returns "" if empty is set.
func ToJSON(value any, empty bool) (string, error) {
	if empty {
		return "", nil
	}
	text, err := json.Marshal(value)
	if err != nil {
		return "", fmt.Errorf("store: %w", err)
	}
	return string(text), nil
}
