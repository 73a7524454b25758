package tokens

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/store/storetest"
)

func TestAuthenticate(t *testing.T) {
	each(t, func(t *testing.T, db *store.Store) {
		table := open(t, db)
		expires := time.Now().Add(time.Hour).UTC().Truncate(time.Millisecond)
		plain, made := create(t, table, Token{
			Name: "laptop", Profiles: []string{"coding", "readonly"}, Agent: "builder",
			User: "ada", Workspace: "/srv/ada", Expires: expires,
		})
		until(t, "a later moment", func() bool { return time.Now().Truncate(time.Millisecond).After(made.Created) })
		create(t, table, Token{Name: "another"})

		row, err := open(t, db).Authenticate(t.Context(), plain)
		if err != nil {
			t.Fatal(err)
		}
		want := Token{
			Hash: made.Hash, ID: made.ID, Name: "laptop", Agent: "builder", User: "ada", Workspace: "/srv/ada",
			Profiles: []string{"coding", "readonly"}, Created: made.Created, Expires: expires, LastUsed: row.LastUsed,
		}
		if diff := cmp.Diff(want, row); diff != "" || row.Subject() != "token:"+made.ID {
			t.Errorf("token %s (-want +got):\n%s", row.Subject(), diff)
		}
		if row.LastUsed.IsZero() || row.State(time.Now()) != "active" || !row.Created.Equal(made.Created) ||
			made.Created.IsZero() {
			t.Errorf("row of a token just used: %+v", row)
		}
		if all := list(t, table); len(all) != 2 || all[0].Name != "laptop" || all[1].Name != "another" {
			t.Errorf("the list is %+v", all)
		}
	})
}

func TestAuthenticateRefuses(t *testing.T) {
	each(t, func(t *testing.T, db *store.Store) {
		table := open(t, db)
		good, row := create(t, table, Token{Name: "good"})
		revoked, _ := create(t, table, Token{Name: "revoked"})
		later, _ := create(t, table, Token{Name: "later", Expires: time.Now().Add(time.Hour)})
		expiring, _ := create(t, table, Token{Name: "expiring", Expires: time.Now().Add(time.Second)})
		if err := table.Revoke(t.Context(), "revoked"); err != nil {
			t.Fatal(err)
		}
		body := row.ID + strings.Repeat("x", bodyLen-idLen)
		cases := []struct {
			name, plain string
			want        error
		}{
			{"good", good, nil},
			{"not expired yet", later, nil},
			{"empty", "", ErrMalformed},
			{"prefix only", prefix, ErrMalformed},
			{"mistyped", good[:20] + "!" + good[21:], ErrMalformed},
			{"space around", " " + good, ErrMalformed},
			{"unknown", generate().Reveal(), ErrUnknown},
			{"known id, other rest", prefix + body + checksum(body), ErrUnknown},
			{"revoked", revoked, ErrRevoked},
		}
		for _, c := range cases {
			if _, err := table.Authenticate(t.Context(), c.plain); !errors.Is(err, c.want) {
				t.Errorf("%s: error %v, want %v", c.name, err, c.want)
			}
		}
		until(t, "to expire", func() bool {
			got, err := table.Authenticate(t.Context(), expiring)
			return errors.Is(err, ErrExpired) && got.ID == ""
		})
	})
}

func TestErrorsDoNotRepeatTheToken(t *testing.T) {
	table := open(t, storetest.Open(t, t.TempDir()))
	plain, row := create(t, table, Token{})
	if err := table.Revoke(t.Context(), row.ID); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{plain, plain + "x", generate().Reveal()} {
		_, err := table.Authenticate(t.Context(), text)
		if err == nil || strings.Contains(err.Error(), text[len(prefix)+idLen:]) {
			t.Errorf("error %v", err)
		}
	}
}

// TestRevokeInOtherProcess revokes a token through a separate connection, as
// another replica does.
func TestRevokeInOtherProcess(t *testing.T) {
	dir := t.TempDir()
	for engine, dsn := range map[string]string{"sqlite": dir, "postgres": storetest.Database(t)} {
		t.Run(engine, func(t *testing.T) {
			server, command := New(Options{DB: storetest.Open(t, dsn)}), open(t, storetest.Open(t, dsn))
			for range 20 {
				plain, row := create(t, command, Token{Name: "new"})
				for range 3 { // the later ones rely on the first
					if _, err := server.Authenticate(t.Context(), plain); err != nil {
						t.Fatalf("a token made elsewhere: %v", err)
					}
				}
				if err := command.Revoke(t.Context(), row.ID); err != nil {
					t.Fatal(err)
				}
				if _, err := server.Authenticate(t.Context(), plain); !errors.Is(err, ErrRevoked) {
					t.Fatalf("a token revoked elsewhere: %v", err)
				}
			}
			if err := server.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestAuthenticateWithoutStore(t *testing.T) {
	rows := &troubled{tokenRows: storeRows{storetest.Open(t, t.TempDir())}}
	table := open(t, nil)
	table.rows = rows
	plain, _ := create(t, table, Token{})
	if _, err := table.Authenticate(t.Context(), plain); err != nil {
		t.Fatal(err)
	}
	rows.away = true
	req := Token{Profiles: []string{"a"}}
	_, entering := table.Authenticate(t.Context(), plain)
	_, listing := table.List(t.Context())
	_, _, creating := table.Create(t.Context(), req)
	_, _, ensuring := table.EnsureFirst(t.Context(), req)
	for what, err := range map[string]error{
		"Authenticate": entering, "List": listing, "Create": creating, "EnsureFirst": ensuring,
		"Revoke": table.Revoke(t.Context(), "x"),
	} {
		if !errors.Is(err, errAway) || errors.Is(err, ErrUnknown) {
			t.Errorf("%s: error %v", what, err)
		}
	}
	rows.away = false
	if _, err := table.Authenticate(t.Context(), plain); err != nil {
		t.Errorf("when it is back: %v", err)
	}
}

// TestAuthenticateInvalidRows refuses a row that another program has changed.
func TestAuthenticateInvalidRows(t *testing.T) {
	rows := &troubled{tokenRows: storeRows{storetest.Open(t, t.TempDir())}}
	table := open(t, nil)
	table.rows = rows
	plain, _ := create(t, table, Token{})
	other := hashOf(generate().Reveal())
	for name, odd := range map[string]func(*Token){
		"another token's":   func(k *Token) { k.Hash = other },
		"the hash cut off":  func(k *Token) { k.Hash = k.Hash[:8] },
		"no hash":           func(k *Token) { k.Hash = "" },
		"no profile":        func(k *Token) { k.Profiles = nil },
		"decides and calls": func(k *Token) { k.Approve = true },
	} {
		rows.odd = odd
		if row, err := table.Authenticate(t.Context(), plain); err == nil || row.ID != "" {
			t.Errorf("%s: let in as %+v", name, row)
		}
	}
}

func TestReadingCreatesNothing(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "none")
	db, err := store.OpenLazy(store.Options{DSN: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	table := New(Options{DB: db})
	if _, err := table.Authenticate(t.Context(), generate().Reveal()); !errors.Is(err, ErrUnknown) {
		t.Errorf("a token: %v", err)
	}
	if all, err := table.List(t.Context()); err != nil || len(all) != 0 {
		t.Errorf("%+v, %v", all, err)
	}
	if err := table.Revoke(t.Context(), "x"); !errors.Is(err, ErrUnknown) {
		t.Errorf("revoking: %v", err)
	}
	if err := table.Close(); err != nil {
		t.Error(err)
	}
	if !store.Missing(dir) {
		t.Error("a store was created")
	}
}

func TestUsesAreWritten(t *testing.T) {
	each(t, func(t *testing.T, db *store.Store) {
		table := New(Options{DB: db})
		plain, _ := create(t, table, Token{})
		enter := func() {
			t.Helper()
			if _, err := table.Authenticate(t.Context(), plain); err != nil {
				t.Fatal(err)
			}
		}
		enter()
		until(t, "the first use to be written", func() bool { return !list(t, table)[0].LastUsed.IsZero() })
		first := list(t, table)[0].LastUsed
		until(t, "the clock to move", func() bool { enter(); return time.Since(first) > 20*time.Millisecond })
		if now := list(t, table)[0].LastUsed; !now.Equal(first) {
			t.Errorf("within a minute it is written again: %s, then %s", first, now)
		}
		if err := table.Close(); err != nil {
			t.Fatal(err)
		}
		if last := list(t, open(t, db))[0].LastUsed; !last.After(first) {
			t.Errorf("after Close the last use is %s, want later than %s", last, first)
		}
	})
}

// TestAuthenticateDoesNotWaitForWrites authenticates a caller while the time of use cannot be written.
func TestAuthenticateDoesNotWaitForWrites(t *testing.T) {
	var began atomic.Int64
	release := make(chan struct{})
	rows := &troubled{tokenRows: storeRows{storetest.Open(t, t.TempDir())}, refuse: func(context.Context) error {
		began.Add(1)
		<-release
		return errAway
	}}
	table := New(Options{})
	table.useEvery, table.rows = 0, rows
	plain, _ := create(t, table, Token{})
	for range 20 {
		if _, err := table.Authenticate(t.Context(), plain); err != nil {
			t.Fatal(err)
		}
	}
	until(t, "the writing to begin", func() bool { return began.Load() > 0 })
	close(release)
	if err := table.Close(); err != nil && !errors.Is(err, errAway) {
		t.Error(err)
	}
}

func TestAuthenticateReturnsCopies(t *testing.T) {
	table := New(Options{DB: storetest.Open(t, t.TempDir())})
	table.cache.age = time.Hour
	plain, row := create(t, table, Token{Profiles: []string{"readonly"}})
	row.Profiles[0] = "full"
	for range 3 {
		got, err := table.Authenticate(t.Context(), plain)
		if err != nil {
			t.Fatal(err)
		}
		if got.Profiles[0] != "readonly" {
			t.Fatal("a caller has changed what the token may do")
		}
		got.Profiles[0] = "full"
	}
	if err := table.Close(); err != nil {
		t.Error(err)
	}
}

// TestCacheExpires has no answer believed for longer than a revocation waits.
func TestCacheExpires(t *testing.T) {
	r := cache{age: cacheAge, tokens: map[string]cached{}}
	asked := time.Now()
	r.put("h", Token{ID: "x"}, asked)
	for passed, want := range map[time.Duration]bool{0: true, cacheAge - 1: true, cacheAge: false, revokeWait: false,
		time.Hour: false} {
		if _, got := r.get("h", asked.Add(passed)); got != want {
			t.Errorf("after %s it is believed: %t", passed, got)
		}
	}
	if _, got := r.get("other", asked); got {
		t.Error("another one is believed")
	}
	for i := range 3 * maxCached {
		r.put(fmt.Sprint(i), Token{}, asked)
	}
	if len(r.tokens) > maxCached {
		t.Errorf("%d are remembered", len(r.tokens))
	}
}
