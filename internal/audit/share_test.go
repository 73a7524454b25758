package audit

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/store"
)

// A reversed vault stands for the real one: what it has sealed opens only for the same bound.
type reversed struct{ err error }

func (r reversed) Seal(_ context.Context, bound string, plain []byte) ([]byte, error) {
	return append([]byte(bound+"\x00"), plain...), r.err
}

func (r reversed) Open(_ context.Context, bound string, sealed []byte) ([]byte, error) {
	if n := len(bound) + 1; r.err == nil && len(sealed) > n && string(sealed[:n]) == bound+"\x00" {
		return sealed[n:], nil
	}
	return nil, errors.New("does not open")
}

// TestSharedKey starts many logs with empty directories on one store: they get one key. One without the vault makes its
// own, and one with a key keeps it.
func TestSharedKey(t *testing.T) {
	s, err := store.Open(t.Context(), store.Options{DSN: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	keyIn := func(v Vault, dir string) string {
		l, err := Open(Options{DB: NewDB(s), Dir: dir, Vault: v})
		if err != nil {
			t.Fatal(err)
		}
		if err := l.Append(t.Context(), Record{Tool: "datetime"}); err != nil {
			t.Error(err)
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
		text, err := os.ReadFile(filepath.Join(dir, keyName))
		if err != nil {
			t.Error(err)
		}
		return string(text)
	}
	own := t.TempDir()
	alone := keyIn(nil, own)
	var all sync.WaitGroup
	var mu sync.Mutex
	keys, dirs := map[string]bool{}, []string{}
	for range 8 {
		dir := t.TempDir()
		dirs = append(dirs, dir)
		all.Go(func() {
			k := keyIn(reversed{}, dir)
			mu.Lock()
			defer mu.Unlock()
			keys[k] = true
		})
	}
	all.Wait()
	if len(keys) != 1 || keys[alone] {
		t.Errorf("%d keys", len(keys))
	}
	if k := keyIn(reversed{}, own); k != alone {
		t.Error("a key was replaced")
	}
	if k := keyIn(reversed{errors.New("no key")}, t.TempDir()); keys[k] || k == alone {
		t.Error("a machine without the key of the vault has the shared key")
	}
	if r, err := NewDB(s).Verify(t.Context(), dirs[0], nil); err != nil || !r.OK() || r.Records != 11 || len(r.Notes) != 2 {
		t.Errorf("%+v, %v", r, err)
	}
	// A machine puts its key into the store with a head, which these were too short for.
	had, err := loadKey(own)
	if err == nil {
		err = NewDB(s).share(t.Context(), reversed{}, had)
	}
	if err != nil {
		t.Fatal(err)
	}
	// With the keys in the store the chains of all but the machine without the vault are checked with their keys.
	if r, err := NewDB(s).Verify(t.Context(), dirs[0], reversed{}); err != nil || !r.OK() || r.Records != 11 || len(r.Notes) != 1 {
		t.Errorf("with the keys in the store: %+v, %v", r, err)
	}
	// A machine without its own key verifies the log, too.
	if err := os.Remove(filepath.Join(own, keyName)); err != nil {
		t.Fatal(err)
	}
	if k := keyIn(reversed{}, own); !keys[k] && k != alone {
		t.Error("a machine that has lost its key has made another one")
	}
	if err := s.Update(t.Context(), func(t *store.Tx) error {
		_, err := t.Exec(`UPDATE audit_record SET line = replace(line, 'datetime', 'datetimf') WHERE chain IN
			(SELECT id FROM audit_chain WHERE key IN (SELECT id FROM audit_key) ORDER BY id LIMIT 1)`)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if r, err := NewDB(s).Verify(t.Context(), own, reversed{}); err != nil || r.OK() {
		t.Errorf("a record that was changed: %+v, %v", r, err)
	}
}

func noShared(context.Context) (key, error) { return key{}, errors.New("there is none") }
