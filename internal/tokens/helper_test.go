package tokens

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/store/storetest"
)

// each runs a test on the empty tables of both engines.
func each(t *testing.T, f func(t *testing.T, db *store.Store)) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) { f(t, storetest.Open(t, t.TempDir())) })
	t.Run("postgres", func(t *testing.T) { f(t, storetest.Open(t, storetest.Database(t))) })
}

// open is the table of one process, which asks the rows each time.
func open(t testing.TB, db *store.Store) *Table {
	t.Helper()
	table := New(Options{DB: db})
	table.cache.age = 0
	t.Cleanup(func() {
		if err := table.Close(); err != nil {
			t.Error(err)
		}
	})
	return table
}

func create(t testing.TB, table *Table, req Token) (string, Token) {
	t.Helper()
	if req.Profiles == nil {
		req.Profiles = []string{"coding"}
	}
	plain, row, err := table.Create(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	return plain.Reveal(), row
}

func list(t testing.TB, table *Table) []Token {
	t.Helper()
	rows, err := table.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

// until tries again until done says so.
func until(t testing.TB, what string, done func() bool) {
	t.Helper()
	for late := time.Now().Add(3 * time.Minute); !done(); {
		if time.Now().After(late) {
			t.Fatalf("in vain: %s", what)
		}
		<-time.After(5 * time.Millisecond) // others need the machine too
	}
}

var errAway = errors.New("connection refused")

// troubled are rows with something wrong.
type troubled struct {
	tokenRows
	away   bool
	odd    func(*Token)                // changes a row as another program might
	refuse func(context.Context) error // of uses
}

func (r *troubled) ByHash(ctx context.Context, hash string) (Token, time.Time, bool, error) {
	if r.away {
		return Token{}, time.Time{}, false, errAway
	}
	kept, now, found, err := r.tokenRows.ByHash(ctx, hash)
	if r.odd != nil {
		r.odd(&kept)
	}
	return kept, now, found, err
}

func (r *troubled) All(ctx context.Context) ([]Token, error) {
	if r.away {
		return nil, errAway
	}
	return r.tokenRows.All(ctx)
}

func (r *troubled) Add(ctx context.Context, kept Token, first bool) (bool, time.Time, error) {
	if r.away {
		return false, time.Time{}, errAway
	}
	return r.tokenRows.Add(ctx, kept, first)
}

func (r *troubled) Used(ctx context.Context, ago map[string]time.Duration) error {
	if r.refuse != nil {
		return r.refuse(ctx)
	}
	return r.tokenRows.Used(ctx, ago)
}
