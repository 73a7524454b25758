package audit

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// later makes l look for its file again at the next record.
func later(l *Log) { l.w.seen = time.Time{} }

// What is written to a file that has been removed is read by nobody.
func TestALogThatIsTakenAwayRefusesRecords(t *testing.T) {
	for name, take := range map[string]func(dir string) error{
		"removed, all":        os.RemoveAll,
		"removed, the log":    func(dir string) error { return os.RemoveAll(filepath.Join(dir, "audit")) },
		"another, in place":   replaceSegment,
		"a link in its place": linkSegment,
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "data")
			l, err := Open(dir, Options{HeadEvery: time.Hour, SyncEvery: time.Hour})
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = l.Close() }() // it has nowhere to note its head
			add(t, l, "before")
			if err := take(dir); err != nil {
				t.Skip("not while it is open, here: ", err)
			}
			for range 2 {
				later(l)
				refused(t, l, fs.ErrNotExist)
			}
		})
	}
}

func TestALogThatComesBackGoesOn(t *testing.T) {
	dir := t.TempDir()
	l := open(t, dir, Options{HeadEvery: time.Hour, SyncEvery: time.Hour})
	add(t, l, "before")
	own, away := filepath.Join(dir, "audit"), filepath.Join(dir, "away")
	if err := os.Rename(own, away); err != nil {
		t.Skip("not while it is open, here: ", err)
	}
	later(l)
	refused(t, l, fs.ErrNotExist)
	if err := os.Rename(away, own); err != nil {
		t.Fatal(err)
	}
	add(t, l, "after")
	if got := calls(t, dir); len(got) != 2 || got[1] != "after" {
		t.Errorf("rows %q", got)
	}
}

func TestALinkInThePlaceOfTheLogIsRefused(t *testing.T) {
	dir, elsewhere := t.TempDir(), t.TempDir()
	if err := os.Symlink(elsewhere, filepath.Join(dir, "audit")); err != nil {
		t.Skip("no links here: ", err)
	}
	l, err := Open(dir, Options{})
	if err == nil {
		_ = l.Close()
		t.Fatal("it was followed")
	}
	if entries, _ := os.ReadDir(elsewhere); len(entries) > 0 || !strings.Contains(err.Error(), "move it away") {
		t.Errorf("%v, and %d files lie at its end", err, len(entries))
	}
}

func segmentIn(dir string) (string, error) {
	found, err := filepath.Glob(filepath.Join(dir, "audit", "*-*"+segmentEnd))
	if err != nil || len(found) != 1 {
		return "", err
	}
	return found[0], nil
}

// replaceSegment puts a copy in the place of the segment.
func replaceSegment(dir string) error {
	path, err := segmentIn(dir)
	if err != nil {
		return err
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if err := os.Remove(path); err != nil {
		return err
	}
	return os.WriteFile(path, text, 0o600)
}

// linkSegment moves the segment away and leaves a link to it.
func linkSegment(dir string) error {
	path, err := segmentIn(dir)
	if err != nil {
		return err
	}
	away := filepath.Join(dir, "away")
	if err := os.Rename(path, away); err != nil {
		return err
	}
	return os.Symlink(away, path)
}
