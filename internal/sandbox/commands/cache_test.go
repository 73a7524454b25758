package commands

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestLargeCachesAreReplaced(t *testing.T) {
	c := newCommands(t, func(o *Options) { o.Age = time.Hour })
	dir := filepath.Join(t.TempDir(), "user")
	write := func() {
		t.Helper()
		if err := os.MkdirAll(filepath.Join(dir, "npm"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "npm", "x"), []byte("12345"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	count := func(want int) {
		t.Helper()
		entries, err := os.ReadDir(filepath.Dir(dir))
		if err != nil || len(entries) != want {
			t.Errorf("there are %v, %v; want %d", entries, err, want)
		}
	}
	write()
	c.retireCache(dir, 5)
	count(1) // it is not too large
	c.retireCache(dir, 4)
	count(1) // an open sandbox may use the old one
	write()
	c.retireCache(dir, 4)
	count(2)
	old, err := filepath.Glob(dir + retiredSuffix + "*")
	if err != nil || len(old) != 2 {
		t.Fatal(old, err)
	}
	if err := os.Chtimes(old[0], time.Now(), time.Now().Add(-2*time.Hour)); err != nil {
		t.Fatal(err)
	}
	c.retireCache(dir, 4)
	count(1)
}
