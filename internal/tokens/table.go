// Package tokens has the bearer tokens that authenticate HTTP callers.
//
// It creates, lists, revokes and checks tokens. The table of tokens is in the
// store and is read for each check, so `mcp-tools token revoke` in another process
// or on another machine is effective when it returns. If the table cannot be read
// no token is accepted.
//
// The package knows neither HTTP nor the rights of a profile nor tokens of other issuers. The
// table has only hashes of tokens.
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

// Reasons why a token is refused. The log has them; callers get one error for
// all.
var (
	ErrMalformed = errors.New("not a token of this program, or mistyped")
	ErrUnknown   = errors.New("no such token")
	ErrRevoked   = errors.New("the token has been revoked")
	ErrExpired   = errors.New("the token has expired")
)

// Options configure a Table.
type Options struct {
	DB  *store.Store
	Log *slog.Logger // nil: silent
}

// A Table is the table of tokens. It is safe for concurrent use.
type Table struct {
	Options
	rows tokenRows

	useEvery time.Duration
	cache    cache
	writing  sync.WaitGroup // of writes of uses

	mu      sync.Mutex
	used    map[string]time.Time // by id: uses that are not written yet
	written time.Time            // when uses were last written
	closed  bool
}

// useEvery is the minimum interval between writes of the last uses, and
// useTimeout limits a write.
const (
	useEvery   = time.Minute
	useTimeout = 10 * time.Second
)

// New returns a Table. It does not use the store yet.
func New(o Options) *Table {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Table{
		Options: o, rows: storeRows{o.DB}, useEvery: useEvery, used: map[string]time.Time{},
		cache: cache{age: cacheAge, tokens: map[string]cached{}},
	}
}

// Authenticate returns the token of a secret if it is valid now. Otherwise it
// returns one of the errors of this package, or the error of the store.
func (t *Table) Authenticate(ctx context.Context, plain string) (Token, error) {
	if err := Check(plain); err != nil {
		return Token{}, err
	}
	if t.rows.Unused() {
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

// lookUp reads a token from the table and checks it.
func (t *Table) lookUp(ctx context.Context, hash string) (Token, error) {
	row, now, found, err := t.rows.ByHash(ctx, hash)
	if err != nil {
		return Token{}, fmt.Errorf("reading the table of tokens: %w", err)
	}
	// The time of the search may reveal a part of a hash, but not of the token. The comparison
	// takes constant time.
	if same := subtle.ConstantTimeCompare([]byte(hash), []byte(row.Hash)) == 1; !found || !same {
		return Token{}, ErrUnknown
	}
	switch {
	case !row.Revoked.IsZero():
		return Token{}, fmt.Errorf("token %s: %w", row.ID, ErrRevoked)
	case row.expired(now):
		return Token{}, fmt.Errorf("token %s: %w", row.ID, ErrExpired)
	case !row.valid(): // it must not be able to both call and decide
		return Token{}, fmt.Errorf("token %s: %w", row.ID, errInvalidRow)
	}
	return row, nil
}

// errInvalidRow means that a row was changed by another program.
var errInvalidRow = errors.New("its row has no profile, or has one although it is for approvals")

// List returns all tokens, also revoked and expired ones, the oldest first.
func (t *Table) List(ctx context.Context) ([]Token, error) {
	if t.rows.Unused() {
		return nil, nil
	}
	list, err := t.rows.All(ctx)
	if err != nil {
		return nil, fmt.Errorf("reading the table of tokens: %w", err)
	}
	return list, nil
}

// Close writes the last uses.
func (t *Table) Close() error {
	t.mu.Lock()
	t.closed = true
	t.mu.Unlock()
	t.writing.Wait()
	return t.writeUses()
}

// noteUse records a use in memory, and from time to time starts a write of all
// uses in the background. If a write fails, List shows older times.
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
			t.Log.Warn("cannot write the last uses of tokens", "err", err)
		}
	})
}

// writeUses writes the uses to the table.
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
