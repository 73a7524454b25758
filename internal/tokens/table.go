// Package tokens keeps the table of bearer tokens with which HTTP callers
// prove who they are.
//
// It knows what a token looks like, which of them exist, whom each stands for
// and whether it still counts. The table is one private file, tokens.json in
// the data directory. Any number of processes may use it at once: changes are
// made under a file lock and replace the whole file, and a running server
// looks at the file before it believes a token, so what `mcp-tools token
// revoke` does in another process holds from the moment it returns.
//
// It does not know HTTP, what a profile allows, or tokens that somebody else
// has issued. Tokens themselves are never kept: the table has their hashes.
//
// Begin with Table.Authenticate, then Table.update.
package tokens

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/private"
)

// Why a token does not count. To the caller all of them look alike; the log
// may tell them apart.
var (
	ErrMalformed = errors.New("not a token of ours, or mistyped")
	ErrUnknown   = errors.New("no such token in the table")
	ErrRevoked   = errors.New("the token has been revoked")
	ErrExpired   = errors.New("the token has expired")
)

// useEvery is how often, at most, a server writes down that tokens were used.
const useEvery = time.Minute

// A Table is the table of tokens in one data directory. It is safe for
// concurrent use, and so are several Tables of the same directory.
type Table struct {
	dir string

	lookEvery time.Duration // how old a look at the file may be

	mu      sync.Mutex
	looked  time.Time            // when the file was last looked at
	seen    snapshot             // the table as it was last read
	used    map[string]time.Time // by id: uses that may not be in the file yet
	written time.Time            // when uses were last written
}

// Open returns the table in dir, which is made if it is missing. A directory
// without a table is an empty table; a table that cannot be read or trusted
// is an error.
func Open(dir string) (*Table, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("making the data directory: %w", err)
	}
	if err := checkDir(dir); err != nil {
		return nil, err
	}
	t := &Table{dir: dir, lookEvery: lookEvery, used: map[string]time.Time{}}
	if _, err := t.current(); err != nil {
		return nil, err
	}
	return t, nil
}

// Authenticate returns the row of a token that counts right now. Otherwise
// the error is one of this package's, or says why the table cannot be read;
// either way the caller stays outside.
func (t *Table) Authenticate(plain string) (Row, error) {
	if err := Check(plain); err != nil {
		return Row{}, err
	}
	rows, err := t.recent()
	if err == nil {
		if _, known := find(rows, idOf(plain)); !known {
			rows, err = t.current() // it may have been made just now
		}
	}
	if err != nil {
		return Row{}, err
	}
	// The id is public, so finding the row by it gives nothing away. What is
	// secret is compared in constant time, by its hash, and an unknown id
	// costs the same comparison against a hash that nothing has.
	row, known := find(rows, idOf(plain))
	sum := sha256.Sum256([]byte(plain))
	if same := subtle.ConstantTimeCompare(sum[:], row.hash[:]) == 1; !known || !same {
		return Row{}, ErrUnknown
	}
	now := time.Now()
	switch {
	case !row.Revoked.IsZero():
		return Row{}, fmt.Errorf("token %s: %w", row.ID, ErrRevoked)
	case row.expired(now):
		return Row{}, fmt.Errorf("token %s: %w", row.ID, ErrExpired)
	}
	t.noteUse(row.ID, now)
	row.LastUsed = now
	return row.clone(), nil
}

// List returns all rows, revoked and expired ones too, oldest first.
func (t *Table) List() ([]Row, error) {
	rows, err := t.current()
	if err != nil {
		return nil, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return withUses(rows, t.used), nil
}

// Close writes down the last uses. The table needs no other farewell.
func (t *Table) Close() error {
	t.mu.Lock()
	pending := len(t.used) > 0
	t.mu.Unlock()
	if !pending {
		return nil
	}
	return t.writeUses(lockPatience)
}

// noteUse remembers a use, and once in a while writes all of them down. A
// write that fails costs only a time in a list, so the caller is let in all
// the same.
func (t *Table) noteUse(id string, now time.Time) {
	t.mu.Lock()
	t.used[id] = now
	due := now.Sub(t.written) >= useEvery
	if due {
		t.written = now
	}
	t.mu.Unlock()
	if due {
		_ = t.writeUses(0)
	}
}

// writeUses brings the uses into the file. It waits for the lock no longer
// than patience.
func (t *Table) writeUses(patience time.Duration) error {
	return t.update(patience, func(rows []Row) ([]Row, error) {
		t.mu.Lock()
		defer t.mu.Unlock()
		return withUses(rows, t.used), nil
	})
}

// withUses returns a copy of rows that knows the uses.
func withUses(rows []Row, used map[string]time.Time) []Row {
	out := make([]Row, len(rows))
	for i, row := range rows {
		out[i] = row.clone()
		if at := used[row.ID]; at.After(row.LastUsed) {
			out[i].LastUsed = at.UTC().Truncate(time.Second)
		}
	}
	return out
}

// update changes the table: change gets the rows as they are in the file at
// this moment and returns what they shall be. Nobody else changes the file
// meanwhile. When change fails, nothing is written.
func (t *Table) update(patience time.Duration, change func([]Row) ([]Row, error)) error {
	unlock, err := private.Lock(context.Background(), filepath.Join(t.dir, lockName), patience)
	if err != nil {
		return err
	}
	defer unlock()
	now, err := load(t.path())
	if err != nil {
		return err
	}
	rows, err := change(now.rows)
	if err != nil {
		return err
	}
	defer t.lookAgain()
	return store(t.path(), now, rows)
}

// lookAgain forgets when the file was looked at: it has just been changed.
func (t *Table) lookAgain() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.looked = time.Time{}
}

// recent returns the rows that were in the file a moment ago: under load, a look
// for every request would cost more than everything else about a token.
func (t *Table) recent() ([]Row, error) {
	t.mu.Lock()
	rows, young := t.seen.rows, time.Since(t.looked) < t.lookEvery
	t.mu.Unlock()
	if young {
		return rows, nil
	}
	return t.current()
}

// lookEvery is how old a look at the file may be. Revoke waits as long, so that
// no process believes the token any more when it returns.
const lookEvery = 20 * time.Millisecond

// current returns the rows that are in the file now. They are shared: do not
// change them. A file that was removed is a table without tokens.
func (t *Table) current() ([]Row, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := time.Now()
	if t.seen.fresh(t.path()) {
		t.looked = now
		return t.seen.rows, nil
	}
	next, err := load(t.path())
	if err != nil {
		return nil, err
	}
	t.seen, t.looked = next, now
	return next.rows, nil
}

func (t *Table) path() string { return filepath.Join(t.dir, fileName) }

// find returns the row with the id.
func find(rows []Row, id string) (Row, bool) {
	i := slices.IndexFunc(rows, func(r Row) bool { return r.ID == id })
	if i < 0 {
		return Row{}, false
	}
	return rows[i], true
}
