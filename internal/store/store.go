package store

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Options say where the store is.
type Options struct {
	// DSN is a directory for SQLite, or a postgres:// URL.
	DSN string
	// Full makes every commit wait for the disk. Without it a crash of the
	// machine, though not of a program, may take the last commits of SQLite.
	Full   bool
	Memory MemoryLimits
	Log    *slog.Logger // nil: silent
}

// A Store is a database. Its methods may be called from many goroutines.
type Store struct {
	dialect     dialect
	location    string
	connect     func(context.Context) error // opens write and read
	notifier    *notifier
	checkpoints *checkpointer // of SQLite
	written     sync.Map      // statements in the engine's words
	log         *slog.Logger

	memoryLimits MemoryLimits

	ready   atomic.Bool
	opened  chan struct{} // closed when it is ready
	opening sync.Mutex
	closed  bool
	write   *sql.DB
	read    *sql.DB
}

// ErrNotFound is the error of reading a row that does not exist.
var ErrNotFound = errors.New("not found")

// ErrConflict is returned by the function of an [Store.Update] to be run again
// later, because a row was changed between reading and writing it. If that goes
// on for half a minute Update returns it.
var ErrConflict = errors.New("the row was changed by another transaction")

// Open opens the store, makes it if need be, and brings its tables up to date.
func Open(ctx context.Context, o Options) (*Store, error) {
	s, err := OpenLazy(o)
	if err != nil {
		return nil, err
	}
	if err := s.open(ctx); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// OpenLazy is Open put off until something is asked of the store, and tried again
// each time as long as it fails.
func OpenLazy(o Options) (*Store, error) {
	if o.DSN == "" {
		return nil, errors.New("the store has no place: give a directory or a postgres:// URL")
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	s := &Store{log: o.Log, opened: make(chan struct{}), memoryLimits: o.Memory}
	if isPostgres(o.DSN) {
		return s, s.usePostgres(o)
	}
	return s, s.useSQLite(o)
}

// open opens the store unless it is open.
func (s *Store) open(ctx context.Context) error {
	if s.ready.Load() {
		return nil
	}
	s.opening.Lock()
	defer s.opening.Unlock()
	if s.closed {
		return errors.New("the store is closed")
	}
	if s.ready.Load() {
		return nil
	}
	err := s.connect(ctx)
	if err == nil {
		err = s.migrate(ctx)
	}
	if err != nil {
		return &failure{errors.Join(err, s.disconnect())}
	}
	s.ready.Store(true)
	close(s.opened)
	return nil
}

func isPostgres(dsn string) bool {
	return strings.HasPrefix(dsn, "postgres://") || strings.HasPrefix(dsn, "postgresql://")
}

// Engine is sqlite or postgres.
func (s *Store) Engine() string { return s.dialect.name }

// Location is where the store is, fit to be shown: without a password.
func (s *Store) Location() string { return s.location }

// InUse reports whether something was asked of the store and it is open.
func (s *Store) InUse() bool { return s.ready.Load() }

// Opened is closed when the store is open.
func (s *Store) Opened() <-chan struct{} { return s.opened }

// Close ends everything that the store has under way.
func (s *Store) Close() error {
	if s.notifier != nil {
		s.notifier.close()
	}
	if s.checkpoints != nil {
		s.checkpoints.close()
	}
	s.opening.Lock()
	defer s.opening.Unlock()
	s.closed = true
	return s.disconnect()
}

func (s *Store) disconnect() (err error) {
	for _, db := range []*sql.DB{s.read, s.write} {
		if db != nil {
			err = errors.Join(err, db.Close())
		}
	}
	return err
}

// A Tx is a transaction.
type Tx struct {
	store  *Store
	tx     *sql.Tx
	ctx    context.Context
	topics map[string]bool
}

// View runs f in a transaction that only reads, and sees one moment.
func (s *Store) View(ctx context.Context, f func(*Tx) error) error {
	if err := s.open(ctx); err != nil {
		return s.logFailure(err)
	}
	o := &sql.TxOptions{ReadOnly: true}
	if s.dialect.name == "postgres" {
		o.Isolation = sql.LevelRepeatableRead
	}
	tx, err := s.read.BeginTx(ctx, o)
	if err != nil {
		return s.logFailure(s.unavailable(err))
	}
	defer func() { _ = tx.Rollback() }() // there is nothing to keep
	return s.logFailure(f(&Tx{store: s, tx: tx, ctx: ctx, topics: map[string]bool{}}))
}

// unavailable words errors of the connection.
func (s *Store) unavailable(err error) error {
	return &failure{fmt.Errorf("the store %s: %w", s.location, dedupConnectError(err))}
}

// Exec runs a statement and returns how many rows it changed.
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

// Row reads one row. Without one the error is [ErrNotFound].
func (t *Tx) Row(text string, args []any, into ...any) error {
	err := t.tx.QueryRowContext(t.ctx, t.store.sql(text), args...).Scan(into...)
	if errors.Is(err, sql.ErrNoRows) {
		return ErrNotFound
	}
	if err != nil {
		return &failure{fmt.Errorf("store: %w", err)}
	}
	return nil
}

// Each reads rows, one after the other, until there are no more or f has had
// enough and returns an error.
func (t *Tx) Each(text string, args []any, f func(Scan) error) error {
	rows, err := t.tx.QueryContext(t.ctx, t.store.sql(text), args...)
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

// NewID makes an id that sorts by the time it was made (UUIDv7).
func NewID() string {
	var b [16]byte
	ms := time.Now().UnixMilli()
	for i := range 6 {
		b[i] = byte(ms >> (40 - 8*i))
	}
	rand.Read(b[6:])
	b[6] = b[6]&0x0f | 0x70
	b[8] = b[8]&0x3f | 0x80
	text := hex.EncodeToString(b[:])
	return text[:8] + "-" + text[8:12] + "-" + text[12:16] + "-" + text[16:20] + "-" + text[20:]
}
