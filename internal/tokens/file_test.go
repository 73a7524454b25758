package tokens

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTheTableIsPrivateAndHasOnlyHashes(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "deep", "data")
	table := open(t, dir)
	plain, row := create(t, table, Request{Name: "a"})
	text, err := os.ReadFile(filepath.Join(dir, fileName))
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(text), plain[len(prefix)+idLen:][:8]) {
		t.Error("the file has the token")
	}
	if !strings.Contains(string(text), `"id": "`+row.ID+`"`) {
		t.Errorf("the file does not have the id:\n%s", text)
	}
	if runtime.GOOS == "windows" {
		return
	}
	for name, want := range map[string]os.FileMode{".": 0o700, fileName: 0o600, lockName: 0o600} {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if got := info.Mode().Perm(); got != want {
			t.Errorf("%s has mode %#o, want %#o", name, got, want)
		}
	}
}

func TestLeftoversOfACrashDoNoHarm(t *testing.T) {
	dir := t.TempDir()
	left := filepath.Join(dir, fileName+".new")
	if err := os.WriteFile(left, []byte(`{"version":1,`), 0o644); err != nil {
		t.Fatal(err)
	}
	table := open(t, dir)
	plain, _ := create(t, table, Request{})
	if _, err := table.Authenticate(plain); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(left); err == nil {
		t.Error("the leftover is still there")
	}
}

func TestABrokenTableIsAnErrorEverywhere(t *testing.T) {
	hash := strings.Repeat("ab", 32)
	entry := func(id, more string) string {
		return `{"id":"` + id + `","name":"n","profiles":["a"],"created":"2026-01-02T03:04:05Z","sha256":"` + hash + `"` + more + `}`
	}
	table := func(entries ...string) string {
		return `{"version":1,"tokens":[` + strings.Join(entries, ",") + `]}`
	}
	cases := []struct{ name, text, want string }{
		{"empty", "", "empty"},
		{"blank", " \n", "empty"},
		{"not JSON", "hello", "invalid"},
		{"cut off", table(entry("AAAAAAAA", ""))[:60], "EOF"},
		{"two documents", table() + table(), "after"},
		{"unknown word", table(entry("AAAAAAAA", `,"revokd":"2026-01-02T03:04:05Z"`)), "revokd"},
		{"word in capitals", table(entry("AAAAAAAA", `,"Revoked":"2026-01-02T03:04:05Z"`)), "Revoked"},
		{"word twice", table(entry("AAAAAAAA", `,"id":"BBBBBBBB"`)), "duplicate"},
		{"id twice", table(entry("AAAAAAAA", ""), entry("AAAAAAAA", "")), "two tokens"},
		{"short id", table(entry("AAA", "")), "8 characters"},
		{"bad hash", strings.Replace(table(entry("AAAAAAAA", "")), hash, "abc", 1), "64 hexadecimal"},
		{"no date", strings.Replace(table(entry("AAAAAAAA", "")), `"created":"2026-01-02T03:04:05Z",`, "", 1), "created"},
		{"no profile", strings.Replace(table(entry("AAAAAAAA", "")), `["a"]`, `[]`, 1), "no profile"},
		{"no version", `{"tokens":[]}`, "version 0"},
		{"later version", `{"version":2,"tokens":[]}`, "version 2"},
		{"null", `null`, "version 0"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, fileName)
			running := open(t, dir)
			if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
				t.Fatal(err)
			}
			req := Request{Profiles: []string{"a"}}
			_, opening := Open(dir)
			_, listing := running.List()
			_, entering := running.Authenticate(generate().Reveal())
			_, _, creating := running.Create(req)
			_, _, ensuring := running.EnsureFirst(req)
			for what, err := range map[string]error{
				"Open": opening, "List": listing, "Authenticate": entering,
				"Create": creating, "EnsureFirst": ensuring, "Revoke": running.Revoke("AAAAAAAA"),
			} {
				if err == nil || !strings.Contains(err.Error(), c.want) ||
					!strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "restore it") {
					t.Errorf("%s: error %v, want one with %q, the path and advice", what, err, c.want)
				}
			}
			if text, err := os.ReadFile(path); err != nil || string(text) != c.text {
				t.Errorf("the file was changed to %q, %v", text, err)
			}
		})
	}
}

func TestATableThatOthersMayUseIsRefused(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("modes say nothing here")
	}
	dir := t.TempDir()
	create(t, open(t, dir), Request{})
	path := filepath.Join(dir, fileName)
	for _, mode := range []os.FileMode{0o644, 0o660, 0o602} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(dir); err == nil || !strings.Contains(err.Error(), "chmod 600") {
			t.Errorf("mode %#o: error %v", mode, err)
		}
	}
	if err := os.Chmod(path, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(dir); err == nil || !strings.Contains(err.Error(), dir) {
		t.Errorf("a directory for everybody: error %v", err)
	}
}

func FuzzDecode(f *testing.F) {
	plain := generate()
	_, row := issue(Request{Name: "a", Profiles: []string{"b"}}, nil)
	row.hash = plain.hash()
	good, err := encode([]Row{row})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Add([]byte(`{"version":1,"tokens":[null]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		rows, err := decode(text)
		if err != nil {
			return
		}
		again, err := encode(rows)
		if err != nil {
			t.Fatalf("what was read cannot be written: %v", err)
		}
		back, err := decode(again)
		if err != nil {
			t.Fatalf("what was written cannot be read: %v\n%s", err, again)
		}
		if diff := cmp.Diff(rows, back, cmp.AllowUnexported(Row{})); diff != "" {
			t.Errorf("changed on the way (-before +after):\n%s", diff)
		}
	})
}
