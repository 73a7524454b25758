package results

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"time"
)

func open(t testing.TB, dir string, l Limits) *Store {
	t.Helper()
	s, err := Open(dir, l)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func put(t testing.TB, s *Store, owner, text string) string {
	t.Helper()
	id, err := s.Put(owner, strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// age changes the time of a result, so that it looks older.
func age(t *testing.T, s *Store, owner, id string, by time.Duration) {
	t.Helper()
	then := time.Now().Add(-by)
	if err := os.Chtimes(filepath.Join(s.dir, fileName(owner, id)), then, then); err != nil {
		t.Fatal(err)
	}
}

func there(t *testing.T, s *Store, owner, id string) bool {
	t.Helper()
	item, err := s.Get(owner, id)
	if errors.Is(err, fs.ErrNotExist) {
		return false
	}
	if err = errors.Join(err, item.Close()); err != nil {
		t.Fatal(err)
	}
	return true
}

func TestKeptResults(t *testing.T) {
	s := open(t, t.TempDir(), Limits{})
	id := put(t, s, "me", "hello, world")
	item, err := s.Get("me", id)
	if err != nil {
		t.Fatal(err)
	}
	defer item.Close()
	part := make([]byte, 5)
	_, err = item.ReadAt(part, 7)
	if err != nil || string(part) != "world" || item.Size() != 12 {
		t.Errorf("%q of %d bytes: %v", part, item.Size(), err)
	}
	if !validID(id) || id == put(t, s, "me", "hello, world") {
		t.Errorf("handle %q", id)
	}
	for path, want := range map[string]os.FileMode{"": 0o700, fileName("me", id): 0o600} {
		info, err := os.Stat(filepath.Join(s.dir, path))
		if err != nil || info.Mode().Perm() != want {
			t.Errorf("%q: mode %v, want %v", path, info.Mode().Perm(), want)
		}
	}
}

func TestUnknownExpiredAndForeignResultsAreTheSame(t *testing.T) {
	s := open(t, t.TempDir(), Limits{Age: time.Hour})
	mine, old := put(t, s, "me", "x"), put(t, s, "me", "x")
	age(t, s, "me", old, 2*time.Hour)
	tests := map[string][2]string{
		"unknown":          {"me", idPrefix + strings.Repeat("a", 26)},
		"of another owner": {"you", mine},
		"without an owner": {"", mine},
		"expired":          {"me", old},
		"empty":            {"me", ""},
		"short":            {"me", mine[:20]},
		"upper case":       {"me", idPrefix + strings.ToUpper(mine[2:])},
		"a path":           {"me", "r_../../../../../../../../../"},
		"with the owner":   {"me", fileName("me", mine)},
	}
	for name, tt := range tests {
		_, getErr := s.Get(tt[0], tt[1])
		_, pageErr := s.Page(tt[0], tt[1], 0, 0)
		_, tailErr := s.Tail(tt[0], tt[1], 1, 0)
		_, grepErr := s.Grep(t.Context(), tt[0], tt[1], "x", 0, 1)
		want := fmt.Sprintf("no kept result %.80q: file does not exist", tt[1])
		for _, err := range []error{getErr, pageErr, tailErr, grepErr} {
			if !errors.Is(err, fs.ErrNotExist) || err.Error() != want {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	if !there(t, s, "me", mine) {
		t.Error("an own result was removed")
	}
}

func TestEviction(t *testing.T) {
	tests := []struct {
		name   string
		limits Limits
		sizes  []int // oldest first, put an hour apart
		kept   string
	}{
		{"within the limits", Limits{Count: 3}, []int{1, 1, 1}, "ccc"},
		{"too many", Limits{Count: 2}, []int{1, 1, 1, 1}, "--cc"},
		{"one at most", Limits{Count: 1}, []int{1, 1, 1}, "--c"},
		{"too large together", Limits{Bytes: 100}, []int{40, 40, 40, 10}, "-ccc"},
		{"a large one after small ones", Limits{Bytes: 100}, []int{1, 2, 3, 100}, "---c"},
		{"too old", Limits{Age: 150 * time.Minute}, []int{1, 1, 1, 1}, "-ccc"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			s := open(t, dir, tt.limits)
			var ids []string
			for _, size := range tt.sizes {
				for i, id := range ids {
					if there(t, s, "me", id) {
						age(t, s, "me", id, time.Duration(len(ids)-i)*time.Hour)
					}
				}
				ids = append(ids, put(t, s, "me", strings.Repeat("x", size)))
			}
			open(t, dir, tt.limits)
			got := ""
			for _, id := range ids {
				if there(t, s, "me", id) {
					got += "c"
				} else {
					got += "-"
				}
			}
			if got != tt.kept {
				t.Errorf("kept %s, want %s", got, tt.kept)
			}
			if entries, _ := os.ReadDir(s.dir); len(entries) != strings.Count(got, "c") {
				t.Errorf("%d files", len(entries))
			}
		})
	}
}

// TestOwnersThatKeepLessLoseNothing checks that the owner that keeps most loses results first, whichever owner
// adds one.
func TestOwnersThatKeepLessLoseNothing(t *testing.T) {
	for name, test := range map[string]struct {
		limits Limits
		size   int
	}{
		"by number": {Limits{Count: 6}, 1},
		"by size":   {Limits{Bytes: 60}, 10},
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t, t.TempDir(), test.limits)
			text := strings.Repeat("x", test.size)
			quiet := []string{put(t, s, "quiet", text), put(t, s, "quiet", text)}
			for i, id := range quiet {
				age(t, s, "quiet", id, time.Duration(9-i)*time.Hour)
			}
			var loud []string
			for range 20 {
				for i, id := range loud {
					if there(t, s, "loud", id) {
						age(t, s, "loud", id, time.Duration(len(loud)-i)*time.Minute)
					}
				}
				loud = append(loud, put(t, s, "loud", text))
			}
			for i, id := range loud {
				if got, want := there(t, s, "loud", id), i >= len(loud)-4; got != want {
					t.Errorf("result %d of the large owner is kept: %t, want %t", i, got, want)
				}
			}
			for range 2 {
				quiet = append(quiet, put(t, s, "quiet", text))
			}
			kept := 0
			for _, id := range quiet {
				if there(t, s, "quiet", id) {
					kept++
				}
			}
			if kept != 3 || !there(t, s, "quiet", quiet[3]) {
				t.Errorf("of four results the small owner has %d, want half", kept)
			}
		})
	}
}

func TestOpenAppliesItsLimits(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, Limits{})
	old, young := put(t, s, "me", "x"), put(t, s, "me", "y")
	age(t, s, "me", old, time.Hour)
	open(t, dir, Limits{Count: 1})
	if there(t, s, "me", old) || !there(t, s, "me", young) {
		t.Error("the older result was kept")
	}
}

func TestLinkInsteadOfDirectoryIsRefused(t *testing.T) {
	dir, elsewhere := t.TempDir(), t.TempDir()
	mine := filepath.Join(elsewhere, idPrefix+strings.Repeat("a", 26)+".x")
	if err := os.WriteFile(mine, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	err := errors.Join(os.Chtimes(mine, time.Unix(0, 0), time.Unix(0, 0)),
		os.Symlink(elsewhere, filepath.Join(dir, "results")))
	if err != nil {
		t.Skip("no links here: ", err)
	}
	if _, err := Open(dir, Limits{}); err == nil || !strings.Contains(err.Error(), "move it away") {
		t.Errorf("Open followed the link: %v", err)
	}
	if _, err := os.Stat(mine); err != nil {
		t.Errorf("a file behind the link was removed: %v", err)
	}
}

func TestFilesLeftByCrashesAreRemoved(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, Limits{})
	for name, by := range map[string]time.Duration{"old": 2 * time.Minute, "young": 10 * time.Second} {
		path := filepath.Join(s.dir, tempPrefix+name)
		then := time.Now().Add(-by)
		if err := errors.Join(os.WriteFile(path, []byte("x"), 0o600), os.Chtimes(path, then, then)); err != nil {
			t.Fatal(err)
		}
	}
	open(t, dir, Limits{})
	entries, err := os.ReadDir(s.dir)
	if err != nil || len(entries) != 1 || entries[0].Name() != tempPrefix+"young" {
		t.Errorf("files %v, %v", entries, err)
	}
}

func TestFailedPutLeavesNothing(t *testing.T) {
	s := open(t, t.TempDir(), Limits{ItemBytes: 10})
	broken := errors.New("broken")
	for want, r := range map[error]io.Reader{
		ErrTooLarge: strings.NewReader("eleven byte"),
		broken:      iotest.ErrReader(broken),
	} {
		if id, err := s.Put("me", r); !errors.Is(err, want) || id != "" {
			t.Errorf("handle %q, error %v, want %v", id, err, want)
		}
	}
	put(t, s, "me", "ten bytes.")
	if entries, err := os.ReadDir(s.dir); err != nil || len(entries) != 1 {
		t.Errorf("files %v, %v", entries, err)
	}
}

func TestInvalidLimits(t *testing.T) {
	for _, l := range []Limits{{Count: -1}, {Bytes: 10, ItemBytes: 11}, {Age: -1}} {
		if _, err := Open(t.TempDir(), l); err == nil {
			t.Errorf("%+v was accepted", l)
		}
	}
}

// TestStoresShareADirectory uses several stores on one directory, as several
// processes do.
func TestStoresShareADirectory(t *testing.T) {
	const stores, each, count = 4, 30, 50
	dir := t.TempDir()
	var wg sync.WaitGroup
	for p := range stores {
		s := open(t, dir, Limits{Count: count})
		wg.Go(func() {
			for i := range each {
				owner, text := fmt.Sprint("owner", p), fmt.Sprint("text", p, "-", i)
				id := put(t, s, owner, text)
				if p, err := s.Page(owner, id, 0, 0); err != nil || p.Text != text {
					t.Errorf("a result that was just put reads as %q: %v", p.Text, err)
				}
			}
		})
	}
	wg.Wait()
	entries, err := os.ReadDir(filepath.Join(dir, "results"))
	if err != nil || len(entries) != count {
		t.Errorf("%d files, want %d (%v)", len(entries), count, err)
	}
}

func TestOpenItemStaysReadableAfterEviction(t *testing.T) {
	s := open(t, t.TempDir(), Limits{Count: 1})
	item, err := s.Get("me", put(t, s, "me", "still here"))
	if err != nil {
		t.Fatal(err)
	}
	defer item.Close()
	put(t, s, "me", "another")
	if text, err := io.ReadAll(item); err != nil || string(text) != "still here" {
		t.Errorf("%q, %v", text, err)
	}
}
