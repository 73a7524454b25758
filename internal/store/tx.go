package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/mcp-tools/mcp-tools/internal/clock"
)

// A Tx is a transaction on either engine. Statements are written once, with $1 for parameters, and {{now}} for the time
// of the database in milliseconds. [Store.Update] and [Store.View] make one, and run their function again if the engine
// asks for that, so that it has no other effects than its statements.
type Tx struct {
	store  *Store
	tx     *sql.Tx
	ctx    context.Context
	topics map[string]bool // of the changes; nil in a transaction that only reads

	changes []any // for the feed: topics and keys

	hasRead bool // a row was returned
}

// View runs f in a transaction that only reads, with a consistent snapshot. If the
// connection to the server was lost before anything was read, f runs again on
// another one.
func (s *Store) View(ctx context.Context, f func(*Tx) error) error {
	if err := s.open(ctx); err != nil {
		return s.logFailure(err)
	}
	for attempt := 0; ; attempt++ {
		t := &Tx{store: s, ctx: ctx}
		err := s.viewOnce(t, f)
		if t.hasRead || !s.lostConnection(ctx, err) || attempt == maxLost {
			return s.logFailure(causeOf(ctx, err))
		}
	}
}

func (s *Store) viewOnce(t *Tx, f func(*Tx) error) (err error) {
	o := &sql.TxOptions{ReadOnly: true}
	if s.dialect.name == "postgres" {
		o.Isolation = sql.LevelRepeatableRead
	}
	if err := s.patiently(t.ctx, func() (err error) {
		t.tx, err = s.read.BeginTx(t.ctx, o)
		return err
	}); err != nil {
		return s.unavailable(err)
	}
	defer func() { _ = t.tx.Rollback() }() // there is nothing to commit
	return f(t)
}

// maxLost is the maximum number of retries of a read: each idle connection may have
// been cut.
const maxLost = 10

// lostConnection reports whether a read failed because the server, or a router in
// between, has cut an open connection. A server that cannot be reached is not tried
// again.
func (s *Store) lostConnection(ctx context.Context, err error) bool {
	var refused *pgconn.ConnectError
	if err == nil || s.dialect.name != "postgres" || ctx.Err() != nil || errors.As(err, &refused) {
		return false
	}
	var known *pgconn.PgError
	if errors.As(err, &known) {
		return strings.HasPrefix(known.Code, "57P") || strings.HasPrefix(known.Code, "08")
	}
	var cut *net.OpError
	return errors.As(err, &cut) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) ||
		errors.Is(err, driver.ErrBadConn) || pgconn.SafeToRetry(err)
}

// unavailable wraps an error of the connection.
func (s *Store) unavailable(err error) error {
	return &failure{fmt.Errorf("the store %s: %w", s.location, dedupConnectError(err))}
}

// Exec runs a statement and returns the number of changed rows.
func (t *Tx) Exec(text string, args ...any) (int64, error) {
	result, err := t.tx.ExecContext(t.ctx, t.store.sql(text), args...)
	if err != nil {
		return 0, &failure{fmt.Errorf("store: %w", err)}
	}
	n, err := result.RowsAffected()
	if err != nil {
		return 0, &failure{fmt.Errorf("store: %w", err)}
	}
	return n, nil
}

// Row reads one row. If there is none the error is [ErrNotFound].
func (t *Tx) Row(text string, args []any, into ...any) error {
	err := t.tx.QueryRowContext(t.ctx, t.store.sql(text), args...).Scan(into...)
	t.hasRead = t.hasRead || err == nil
	if errors.Is(err, sql.ErrNoRows) {
		return ErrNotFound
	}
	if err != nil {
		return &failure{fmt.Errorf("store: %w", err)}
	}
	return nil
}

// Each calls f for each row of a query, until f returns an error.
func (t *Tx) Each(text string, args []any, f func(Scan) error) error {
	rows, err := t.tx.QueryContext(t.ctx, t.store.sql(text), args...)
	return eachRow(rows, err, func(scan Scan) error {
		t.hasRead = true
		return f(scan)
	})
}

// eachRow calls f for each row of the result of a query.
func eachRow(rows *sql.Rows, err error, f func(Scan) error) error {
	if err != nil {
		return &failure{fmt.Errorf("store: %w", err)}
	}
	defer rows.Close()
	for rows.Next() {
		if err := f(rows.Scan); err != nil {
			return err
		}
	}
	if err := rows.Err(); err != nil {
		return &failure{fmt.Errorf("store: %w", err)}
	}
	return nil
}

// Update runs f in a transaction that may write. If f returns an error nothing
// is written. f runs again when transactions have blocked each other, or when it
// returns [ErrConflict], so it must have no other effects.
func (s *Store) Update(ctx context.Context, f func(*Tx) error) error {
	if err := s.open(ctx); err != nil {
		return s.logFailure(err)
	}
	begun := time.Now()
	for attempt := 0; ; attempt++ {
		topics, err := s.update(ctx, f)
		if err == nil {
			s.notifier.changed(topics)
			if s.checkpoints != nil {
				s.checkpoints.committed()
			}
			return nil
		}
		if !s.shouldRetry(err, attempt, begun) {
			return s.logFailure(causeOf(ctx, err))
		}
		if err := backOff(ctx, attempt); err != nil {
			return err
		}
	}
}

const (
	// retryFor limits the retries of a transaction that was blocked by others.
	// One of them always succeeds, so that all make progress.
	retryFor = 30 * time.Second
	// maxReconnects is the max number of retries of a transaction without a
	// connection to the server.
	maxReconnects = 6
)

func (s *Store) update(ctx context.Context, f func(*Tx) error) (topics map[string]bool, err error) {
	var tx *sql.Tx
	if err := s.patiently(ctx, func() (err error) {
		tx, err = s.write.BeginTx(ctx, nil)
		return err
	}); err != nil {
		return nil, s.unavailable(err)
	}
	t := &Tx{store: s, tx: tx, ctx: ctx, topics: map[string]bool{}}
	if err = f(t); err == nil {
		err = t.writeChanges()
	}
	if err != nil {
		_ = tx.Rollback() // the first error has the cause
		return nil, err
	}
	if err := tx.Commit(); err != nil {
		return nil, s.unavailable(err)
	}
	return t.topics, nil
}

// causeOf returns the error of the context if it has ended a transaction:
// database/sql says of the next statement, or the commit, only that the
// transaction has been rolled back.
func causeOf(ctx context.Context, err error) error {
	if errors.Is(err, sql.ErrTxDone) && ctx.Err() != nil {
		return &failure{fmt.Errorf("store: %w", ctx.Err())}
	}
	return err
}

// backOff waits a random time before another attempt, up to a limit that grows
// with the number of attempts.
func backOff(ctx context.Context, attempt int) error {
	return clock.Sleep(ctx, rand.N(10*time.Millisecond<<min(attempt, 6)))
}

// shouldRetry reports whether a failed transaction is retried: it was blocked by
// another one, or its connection was lost before the commit.
func (s *Store) shouldRetry(err error, attempt int, begun time.Time) bool {
	if s.blocked(err) || errors.Is(err, ErrConflict) {
		return time.Since(begun) < retryFor
	}
	return s.dialect.name == "postgres" && pgconn.SafeToRetry(err) && attempt < maxReconnects
}

func (s *Store) blocked(err error) bool {
	if s.dialect.name == "sqlite" {
		return sqliteBusy(err)
	}
	var e *pgconn.PgError
	return errors.As(err, &e) && (e.Code == "40001" || e.Code == "40P01") // serialization, deadlock
}
