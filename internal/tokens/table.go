// Package tokens knows the bearer tokens with which HTTP callers prove who
// they are.
//
// It knows what a token looks like, which of them exist, whom each stands for
// and whether it still counts. The table is kept elsewhere, behind [Rows], and
// is asked before a token is believed: what `mcp-tools token revoke` does in
// another process, or on another machine, holds from the moment it returns.
// Where the table cannot be asked, nobody is let in.
//
// It does not know HTTP, what a profile allows, where rows are kept, or tokens
// that somebody else has issued. Tokens themselves are never kept: the table
// has their hashes.
//
// Begin with Table.Authenticate, then Table.Create.
package tokens

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/store"
)

// Why a token does not count. To the caller all of them look alike; the log
// may tell them apart.
var (
	ErrMalformed = errors.New("not a token of ours, or mistyped")
	ErrUnknown   = errors.New("no such token in the table")
	ErrRevoked   = errors.New("the token has been revoked")
	ErrExpired   = errors.New("the token has expired")
)

// Options make a Table.
type Options struct {
	DB *store.Store
	// Unused reports that there certainly is no table yet: then looking for
	// tokens does not make one. nil: never.
	Unused func() bool
	Log    *slog.Logger // nil: silent
}

// A Table is the table of tokens. It is safe for concurrent use.
type Table struct {
	Options
	rows tokenRows

	useEvery time.Duration
	cache    cache
	writing  sync.WaitGroup // of the uses

	mu      sync.Mutex
	used    map[string]time.Time // by id: uses that are not in the table yet
	written time.Time            // when uses were last written
	closed  bool
}

// useEvery is how often, at most, a server writes down that tokens were used,
// and useTimeout how long it tries to.
const (
	useEvery   = time.Minute
	useTimeout = 10 * time.Second
)

// New makes a Table. The rows are left alone before somebody asks for one.
func New(o Options) *Table {
	if o.Unused == nil {
		o.Unused = func() bool { return false }
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Table{
		Options: o, rows: storeRows{o.DB}, useEvery: useEvery, used: map[string]time.Time{},
		cache: cache{age: cacheAge, tokens: map[string]cached{}},
	}
}

// Authenticate returns the row of a token that counts right now. Otherwise
// the error is one of this package's, or says why the table cannot be asked;
// either way the caller stays outside.
func (t *Table) Authenticate(ctx context.Context, plain string) (Token, error) {
	if err := Check(plain); err != nil {
		return Token{}, err
	}
	if t.Unused() {
		return Token{}, ErrUnknown
	}
	now, hash := time.Now(), hashOf(plain)
	row, known := t.cache.get(hash, now)
	if !known {
		var err error
		if row, err = t.lookUp(ctx, hash); err != nil {
			return Token{}, err
		}
		t.cache.put(hash, row, now)
	}
	t.noteUse(row.ID, now)
	row.LastUsed = now.UTC()
	return row, nil
}

// lookUp asks the table about a token, and returns its row when it counts.
func (t *Table) lookUp(ctx context.Context, hash string) (Token, error) {
	row, now, found, err := t.rows.ByHash(ctx, hash)
	if err != nil {
		return Token{}, fmt.Errorf("asking the table of tokens: %w", err)
	}
	// How long the search takes tells at most how near a hash is, from which
	// nobody gets to its token. That it is the same is decided in constant time.
	if same := subtle.ConstantTimeCompare([]byte(hash), []byte(row.Hash)) == 1; !found || !same {
		return Token{}, ErrUnknown
	}
	switch {
	case !row.Revoked.IsZero():
		return Token{}, fmt.Errorf("token %s: %w", row.ID, ErrRevoked)
	case row.expired(now):
		return Token{}, fmt.Errorf("token %s: %w", row.ID, ErrExpired)
	case !row.valid(): // or it would be good for both
		return Token{}, fmt.Errorf("token %s: %w", row.ID, errInvalidRow)
	}
	return row, nil
}

// errInvalidRow is a row that nobody here has written.
var errInvalidRow = errors.New("its row in the table has no profile, or decides about calls and has one")

// List returns all rows, revoked and expired ones too, oldest first.
func (t *Table) List(ctx context.Context) ([]Token, error) {
	if t.Unused() {
		return nil, nil
	}
	list, err := t.rows.All(ctx)
	if err != nil {
		return nil, fmt.Errorf("reading the table of tokens: %w", err)
	}
	return list, nil
}

// Close writes down the last uses. The table needs no other farewell.
func (t *Table) Close() error {
	t.mu.Lock()
	t.closed = true
	t.mu.Unlock()
	t.writing.Wait()
	return t.writeUses()
}

// noteUse remembers a use, and once in a while has all of them written down
// while the caller goes on. A write that fails costs only a time in a list.
func (t *Table) noteUse(id string, now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.used[id] = now
	if t.closed || now.Sub(t.written) < t.useEvery {
		return
	}
	t.written = now
	t.writing.Go(func() {
		if err := t.writeUses(); err != nil {
			t.Log.Warn("when tokens were last used could not be written down", "err", err)
		}
	})
}

// writeUses brings the uses into the table.
func (t *Table) writeUses() error {
	t.mu.Lock()
	ago := make(map[string]time.Duration, len(t.used))
	for id, at := range t.used {
		ago[id] = time.Since(at)
	}
	clear(t.used)
	t.mu.Unlock()
	if len(ago) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), useTimeout)
	defer cancel()
	return t.rows.Used(ctx, ago)
}
