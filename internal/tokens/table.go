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
)

// Why a token does not count. To the caller all of them look alike; the log
// may tell them apart.
var (
	ErrMalformed = errors.New("not a token of ours, or mistyped")
	ErrUnknown   = errors.New("no such token in the table")
	ErrRevoked   = errors.New("the token has been revoked")
	ErrExpired   = errors.New("the token has expired")
)

// Rows are where the table is kept: one for all processes and machines that
// share it, with a clock of its own.
type Rows interface {
	// ByHash returns the token with a hash, and what time it is.
	ByHash(ctx context.Context, hash string) (r Kept, now time.Time, found bool, err error)
	// All returns all tokens, the oldest first.
	All(ctx context.Context) ([]Kept, error)
	// Add adds a token that was created now, unless there is one with its id or
	// hash. The first of all is only added when there never was one, and of many
	// that are added at once just one is.
	Add(ctx context.Context, r Kept, first bool) (added bool, created time.Time, err error)
	// Revoke ends a token, unless it has ended.
	Revoke(ctx context.Context, id string) error
	// Used writes down how long ago tokens were used, by id.
	Used(ctx context.Context, ago map[string]time.Duration) error
}

// Kept is a row as it is kept. It is an alias, so that whoever keeps the rows
// declares the same fields and neither package has to know the other.
type Kept = struct {
	Hash      string // of the token, hexadecimal
	ID        string
	Name      string
	Profiles  []string
	Approve   bool
	Agent     string
	User      string
	Workspace string
	Created   time.Time
	Expires   time.Time
	Used      time.Time
	Revoked   time.Time
}

// Options make a Table.
type Options struct {
	Rows Rows
	// Unused reports that there certainly is no table yet: then looking for
	// tokens does not make one. nil: never.
	Unused func() bool
	Log    *slog.Logger // nil: silent
}

// A Table is the table of tokens. It is safe for concurrent use.
type Table struct {
	Options

	useEvery time.Duration
	recent   recent
	writing  sync.WaitGroup // of the uses

	mu      sync.Mutex
	used    map[string]time.Time // by id: uses that are not in the table yet
	written time.Time            // when uses were last written
	closed  bool
}

// useEvery is how often, at most, a server writes down that tokens were used,
// and usePatience how long it tries to.
const (
	useEvery    = time.Minute
	usePatience = 10 * time.Second
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
		Options: o, useEvery: useEvery, used: map[string]time.Time{},
		recent: recent{age: lookEvery, looked: map[string]look{}},
	}
}

// Authenticate returns the row of a token that counts right now. Otherwise
// the error is one of this package's, or says why the table cannot be asked;
// either way the caller stays outside.
func (t *Table) Authenticate(ctx context.Context, plain string) (Row, error) {
	if err := Check(plain); err != nil {
		return Row{}, err
	}
	if t.Unused() {
		return Row{}, ErrUnknown
	}
	now, hash := time.Now(), hashOf(plain)
	row, known := t.recent.get(hash, now)
	if !known {
		var err error
		if row, err = t.lookUp(ctx, hash); err != nil {
			return Row{}, err
		}
		t.recent.put(hash, row, now)
	}
	t.noteUse(row.ID, now)
	row.LastUsed = now.UTC()
	return row, nil
}

// lookUp asks the table about a token, and returns its row when it counts.
func (t *Table) lookUp(ctx context.Context, hash string) (Row, error) {
	kept, now, found, err := t.Rows.ByHash(ctx, hash)
	if err != nil {
		return Row{}, fmt.Errorf("asking the table of tokens: %w", err)
	}
	// How long the search takes tells at most how near a hash is, from which
	// nobody gets to its token. That it is the same is decided in constant time.
	if same := subtle.ConstantTimeCompare([]byte(hash), []byte(kept.Hash)) == 1; !found || !same {
		return Row{}, ErrUnknown
	}
	row := rowOf(kept)
	switch {
	case !row.Revoked.IsZero():
		return Row{}, fmt.Errorf("token %s: %w", row.ID, ErrRevoked)
	case row.expired(now):
		return Row{}, fmt.Errorf("token %s: %w", row.ID, ErrExpired)
	case !row.sound(): // or it would be good for both
		return Row{}, fmt.Errorf("token %s: %w", row.ID, errUnsound)
	}
	return row, nil
}

// errUnsound is a row that nobody here has written.
var errUnsound = errors.New("its row in the table has no profile, or decides about calls and has one")

// List returns all rows, revoked and expired ones too, oldest first.
func (t *Table) List(ctx context.Context) ([]Row, error) {
	if t.Unused() {
		return nil, nil
	}
	kept, err := t.Rows.All(ctx)
	if err != nil {
		return nil, fmt.Errorf("reading the table of tokens: %w", err)
	}
	rows := make([]Row, len(kept))
	for i, one := range kept {
		rows[i] = rowOf(one)
	}
	return rows, nil
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
	ctx, cancel := context.WithTimeout(context.Background(), usePatience)
	defer cancel()
	return t.Rows.Used(ctx, ago)
}
