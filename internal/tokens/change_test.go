package tokens

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcp-tools/mcp-tools/policy"
)

func TestCreateRefuses(t *testing.T) {
	cases := []struct {
		name string
		req  Request
		want string
	}{
		{"no profile", Request{Name: "a"}, "name at least one"},
		{"empty profile", Request{Profiles: []string{"a", ""}}, "empty"},
		{"control character", Request{Name: "a\x1b[2J", Profiles: []string{"a"}}, "control characters"},
		{"line break", Request{User: "a\nb", Profiles: []string{"a"}}, "control characters"},
		{"not UTF-8", Request{Agent: "\xff", Profiles: []string{"a"}}, "not UTF-8"},
		{"too long", Request{Workspace: strings.Repeat("a", maxWord+1), Profiles: []string{"a"}}, "the most is 256"},
		{"profile too long", Request{Profiles: []string{strings.Repeat("a", maxWord+1)}}, "profile is 257 bytes"},
		{"expired", Request{Profiles: []string{"a"}, Expires: time.Now().Add(-time.Second)}, "past"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			table := open(t, dir)
			plain, _, err := table.Create(c.req)
			if err == nil || !strings.Contains(err.Error(), c.want) || plain.Reveal() != "" {
				t.Errorf("error %v, want one with %q", err, c.want)
			}
			if _, _, err := table.EnsureFirst(c.req); err == nil {
				t.Error("EnsureFirst takes it")
			}
			if _, err := os.Stat(filepath.Join(dir, fileName)); err == nil {
				t.Error("a table was written")
			}
		})
	}
}

func TestRevoke(t *testing.T) {
	table := open(t, t.TempDir())
	_, first := create(t, table, Request{Name: "twin"})
	_, second := create(t, table, Request{Name: "twin"})
	_, third := create(t, table, Request{}) // named by its id
	_, fourth := create(t, table, Request{Name: first.ID})

	err := table.Revoke("twin")
	if err == nil || !strings.Contains(err.Error(), first.ID+", "+second.ID) {
		t.Fatalf("ambiguous name: error %v does not name the candidates", err)
	}
	if err := table.Revoke("nobody"); !errors.Is(err, ErrUnknown) || !strings.Contains(err.Error(), `"nobody"`) {
		t.Fatalf("unknown name: error %v", err)
	}
	for _, name := range []string{first.ID, "twin", third.Name, "twin", first.ID} {
		if err := table.Revoke(name); err != nil {
			t.Fatalf("revoking %q: %v", name, err)
		}
	}
	rows, err := table.List()
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range rows {
		want := "revoked"
		if row.ID == fourth.ID {
			want = "active" // an id is never taken for another token's name
		}
		if got := row.State(time.Now()); got != want {
			t.Errorf("%s is %s, want %s", row.ID, got, want)
		}
	}
}

func TestEnsureFirst(t *testing.T) {
	dir := t.TempDir()
	table := open(t, dir)
	req := Request{Name: "first", Profiles: []string{policy.AnyProfile}}
	plain, created, err := table.EnsureFirst(req)
	if err != nil || !created {
		t.Fatalf("created %t, error %v", created, err)
	}
	if _, err := table.Authenticate(plain.Reveal()); err != nil {
		t.Fatal(err)
	}
	if err := table.Revoke("first"); err != nil {
		t.Fatal(err)
	}
	again, created, err := open(t, dir).EnsureFirst(req)
	if err != nil || created || again.Reveal() != "" {
		t.Errorf("a table with a revoked token gets another: created %t, error %v", created, err)
	}
}

func TestManyInOneProcess(t *testing.T) {
	dir := t.TempDir()
	server := open(t, dir)
	known, _ := create(t, server, Request{Name: "known"})
	var all sync.WaitGroup
	const tables, each = 4, 5
	for i := range tables {
		all.Go(func() {
			table, err := Open(dir)
			if err != nil {
				t.Error(err)
				return
			}
			for n := range each {
				name := fmt.Sprintf("%d-%d", i, n)
				if _, _, err := table.Create(Request{Name: name, Profiles: []string{"a"}}); err != nil {
					t.Error(err)
				}
				if _, err := server.Authenticate(known); err != nil {
					t.Error(err)
				}
				if n == 0 {
					if err := table.Revoke(name); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	all.Wait()
	rows, err := server.List()
	if err != nil {
		t.Fatal(err)
	}
	revoked := 0
	for _, row := range rows {
		if !row.Revoked.IsZero() {
			revoked++
		}
	}
	if len(rows) != tables*each+1 || revoked != tables {
		t.Errorf("%d rows, %d revoked; want %d and %d", len(rows), revoked, tables*each+1, tables)
	}
}

const (
	helperDir  = "TOKENS_TEST_DIR"
	helperName = "TOKENS_TEST_NAME"
)

// TestHelperProcess is the other process of TestManyProcesses.
func TestHelperProcess(t *testing.T) {
	dir := os.Getenv(helperDir)
	if dir == "" {
		t.Skip("runs only as a child")
	}
	table := open(t, dir)
	_, created, err := table.EnsureFirst(Request{Name: "first", Profiles: []string{policy.AnyProfile}})
	if err != nil {
		t.Fatal(err)
	}
	if created {
		fmt.Println("CREATED")
	}
	for n := range 5 {
		create(t, table, Request{Name: fmt.Sprintf("%s-%d", os.Getenv(helperName), n)})
	}
}

func TestManyProcesses(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	var all sync.WaitGroup
	var mu sync.Mutex
	var said strings.Builder
	const processes = 6
	for i := range processes {
		all.Go(func() {
			child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestHelperProcess$", "-test.v")
			child.Env = append(os.Environ(), helperDir+"="+dir, helperName+"="+fmt.Sprint(i))
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
	rows, err := open(t, dir).List()
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]int{}
	for _, row := range rows {
		names[row.Name]++
	}
	if len(rows) != processes*5+1 || len(names) != len(rows) || names["first"] != 1 {
		t.Errorf("the table has %d rows and %d names, want %d: %v", len(rows), len(names), processes*5+1, names)
	}
}
