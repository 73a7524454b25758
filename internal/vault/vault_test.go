package vault

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mcp-tools/mcp-tools/internal/store"
)

const (
	envKey  = "TEST_VAULT_KEY"
	envNext = "TEST_VAULT_KEY_NEXT"
)

// at returns a vault in dir. The pairs are its environment.
func at(dir string, place KeyStore, pairs ...string) *Vault {
	return New(Config{Store: storeAt(filepath.Join(filepath.Dir(dir), "store")), Dir: dir, Key: place, EnvKey: envKey, EnvNext: envNext, Getenv: func(name string) string {
		for i := 0; i < len(pairs); i += 2 {
			if pairs[i] == name {
				return pairs[i+1]
			}
		}
		return ""
	}})
}

// storeAt opens the SQLite store in a directory for each use.
func storeAt(dir string) func(context.Context, bool) (*store.Store, func() error, error) {
	return func(_ context.Context, create bool) (*store.Store, func() error, error) {
		if !create && store.Missing(dir) {
			return nil, nil, nil
		}
		s, err := store.OpenLazy(store.Options{DSN: dir})
		if err != nil {
			return nil, nil, err
		}
		return s, s.Close, nil
	}
}

// change changes the rows of a vault.
func change(t *testing.T, v *Vault, statement string, args ...any) {
	t.Helper()
	if err := v.with(t.Context(), false, func(s *store.Store) error {
		return s.Update(t.Context(), func(tx *store.Tx) error {
			_, err := tx.Exec(statement, args...)
			return err
		})
	}); err != nil {
		t.Fatal(err)
	}
}

func fresh(t *testing.T) *Vault { return at(filepath.Join(t.TempDir(), "data", "vault"), File) }

func set(t *testing.T, v *Vault, pairs ...string) {
	t.Helper()
	for i := 0; i < len(pairs); i += 2 {
		if _, _, err := v.Set(t.Context(), pairs[i], []byte(pairs[i+1])); err != nil {
			t.Fatal(err)
		}
	}
}

// holds fails unless the vault has the secrets with these values.
func holds(t *testing.T, v *Vault, pairs ...string) {
	t.Helper()
	for i := 0; i < len(pairs); i += 2 {
		if got, err := v.Get(t.Context(), pairs[i]); err != nil || string(got) != pairs[i+1] {
			t.Errorf("%s is %q, %v; want %q", pairs[i], got, err, pairs[i+1])
		}
	}
	if list, err := v.List(t.Context()); err != nil || len(list) != len(pairs)/2 {
		t.Errorf("the list is %v, %v; want %d", list, err, len(pairs)/2)
	}
}

// says fails unless err speaks of all the words.
func says(t *testing.T, err error, words ...string) {
	t.Helper()
	for _, word := range words {
		if err == nil || !strings.Contains(err.Error(), word) {
			t.Errorf("the error is %v, it does not say %q", err, word)
		}
	}
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func write(t *testing.T, path string, text []byte) {
	t.Helper()
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestSetAndGet(t *testing.T) {
	v := fresh(t)
	if list, err := v.List(t.Context()); err != nil || list == nil || len(list) > 0 {
		t.Errorf("a vault that is not there lists %v, %v", list, err)
	}
	if _, err := v.Get(t.Context(), "gone"); !errors.Is(err, ErrUnknown) {
		t.Errorf("a secret of no vault: %v", err)
	}
	if _, err := os.Stat(v.config.Dir); err == nil {
		t.Error("looking has made a vault")
	}
	long := strings.Repeat("x", MaxSecret)
	set(t, v, "b", "second", "a", "first\nof two lines", "C.d_e-f@g", long)
	holds(t, v, "a", "first\nof two lines", "b", "second", "C.d_e-f@g", long)
	list, err := v.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range list {
		names = append(names, e.Name)
		if age := time.Since(e.Created); age < 0 || age > time.Minute || e.Changed != e.Created {
			t.Errorf("%s was made %s and changed %s", e.Name, e.Created, e.Changed)
		}
	}
	if diff := cmp.Diff([]string{"C.d_e-f@g", "a", "b"}, names); diff != "" {
		t.Error(diff)
	}
	if err := v.Remove(t.Context(), "C.d_e-f@g"); err != nil {
		t.Fatal(err)
	}
	holds(t, at(v.config.Dir, File), "a", "first\nof two lines", "b", "second")
	if err := v.Remove(t.Context(), "C.d_e-f@g"); !errors.Is(err, ErrUnknown) {
		t.Errorf("a secret removed twice: %v", err)
	}
	if _, err := v.Get(t.Context(), "C.d_e-f@g"); !errors.Is(err, ErrUnknown) {
		t.Errorf("a secret that was removed: %v", err)
	}
}

func TestSetReplaces(t *testing.T) {
	v := fresh(t)
	set(t, v, "a", "old")
	made := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	if err := v.change(t.Context(), func(tx *store.Tx, k *key) error {
		return putSecret(tx, k, Entry{"a", made, made}, []byte("older"))
	}); err != nil {
		t.Fatal(err)
	}
	holds(t, v, "a", "older")
	e, replaced, err := v.Set(t.Context(), "a", []byte("new"))
	if err != nil || !replaced || e.Created != made || !e.Changed.After(made) {
		t.Errorf("%+v, replaced: %v, %v", e, replaced, err)
	}
	holds(t, v, "a", "new")
}

func TestSetRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		name, value, want string
	}{
		"no name":      {"", "value", "cannot be the name"},
		"path":         {"../a", "value", "cannot be the name"},
		"space":        {"a b", "value", "cannot be the name"},
		"line":         {"a\n", "value", "cannot be the name"},
		"long name":    {strings.Repeat("a", 65), "value", "up to 64 letters"},
		"dot first":    {".a", "value", "cannot be the name"},
		"empty":        {"a", "", "the secret is empty"},
		"zero byte":    {"a", "hunter2\x00", "zero byte"},
		"long value":   {"a", strings.Repeat("x", MaxSecret+1), "longer than 65536 bytes"},
		"foreign name": {"ä", "value", "cannot be the name"},
	} {
		v := fresh(t)
		_, _, err := v.Set(t.Context(), c.name, []byte(c.value))
		says(t, err, c.want)
		if err != nil && c.value != "" && c.value != "value" && strings.Contains(err.Error(), c.value) {
			t.Errorf("%s: the error contains the secret: %v", name, err)
		}
		if _, err := os.Stat(v.config.Dir); err == nil {
			t.Errorf("%s: a vault was made", name)
		}
	}
}

func TestSecretsAreEncrypted(t *testing.T) {
	v := fresh(t)
	secret := "hunter2" + "-hunter2-hunter2"
	set(t, v, "first", secret, "second", secret)
	if _, err := v.Rotate(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	var files []string
	root := filepath.Dir(v.config.Dir)
	if err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			files = append(files, path)
		}
		return err
	}); err != nil || len(files) < 3 {
		t.Fatalf("the files are %v, %v", files, err)
	}
	key, err := hex.DecodeString(strings.TrimSpace(string(read(t, filepath.Join(v.config.Dir, keyName)))))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range files {
		text := read(t, path)
		for _, form := range []string{secret, secret[8:], base64.StdEncoding.EncodeToString([]byte(secret)), string(key)} {
			if bytes.Contains(text, []byte(form)) {
				t.Errorf("%s has the secret or the key", path)
			}
		}
	}
	var sealed [][]byte
	if err := v.with(t.Context(), false, func(s *store.Store) (err error) {
		sealed, err = store.Select(t.Context(), s, "SELECT sealed FROM secret", nil, store.One[[]byte])
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if len(sealed) != 2 || bytes.Equal(sealed[0][12:], sealed[1][12:]) {
		t.Error("equal secrets look equal")
	}
	if info, err := os.Stat(v.config.Dir); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o700 {
		t.Errorf("the directory has mode %v, %v", info.Mode(), err)
	}
}

// TestForgedRows changes the store: an attacker can remove secrets, but one opens only under its own
// name and with its own dates, and a key only as itself.
func TestForgedRows(t *testing.T) {
	for name, statements := range map[string]string{
		"values swapped": "UPDATE secret SET sealed = (SELECT sealed FROM secret WHERE name = 'b')",
		"renamed":        "UPDATE secret SET name = 'a', created = created WHERE name = 'b'",
		"dated back":     "UPDATE secret SET changed = changed - 3600000",
		"made earlier":   "UPDATE secret SET created = created - 3600000",
		"cut short":      "UPDATE secret SET sealed = substr(sealed, 1, length(sealed) - 1)",
		"key renamed":    "UPDATE vault_key SET id = '0123456789abcdef'; UPDATE secret SET data_key = '0123456789abcdef'",
		"key changed":    "UPDATE vault_key SET wrapped = substr(wrapped, 1, length(wrapped) - 1)",
		"key of another": "UPDATE secret SET data_key = '0123456789abcdef'",
	} {
		t.Run(name, func(t *testing.T) {
			v := fresh(t)
			set(t, v, "a", "value of a", "b", "value of b")
			if name == "renamed" {
				change(t, v, "DELETE FROM secret WHERE name = 'a'")
			}
			for statement := range strings.SplitSeq(statements, ";") {
				change(t, v, statement)
			}
			v = at(v.config.Dir, File)
			_, getting := v.Get(t.Context(), "a")
			_, checking := v.Check(t.Context())
			_, rotating := v.Rotate(t.Context(), "")
			for what, err := range map[string]error{"get": getting, "check": checking, "rotate": rotating} {
				if err == nil || errors.Is(err, ErrUnknown) {
					t.Errorf("%s: %v", what, err)
				}
			}
		})
	}
}

func TestBrokenVault(t *testing.T) {
	seal := base64.StdEncoding.EncodeToString(make([]byte, overhead+5))
	entry := func(name string) string {
		return `{"name":"` + name + `","created":"2026-01-02T03:04:05Z","changed":"2026-01-02T03:04:05Z","sealed":"` +
			seal + `"}`
	}
	file := func(head string, entries ...string) string {
		return `{"version":1,"key":"0123456789abcdef",` + head + `"secrets":[` + strings.Join(entries, ",") + `]}`
	}
	for name, c := range map[string]struct{ text, want string }{
		"empty":         {"", "empty"},
		"blank":         {" \n", "empty"},
		"not JSON":      {"hello", "damaged"},
		"cut off":       {file("", entry("a"))[:90], "damaged"},
		"two documents": {file("") + file(""), "damaged"},
		"unknown word":  {file(`"more":1,`), "more"},
		"word twice":    {file(`"version":1,`), "damaged"},
		"no version":    {`{"key":"0123456789abcdef","secrets":[]}`, "version 0"},
		"later version": {strings.Replace(file(""), `"version":1`, `"version":3`, 1),
			"this program knows version 1"},
		"null":   {"null", "version 0"},
		"no key": {strings.Replace(file(""), "0123456789abcdef", "", 1), "does not name its key"},
		"a key like paths": {strings.Replace(file(""), "0123456789abcdef", "../../../../x/yz", 1),
			"does not name its key"},
		"name twice": {file("", entry("a"), entry("a")), "not in order"},
		"disorder":   {file("", entry("b"), entry("a")), "not in order"},
		"no name":    {file("", entry("")), "secret 1 of 1"},
		"bad name":   {file("", entry("a/b")), "name"},
		"no date": {file("", strings.Replace(entry("a"), `"created":"2026-01-02T03:04:05Z",`, "", 1)),
			"no valid date"},
		"odd date":        {file("", strings.Replace(entry("a"), `05Z`, "05.5Z", 1)), "no valid date"},
		"sealed nothing":  {file("", strings.Replace(entry("a"), seal, "", 1)), "0 bytes"},
		"not base64":      {file("", strings.Replace(entry("a"), seal, "%%%", 1)), "damaged"},
		"old key in use":  {file(`"retired":[{"key":"0123456789abcdef","place":"file"}],`), "old key"},
		"old key nowhere": {file(`"retired":[{"key":"0123456789abcdee","place":"moon"}],`), "old key"},
		"too many old":    {file(`"retired":[` + strings.Repeat(`{},`, maxRetired) + `{}],`), "old keys"},
		"too long":        {strings.Repeat(" ", maxFile+1), "the maximum is"},
	} {
		t.Run(name, func(t *testing.T) {
			v := fresh(t)
			set(t, v, "a", "value of a")
			key := read(t, filepath.Join(v.config.Dir, keyName))
			write(t, v.path(), []byte(c.text))
			_, getting := v.Get(t.Context(), "a")
			_, listing := v.List(t.Context())
			_, _, setting := v.Set(t.Context(), "a", []byte("new"))
			_, rotating := v.Rotate(t.Context(), "")
			_, checking := v.Check(t.Context())
			for _, err := range []error{getting, listing, setting, rotating, checking, v.Remove(t.Context(), "a")} {
				says(t, err, c.want, v.path())
			}
			if !bytes.Equal(read(t, v.path()), []byte(c.text)) {
				t.Error("the file was written over")
			}
			if !bytes.Equal(read(t, filepath.Join(v.config.Dir, keyName)), key) {
				t.Error("the key has changed")
			}
		})
	}
}

func FuzzDecode(f *testing.F) {
	k := newKey()
	now := time.Now().UTC().Truncate(time.Second)
	s, err := k.seal(Entry{"a", now, now}, []byte("x"))
	if err != nil {
		f.Fatal(err)
	}
	good, err := encode(&document{Version: version, Key: k.id(), Retired: []oldKey{{newKey().id(), Keyring}},
		Secrets: []sealed{s}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Add([]byte(`{"version":1,"key":"0123456789abcdef","secrets":[null]}`))
	f.Add([]byte(`{"version":1,"key":"0123456789abcdef","retired":[{}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		d, err := decode(text)
		if err != nil {
			return
		}
		again, err := encode(d)
		if err != nil {
			t.Fatalf("what was read cannot be written: %v", err)
		}
		back, err := decode(again)
		if err != nil {
			t.Fatalf("what was written cannot be read: %v\n%s", err, again)
		}
		if len(d.Secrets) != len(back.Secrets) || d.Key != back.Key {
			t.Errorf("changed on the way: %+v, %+v", d, back)
		}
		for i, s := range back.Secrets {
			if !bytes.Equal(k.bound(s.Entry), k.bound(d.Secrets[i].Entry)) ||
				!bytes.Equal(s.Sealed, d.Secrets[i].Sealed) {
				t.Errorf("%q changed on the way", s.Name)
			}
		}
	})
}
