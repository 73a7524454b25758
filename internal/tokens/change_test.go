package tokens

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/store/storetest"
	"github.com/mcp-tools/mcp-tools/policy"
)

func TestCreateRefuses(t *testing.T) {
	cases := []struct {
		name string
		req  Token
		want string
	}{
		{"no profile", Token{Name: "a"}, "name at least one"},
		{"empty profile", Token{Profiles: []string{"a", ""}}, "empty"},
		{"control character", Token{Name: "a\x1b[2J", Profiles: []string{"a"}}, "control characters"},
		{"line break", Token{User: "a\nb", Profiles: []string{"a"}}, "control characters"},
		{"not UTF-8", Token{Agent: "\xff", Profiles: []string{"a"}}, "not UTF-8"},
		{"too long", Token{Workspace: strings.Repeat("a", maxName+1), Profiles: []string{"a"}}, "the maximum is 256"},
		{"profile too long", Token{Profiles: []string{strings.Repeat("a", maxName+1)}}, "profile is 257 bytes"},
		{"expired", Token{Profiles: []string{"a"}, Expires: time.Now().Add(-time.Second)}, "past"},
	}
	each(t, func(t *testing.T, db *store.Store) {
		table := open(t, db)
		for _, c := range cases {
			plain, _, err := table.Create(t.Context(), c.req)
			if err == nil || !strings.Contains(err.Error(), c.want) || plain.Reveal() != "" {
				t.Errorf("%s: error %v, want one with %q", c.name, err, c.want)
			}
			if _, _, err := table.EnsureFirst(t.Context(), c.req); err == nil {
				t.Errorf("%s: EnsureFirst takes it", c.name)
			}
		}
		if all := list(t, table); len(all) != 0 {
			t.Errorf("there are %+v", all)
		}
	})
}

func TestRevoke(t *testing.T) {
	each(t, func(t *testing.T, db *store.Store) {
		table := open(t, db)
		_, first := create(t, table, Token{Name: "twin"})
		_, second := create(t, table, Token{Name: "twin"})
		_, third := create(t, table, Token{}) // named by its id
		_, fourth := create(t, table, Token{Name: first.ID})

		err := table.Revoke(t.Context(), "twin")
		if err == nil || !strings.Contains(err.Error(), "2 tokens are named") || !strings.Contains(err.Error(),
			first.ID) || !strings.Contains(err.Error(), second.ID) {
			t.Fatalf("ambiguous name: error %v does not name the candidates", err)
		}
		if err := table.Revoke(t.Context(), "nobody"); !errors.Is(err, ErrUnknown) || !strings.Contains(err.Error(),
			`"nobody"`) {
			t.Fatalf("unknown name: error %v", err)
		}
		for _, name := range []string{first.ID, "twin", third.Name, "twin", first.ID} {
			if err := table.Revoke(t.Context(), name); err != nil {
				t.Fatalf("revoking %q: %v", name, err)
			}
		}
		for _, row := range list(t, table) {
			want := "revoked"
			if row.ID == fourth.ID {
				want = "active" // an id is never taken for another token's name
			}
			if got := row.State(time.Now()); got != want {
				t.Errorf("%s is %s, want %s", row.ID, got, want)
			}
		}
	})
}

func TestEnsureFirst(t *testing.T) {
	each(t, func(t *testing.T, db *store.Store) {
		table := open(t, db)
		req := Token{Name: "first", Profiles: []string{policy.AnyProfile}}
		plain, created, err := table.EnsureFirst(t.Context(), req)
		if err != nil || !created {
			t.Fatalf("created %t, error %v", created, err)
		}
		if _, err := table.Authenticate(t.Context(), plain.Reveal()); err != nil {
			t.Fatal(err)
		}
		if err := table.Revoke(t.Context(), "first"); err != nil {
			t.Fatal(err)
		}
		again, created, err := open(t, db).EnsureFirst(t.Context(), req)
		if err != nil || created || again.Reveal() != "" {
			t.Errorf("a table with a revoked token gets another: created %t, error %v", created, err)
		}
	})
}

// TestManyAtOnce has many processes' worth of tables begin at once.
func TestManyAtOnce(t *testing.T) {
	each(t, func(t *testing.T, db *store.Store) {
		var all sync.WaitGroup
		var firsts atomic.Int64
		const tables, each = 8, 5
		for i := range tables {
			all.Go(func() {
				table := New(Options{DB: db})
				if _, created, err := table.EnsureFirst(t.Context(),
					Token{Name: "first", Profiles: []string{"a"}}); err != nil {
					t.Error(err)
				} else if created {
					firsts.Add(1)
				}
				for n := range each {
					name := fmt.Sprintf("%d-%d", i, n)
					plain, _, err := table.Create(t.Context(), Token{Name: name, Profiles: []string{"a"}})
					if err != nil {
						t.Error(err)
					}
					if _, err := table.Authenticate(t.Context(), plain.Reveal()); err != nil {
						t.Error(err)
					}
					if n == 0 {
						if err := table.Revoke(t.Context(), name); err != nil {
							t.Error(err)
						}
					}
				}
				if err := table.Close(); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		revoked := 0
		made := list(t, open(t, db))
		for _, row := range made {
			if !row.Revoked.IsZero() {
				revoked++
			}
		}
		if len(made) != tables*each+1 || revoked != tables || firsts.Load() != 1 {
			t.Errorf("%d rows, %d revoked, %d firsts; want %d, %d and 1", len(made), revoked, firsts.Load(),
				tables*each+1, tables)
		}
	})
}

const (
	helperDSN  = "TOKENS_TEST_DSN"
	helperName = "TOKENS_TEST_NAME"
)

// TestHelperProcess is the other process of TestManyProcesses.
func TestHelperProcess(t *testing.T) {
	dsn := os.Getenv(helperDSN)
	if dsn == "" {
		t.Skip("runs only as a child")
	}
	table := open(t, storetest.Open(t, dsn))
	_, created, err := table.EnsureFirst(t.Context(), Token{Name: "first", Profiles: []string{policy.AnyProfile}})
	if err != nil {
		t.Fatal(err)
	}
	if created {
		fmt.Println("CREATED")
	}
	for n := range 5 {
		create(t, table, Token{Name: fmt.Sprintf("%s-%d", os.Getenv(helperName), n)})
	}
}

func TestManyProcesses(t *testing.T) {
	for engine, dsn := range map[string]string{
		"sqlite": filepath.Join(t.TempDir(), "data"), "postgres": storetest.Database(t),
	} {
		t.Run(engine, func(t *testing.T) {
			var all sync.WaitGroup
			var mu sync.Mutex
			var said strings.Builder
			const processes = 6
			for i := range processes {
				all.Go(func() {
					child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestHelperProcess$", "-test.v")
					child.Env = append(os.Environ(), helperDSN+"="+dsn, helperName+"="+fmt.Sprint(i))
					out, err := child.CombinedOutput()
					mu.Lock()
					defer mu.Unlock()
					said.Write(out)
					if err != nil {
						t.Errorf("child %d: %v\n%s", i, err, out)
					}
				})
			}
			all.Wait()
			if n := strings.Count(said.String(), "CREATED"); n != 1 {
				t.Errorf("%d processes say that they made the first token, want 1", n)
			}
			rows := list(t, open(t, storetest.Open(t, dsn)))
			names := map[string]int{}
			for _, row := range rows {
				names[row.Name]++
			}
			if len(rows) != processes*5+1 || len(names) != len(rows) || names["first"] != 1 {
				t.Errorf("the table has %d rows and %d names, want %d: %v", len(rows), len(names), processes*5+1, names)
			}
		})
	}
}
