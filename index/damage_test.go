package index

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

// TestDamageWhileOpen damages the files of an open index: a search reports it,
// and Reset repairs it.
func TestDamageWhileOpen(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("open files cannot be damaged here")
	}
	for name, harm := range map[string]func(path string) error{
		"cut":     func(path string) error { return os.Truncate(path, 0) },
		"removed": os.Remove,
	} {
		t.Run(name, func(t *testing.T) {
			x, err := Open(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			defer x.Close()
			if err := x.Apply(t.Context(), feedBatch(0)); err != nil {
				t.Fatal(err)
			}
			err = filepath.WalkDir(x.slot.store(), func(path string, d fs.DirEntry, err error) error {
				if err != nil || d.IsDir() || filepath.Ext(path) != ".zap" {
					return err
				}
				return harm(path)
			})
			if err != nil {
				t.Fatal(err)
			}
			_, err = x.Search(t.Context(), Query{Text: "number", Scopes: []string{"s"}})
			if name == "cut" && !errors.Is(err, ErrDamaged) {
				t.Errorf("%v", err)
			}
			if _, err := x.IDs("1"); name == "cut" && !errors.Is(err, ErrDamaged) {
				t.Errorf("%v", err)
			}
			if err := x.Reset(); err != nil {
				t.Fatal(err)
			}
			if err := x.Apply(t.Context(), feedBatch(0)); err != nil {
				t.Fatal(err)
			}
			if r, err := x.Search(t.Context(), Query{Text: "number", Scopes: []string{"s"}}); err != nil || len(r.Hits) == 0 {
				t.Errorf("%+v, %v", r, err)
			}
		})
	}
}

// TestResetIsTriedAgain makes a Reset fail, as a full disk does.
func TestResetIsTriedAgain(t *testing.T) {
	x, err := Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	dir := x.slot.dir
	x.slot.dir = filepath.Join(dir, "\x00") // where nothing can be
	if err := x.Reset(); err == nil {
		t.Fatal("Reset emptied a directory that cannot exist")
	}
	x.slot.dir = dir
	if err := x.Reset(); err != nil {
		t.Fatal(err)
	}
	if err := x.Apply(t.Context(), feedBatch(0)); err != nil {
		t.Fatal(err)
	}
}
