package store

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"hash/maphash"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Options configure a store. The zero value but for DSN is right for one process and for many.
type Options struct {
	// DSN is a directory for SQLite, or a postgres:// URL.
	DSN string
	// Direct is the URL of the PostgreSQL server itself, if DSN leads to a PgBouncer in transaction mode: only there a
	// connection can wait for changes. Statements are not prepared then. Empty: DSN leads to the server.
	Direct string
	// Full makes every commit of SQLite wait for the disk. Without it a power
	// cut, but not the crash of a program, may lose the last commits.
	Full bool
	// Connections is the maximum number of connections to PostgreSQL, beside one that waits for changes. 0 means 16.
	Connections int
	Log         *slog.Logger // nil: silent
}

// A Store is a database: SQLite in a directory, or PostgreSQL. [Open] makes one, and
// [Store.Close] ends it.
//
// [Store.Update] writes in a transaction, and [Store.View] reads several statements from one
// snapshot. [Select] and [Store.Row] read with one statement: that is faster. The statements
// are the same for both engines.
//
// The methods of a Store may be called from many goroutines. Several processes may open
// the same store.
type Store struct {
	dialect     dialect
	location    string
	connect     func(context.Context) error // sets write and read
	notifier    *notifier
	checkpoints *checkpointer // only with SQLite
	written     sync.Map      // statements of the engine, by text
	inserts     sync.Map      // statements of Insert, by insertKey
	log         *slog.Logger
	tracer      tracer

	id      atomic.Pointer[string] // of the feed; see identity
	ready   atomic.Bool
	opened  chan struct{} // closed when ready is set
	opening sync.Mutex
	closed  bool
	write   *sql.DB
	read    *sql.DB

	turns [64]*turn // of UpdateInTurn, by hash of the key
	seed  maphash.Seed
}

// ErrNotFound is the error of reading a row that does not exist.
var ErrNotFound = errors.New("not found")

// ErrConflict is returned by the function of an [Store.Update] to be run again
// later, because a row was changed between reading and writing it. If that goes
// on for half a minute Update returns it.
var ErrConflict = errors.New("the row was changed by another transaction")

// Open opens the store, creates it if necessary, and applies migrations. If the store
// cannot be reached the error says so; nothing needs to be closed then. [OpenLazy] leaves
// the work to the first use.
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

// OpenLazy returns a store that is opened by its first use. If that fails, each
// further use tries again.
func OpenLazy(o Options) (*Store, error) {
	if o.DSN == "" {
		return nil, errors.New("the store has no DSN; set a directory or a postgres:// URL")
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	s := &Store{log: o.Log, opened: make(chan struct{}), seed: maphash.MakeSeed()}
	for i := range s.turns {
		s.turns[i] = new(turn)
	}
	if isPostgres(o.DSN) {
		return s, s.usePostgres(o)
	}
	return s, s.useSQLite(o)
}

// open opens the store if it is not open.
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

// Engine returns "sqlite" or "postgres".
func (s *Store) Engine() string { return s.dialect.name }

// Location returns the file or the URL of the store, without a password.
func (s *Store) Location() string { return s.location }

// InUse reports whether the store is open.
func (s *Store) InUse() bool { return s.ready.Load() }

// Opened returns a channel that is closed when the store is open.
func (s *Store) Opened() <-chan struct{} { return s.opened }

// Close closes the store and stops its goroutines.
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

// NewID returns a new UUIDv7. It sorts by its time, to a quarter of a microsecond.
func NewID() string {
	var b [16]byte
	now := time.Now()
	fraction := now.Nanosecond() % 1e6 * 4096 / 1e6
	binary.BigEndian.PutUint64(b[:], uint64(now.UnixMilli())<<16|7<<12|uint64(fraction))
	rand.Read(b[8:])
	b[8] = b[8]&0x3f | 0x80
	text := hex.EncodeToString(b[:])
	return text[:8] + "-" + text[8:12] + "-" + text[12:16] + "-" + text[16:20] + "-" + text[20:]
}
