package tokens

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mcp-tools/mcp-tools/internal/private"
)

func open(t *testing.T, dir string) *Table {
	t.Helper()
	table, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	table.lookEvery = 0 // tests do not wait
	t.Cleanup(func() {
		if err := table.Close(); err != nil {
			t.Error(err)
		}
	})
	return table
}

func create(t *testing.T, table *Table, req Request) (string, Row) {
	t.Helper()
	if req.Profiles == nil {
		req.Profiles = []string{"coding"}
	}
	plain, row, err := table.Create(req)
	if err != nil {
		t.Fatal(err)
	}
	return plain.Reveal(), row
}

func TestATokenStandsForWhatItWasMadeFor(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	table := open(t, dir)
	expires := time.Now().Add(time.Hour).UTC()
	plain, made := create(t, table, Request{
		Name: "laptop", Profiles: []string{"coding", "readonly"}, Agent: "builder",
		User: "ada", Workspace: "/srv/ada", Expires: expires,
	})
	create(t, table, Request{Name: "another"})

	row, err := open(t, dir).Authenticate(plain)
	if err != nil {
		t.Fatal(err)
	}
	want := Grant{
		Subject: "token:" + made.ID, ID: made.ID, Agent: "builder", User: "ada", Workspace: "/srv/ada",
		Profiles: []string{"coding", "readonly"}, ExpiresAt: expires,
	}
	if diff := cmp.Diff(want, row.Grant()); diff != "" {
		t.Errorf("grant (-want +got):\n%s", diff)
	}
	if row.LastUsed.IsZero() || row.State(time.Now()) != "active" {
		t.Errorf("row of a token just used: %+v", row)
	}
}

func TestRowsAreCopies(t *testing.T) {
	table := open(t, t.TempDir())
	plain, row := create(t, table, Request{Profiles: []string{"readonly"}})
	row.Profiles[0] = "full"
	listed, err := table.List()
	if err != nil {
		t.Fatal(err)
	}
	listed[0].Profiles[0] = "full"
	for range 3 { // the first use changes the file, so that it is read anew
		got, err := table.Authenticate(plain)
		if err != nil {
			t.Fatal(err)
		}
		if got.Profiles[0] != "readonly" {
			t.Fatal("a caller has changed what the token may do")
		}
		got.Profiles[0] = "full"
	}
}

func TestTokensThatDoNotCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := open(t, t.TempDir())
		good, row := create(t, table, Request{Name: "good"})
		revoked, _ := create(t, table, Request{Name: "revoked"})
		expiring, _ := create(t, table, Request{Name: "expiring", Expires: time.Now().Add(time.Minute)})
		if err := table.Revoke("revoked"); err != nil {
			t.Fatal(err)
		}
		body := row.ID + strings.Repeat("x", bodyLen-idLen)
		cases := []struct {
			name, plain string
			want        error
		}{
			{"good", good, nil},
			{"empty", "", ErrMalformed},
			{"prefix only", prefix, ErrMalformed},
			{"mistyped", good[:20] + "!" + good[21:], ErrMalformed},
			{"space around", " " + good, ErrMalformed},
			{"unknown", generate().Reveal(), ErrUnknown},
			{"known id, other rest", prefix + body + checksum(body), ErrUnknown},
			{"revoked", revoked, ErrRevoked},
			{"not expired yet", expiring, nil},
		}
		for _, c := range cases {
			if _, err := table.Authenticate(c.plain); !errors.Is(err, c.want) {
				t.Errorf("%s: error %v, want %v", c.name, err, c.want)
			}
		}
		time.Sleep(time.Minute) // of the bubble's clock: it has expired at this very moment
		got, err := table.Authenticate(expiring)
		if !errors.Is(err, ErrExpired) || got.ID != "" {
			t.Errorf("expired: row %+v, error %v", got, err)
		}
	})
}

func TestErrorsDoNotRepeatTheToken(t *testing.T) {
	table := open(t, t.TempDir())
	plain, row := create(t, table, Request{})
	if err := table.Revoke(row.ID); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{plain, plain + "x", generate().Reveal()} {
		_, err := table.Authenticate(text)
		if err == nil || strings.Contains(err.Error(), text[len(prefix)+idLen:]) {
			t.Errorf("error %v", err)
		}
	}
}

func TestAnotherProcessIsHeardAtTheNextRequest(t *testing.T) {
	dir := t.TempDir()
	server, command := open(t, dir), open(t, dir)
	plain, row := create(t, command, Request{Name: "new"})
	if _, err := server.Authenticate(plain); err != nil {
		t.Fatalf("a token made elsewhere: %v", err)
	}
	if err := command.Revoke(row.ID); err != nil {
		t.Fatal(err)
	}
	if _, err := server.Authenticate(plain); !errors.Is(err, ErrRevoked) {
		t.Fatalf("a token revoked elsewhere: %v", err)
	}
	if err := os.Remove(filepath.Join(dir, fileName)); err != nil {
		t.Fatal(err)
	}
	if _, err := server.Authenticate(plain); !errors.Is(err, ErrUnknown) {
		t.Fatalf("a token of a table that is gone: %v", err)
	}
}

// Versions of the same size, written while the clock stands still or runs
// backwards, must not be taken for one another.
func TestEveryVersionLooksNew(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, fileName)
	table := open(t, dir)
	create(t, table, Request{})
	future := time.Now().Add(24 * time.Hour)
	if err := os.Chtimes(path, future, future); err != nil {
		t.Fatal(err)
	}
	last := future
	for range 5 {
		if err := table.writeUses(lockPatience); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if !info.ModTime().After(last) {
			t.Fatalf("a version of %s follows one of %s", info.ModTime(), last)
		}
		last = info.ModTime()
	}
}

func TestUsesAreWrittenOnceAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		table := open(t, dir)
		plain, _ := create(t, table, Request{})
		versions := map[string]bool{}
		for range 121 { // two minutes and a second
			if _, err := table.Authenticate(plain); err != nil {
				t.Fatal(err)
			}
			text, err := os.ReadFile(filepath.Join(dir, fileName))
			if err != nil {
				t.Fatal(err)
			}
			versions[string(text)] = true
			time.Sleep(time.Second)
		}
		if len(versions) != 3 {
			t.Errorf("the file was written %d times in two minutes, want 3", len(versions))
		}
		last := time.Now().Add(-time.Second).UTC()
		if _, err := table.Authenticate(plain); err != nil {
			t.Fatal(err)
		}
		if err := table.Close(); err != nil {
			t.Fatal(err)
		}
		rows, err := open(t, dir).List()
		if err != nil {
			t.Fatal(err)
		}
		if !rows[0].LastUsed.After(last) {
			t.Errorf("after Close the last use is %s, want later than %s", rows[0].LastUsed, last)
		}
	})
}

// Whoever cannot write the table can still be let in.
func TestAuthenticateNeedsNoWriting(t *testing.T) {
	dir := t.TempDir()
	plain, _ := create(t, open(t, dir), Request{})
	table, err := Open(dir) // not closed: its last use cannot be written
	if err != nil {
		t.Fatal(err)
	}
	unlock, err := private.Lock(t.Context(), filepath.Join(dir, lockName), 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	if _, err := table.Authenticate(plain); err != nil {
		t.Fatal(err)
	}
}

func BenchmarkAuthenticate(b *testing.B) {
	table, err := Open(b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	var last Secret
	for range 20 {
		if last, _, err = table.Create(Request{Profiles: []string{"coding"}}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := table.Authenticate(last.Reveal()); err != nil {
			b.Fatal(err)
		}
	}
}

// When a revocation returns, no other table believes the token any more, although
// it does not look at the file for every request.
func TestRevocationOutlastsALook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		here, err := Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		there, err := Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		plain, row := create(t, there, Request{Name: "x"})
		for range 2 { // the first use writes to the file
			if _, err := here.Authenticate(plain); err != nil {
				t.Fatalf("a new token: %v", err)
			}
		}
		before := time.Now()
		if err := there.Revoke(row.ID); err != nil {
			t.Fatal(err)
		}
		if waited := time.Since(before); waited < lookEvery {
			t.Errorf("it returned after %s, others may believe the token for %s", waited, lookEvery)
		}
		if _, err := here.Authenticate(plain); !errors.Is(err, ErrRevoked) {
			t.Errorf("after the revocation: %v", err)
		}
	})
}
