package root

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

func TestSwaps(t *testing.T) {
	dir, r := testRoot(t)
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want := func(name, text string) {
		t.Helper()
		if got, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(got) != text {
			t.Errorf("%s: %q, %v, want %q", name, got, err, text)
		}
	}
	write("one", "1")
	write("two", "2")
	switch err := r.Exchange("one", "two"); {
	case errors.Is(err, errors.ErrUnsupported):
		t.Log("names cannot be exchanged here")
	case err != nil:
		t.Fatal(err)
	default:
		want("one", "2")
		want("two", "1")
		if err := r.Exchange("one", "none"); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("exchange with nothing: %v", err)
		}
	}
	write("one", "1")
	if err := r.RenameNew("one", "two"); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a name that is taken: %v", err)
	}
	if err := r.RenameNew("one", "a/three"); err != nil {
		t.Error(err)
	}
	want("a/three", "1")
	other, err := Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	switch err := r.Move("a/three", other, "four"); {
	case errors.Is(err, errors.ErrUnsupported):
		t.Log("files cannot be moved between roots here")
	case err != nil:
		t.Error(err)
	default:
		if _, err := other.Lstat("four"); err != nil {
			t.Error(err)
		}
	}
}
