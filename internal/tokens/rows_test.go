package tokens

import (
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/store/storetest"
)

func token(n int) Token {
	return Token{Hash: fmt.Sprintf("%064x", n), ID: fmt.Sprintf("id%06d", n), Name: "x", Profiles: []string{"full"}}
}

// TestAddFirstOnce has many who want to make the first one.
func TestAddFirstOnce(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		var all sync.WaitGroup
		var made atomic.Int64
		for n := range 16 {
			all.Go(func() {
				added, _, err := (storeRows{s}).Add(t.Context(), token(n), true)
				if err != nil {
					t.Error(err)
				}
				if added {
					made.Add(1)
				}
			})
		}
		all.Wait()
		if list, err := (storeRows{s}).All(t.Context()); err != nil || len(list) != 1 || made.Load() != 1 {
			t.Errorf("%d were first, there are %+v, %v", made.Load(), list, err)
		}
	})
}

func TestAddDoesNotReplace(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		rows := storeRows{s}
		if added, created, err := rows.Add(t.Context(), token(1), false); err != nil || !added || created.IsZero() {
			t.Fatal(added, created, err)
		}
		sameID, sameHash := token(2), token(3)
		sameID.ID, sameHash.Hash = token(1).ID, token(1).Hash
		sameHash.Approve = true
		for _, other := range []Token{sameID, sameHash} {
			if added, _, err := rows.Add(t.Context(), other, false); err != nil || added {
				t.Errorf("%+v was added: %v", other, err)
			}
		}
		if _, _, found, err := rows.ByHash(t.Context(), sameID.Hash); found || err != nil {
			t.Errorf("found %t, %v", found, err)
		}
		if err := rows.Revoke(t.Context(), token(1).ID); err != nil {
			t.Fatal(err)
		}
		first, now, found, err := rows.ByHash(t.Context(), token(1).Hash)
		if err != nil || !found || first.Approve || first.Revoked.IsZero() || now.Before(first.Revoked) {
			t.Errorf("%+v at %s, %t, %v", first, now, found, err)
		}
		if err := rows.Revoke(t.Context(), token(1).ID); err != nil {
			t.Fatal(err)
		}
		if again, _, _, err := rows.ByHash(t.Context(), token(1).Hash); err != nil ||
			!again.Revoked.Equal(first.Revoked) {
			t.Errorf("revoked twice: %+v, %v", again, err)
		}
		if err := rows.Used(t.Context(), map[string]time.Duration{token(1).ID: time.Hour, "nobody": 0}); err != nil {
			t.Fatal(err)
		}
		if err := rows.Used(t.Context(), map[string]time.Duration{token(1).ID: 2 * time.Hour}); err != nil {
			t.Fatal(err)
		}
		used, now, _, err := rows.ByHash(t.Context(), token(1).Hash)
		if ago := now.Sub(used.LastUsed); err != nil || ago < time.Hour || ago > time.Hour+time.Minute {
			t.Errorf("used %s ago, %v", ago, err)
		}
	})
}

// TestCopyOfTokens copies them to the other engine and back from a backup.
func TestCopyOfTokens(t *testing.T) {
	from, to := storetest.Open(t, t.TempDir()), storetest.Open(t, storetest.Database(t))
	for n := range 3 {
		if _, _, err := (storeRows{from}).Add(t.Context(), token(n), false); err != nil {
			t.Fatal(err)
		}
	}
	if err := (storeRows{from}).Revoke(t.Context(), token(1).ID); err != nil {
		t.Fatal(err)
	}
	if _, _, err := from.CopyTo(t.Context(), to); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "backup.zip")
	if _, err := to.Backup(t.Context(), file); err != nil {
		t.Fatal(err)
	}
	back := storetest.Open(t, t.TempDir())
	if _, err := back.Restore(t.Context(), file, false); err != nil {
		t.Fatal(err)
	}
	for _, s := range []*store.Store{to, back} {
		for n := range 3 {
			r, _, found, err := (storeRows{s}).ByHash(t.Context(), token(n).Hash)
			if err != nil || !found || r.Revoked.IsZero() == (n == 1) || len(r.Profiles) != 1 {
				t.Errorf("%s: %+v, %t, %v", s.Engine(), r, found, err)
			}
		}
		if added, _, err := (storeRows{s}).Add(t.Context(), token(9), true); err != nil || added {
			t.Errorf("%s: a first one was made: %v", s.Engine(), err)
		}
	}
}

func TestRevoked(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		rows := storeRows{s}
		valid, expired, revoked := token(1), token(2), token(3)
		expired.Expires = time.Now().Add(-time.Hour)
		for _, one := range []Token{valid, expired, revoked} {
			if _, _, err := rows.Add(t.Context(), one, false); err != nil {
				t.Fatal(err)
			}
		}
		if err := rows.Revoke(t.Context(), revoked.ID); err != nil {
			t.Fatal(err)
		}
		for id, want := range map[string]string{
			valid.ID: "", expired.ID: "has expired", revoked.ID: "was revoked", "nobody": "was removed",
		} {
			if got, err := Revoked(t.Context(), s, id); got != want || err != nil {
				t.Errorf("%s: %q, %v, want %q", id, got, err, want)
			}
		}
	})
}
