package vault

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/store"
)

// oldVault writes the files of a version before, with the key in a file, and returns their directory.
func oldVault(t *testing.T, pairs ...string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "vault")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	k := newKey()
	d := &document{Version: version, Key: k.id()}
	made := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for i := 0; i < len(pairs); i += 2 {
		s, err := k.seal(Entry{pairs[i], made, made}, []byte(pairs[i+1]))
		if err != nil {
			t.Fatal(err)
		}
		d.Secrets = append(d.Secrets, s)
	}
	text, err := encode(d)
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, fileName), text)
	if err := (keyFile{path: filepath.Join(dir, keyName)}).write([]*key{k}); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestTakeOver takes over the files of a version before, by many at once and again, and from a copy on another machine
// after the secrets have changed.
func TestTakeOver(t *testing.T) {
	dir := oldVault(t, "a", "one", "b", "two", "c", "three")
	copied := filepath.Join(t.TempDir(), "vault")
	if err := os.CopyFS(copied, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{keyName, fileName} {
		if err := os.Chmod(filepath.Join(copied, name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	before := read(t, filepath.Join(dir, fileName))
	var all sync.WaitGroup
	for range 12 {
		all.Go(func() {
			if got, err := at(dir, File).Get(t.Context(), "b"); err != nil || string(got) != "two" {
				t.Errorf("%q, %v", got, err)
			}
		})
	}
	all.Wait()
	v := at(dir, File)
	holds(t, v, "a", "one", "b", "two", "c", "three")
	list, err := v.List(t.Context())
	if err != nil || list[0].Created.Year() != 2026 || list[0].Created != list[0].Changed {
		t.Errorf("%v, %v", list, err)
	}

	after := read(t, filepath.Join(dir, fileName))
	_, err = decode(after) // as a version before reads it
	says(t, err, "the file has version 2, this program knows version 1")
	if strings.Contains(string(after), "sealed") {
		t.Errorf("the file still has secrets: %s", after)
	}

	set(t, v, "a", "changed")
	if err := v.Remove(t.Context(), "c"); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, fileName), before) // as if the process had died before it replaced the file
	holds(t, v, "a", "changed", "b", "two")

	c := v.config
	c.Dir, c.Keys = copied, nil
	holds(t, New(c), "a", "changed", "b", "two")
	if err := os.Remove(filepath.Join(copied, keyName)); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(copied, fileName), before)
	c.Keys = nil
	_, err = New(c).Get(t.Context(), "a")
	says(t, err, "the secrets in "+filepath.Join(copied, fileName), "not available here")
	if !errors.Is(err, ErrLocked) || string(read(t, filepath.Join(copied, fileName))) != string(before) {
		t.Errorf("%v", err)
	}
}

// TestTakeOverWithBootstrap leaves the secret with the location of the store to the vault of the data directory.
func TestTakeOverWithBootstrap(t *testing.T) {
	dir := oldVault(t, "a", "one", "url", "postgres://x")
	c := at(dir, File).config
	c.Store, c.Only = storeAt(filepath.Join(t.TempDir(), "local")), []string{"url"}
	local := New(c)
	holds(t, local, "url", "postgres://x")
	c = at(dir, File).config
	c.Except = []string{"url"}
	holds(t, New(c), "a", "one")
	holds(t, local, "url", "postgres://x")
}

// TestTakeOverOfSharedFile leaves a file in a directory that the operator chose to other stores.
func TestTakeOverOfSharedFile(t *testing.T) {
	dir := oldVault(t, "a", "one")
	before := read(t, filepath.Join(dir, fileName))
	for range 2 {
		c := at(dir, File).config
		c.Store, c.Shared = storeAt(t.TempDir()), true
		v := New(c)
		holds(t, v, "a", "one")
		set(t, v, "a", "changed")
		if err := v.Remove(t.Context(), "a"); err != nil {
			t.Fatal(err)
		}
		holds(t, v)
	}
	if string(read(t, filepath.Join(dir, fileName))) != string(before) {
		t.Error("the file was changed")
	}
}

func TestSeal(t *testing.T) {
	v := fresh(t)
	if _, err := v.Seal(t.Context(), "blob 1", []byte("x")); !errors.Is(err, ErrNone) {
		t.Errorf("without a key: %v", err)
	}
	if err := errors.Join(v.Prepare(t.Context()), v.Prepare(t.Context())); err != nil {
		t.Fatal(err)
	}
	sealed, err := v.Seal(t.Context(), "blob 1", []byte("bytes of a blob"))
	if err != nil || len(sealed) != Overhead+len("bytes of a blob") {
		t.Fatalf("%d bytes, %v", len(sealed), err)
	}
	if _, err := v.Rotate(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	other := at(v.config.Dir, File)
	for _, v := range []*Vault{v, other} {
		if got, err := v.Open(t.Context(), "blob 1", sealed); err != nil || string(got) != "bytes of a blob" {
			t.Errorf("%q, %v", got, err)
		}
	}
	_, err = other.Open(t.Context(), "blob 2", sealed)
	says(t, err, `cannot decrypt "blob 2"`)
	for i := range sealed {
		broken := append([]byte(nil), sealed...)
		broken[i] ^= 1
		if _, err := at(v.config.Dir, File).Open(t.Context(), "blob 1", broken); err == nil {
			t.Errorf("byte %d was changed and it opens", i)
		}
	}
	if err := os.Remove(filepath.Join(v.config.Dir, keyName)); err != nil {
		t.Fatal(err)
	}
	locked := at(v.config.Dir, File)
	if _, err := locked.Open(t.Context(), "blob 1", sealed); !errors.Is(err, ErrLocked) {
		t.Errorf("without the key: %v", err)
	}
	if _, err := locked.Seal(t.Context(), "blob 1", nil); !errors.Is(err, ErrLocked) {
		t.Errorf("without the key: %v", err)
	}
}

func FuzzOpen(f *testing.F) {
	f.Add([]byte("\x010123456789abcdef" + strings.Repeat("x", 30)))
	v := New(Config{Store: func(context.Context, bool) (*store.Store, func() error, error) { return nil, nil, nil }})
	f.Fuzz(func(t *testing.T, sealed []byte) {
		if plain, err := v.Open(t.Context(), "b", sealed); err == nil {
			t.Errorf("%q is %q", sealed, plain)
		}
	})
}

// TestCopy reads from the copy beside the key, which every change replaces, and which does not count for another file.
func TestCopy(t *testing.T) {
	v := fresh(t)
	id := "file 1"
	v.config.File = func() string { return id }
	set(t, v, "a", "one", "b", "two")
	counted := 0
	c := v.config
	c.Keys = nil
	c.Store = func(ctx context.Context, create bool) (*store.Store, func() error, error) {
		counted++
		return v.config.Store(ctx, create)
	}
	reader := New(c)
	wants := func(name, want string, opened bool) {
		t.Helper()
		counted = 0
		got, err := reader.Get(t.Context(), name)
		if string(got) != want || (err == nil) != (want != "") || (counted > 0) != opened {
			t.Errorf("%s: %q, %v; the store was opened %d times", name, got, err, counted)
		}
	}
	wants("a", "one", false)
	if _, err := v.Rotate(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	wants("a", "one", false)
	set(t, v, "a", "changed")
	wants("a", "changed", false)
	if err := v.Remove(t.Context(), "b"); err != nil {
		t.Fatal(err)
	}
	wants("b", "", true)
	id = "file 2"
	wants("a", "changed", true)
	id = "file 1"
	text := read(t, v.copyPath())
	write(t, v.copyPath(), text[:len(text)/2])
	wants("a", "changed", true)
	if err := ForgetCopy(v.config.Dir); err != nil {
		t.Fatal(err)
	}
	wants("a", "changed", true)
}
