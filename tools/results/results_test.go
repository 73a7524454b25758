package results

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/blob"
	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/store/storetest"
)

func open(t testing.TB, l blob.Limits) *Store {
	t.Helper()
	dir := t.TempDir()
	return New(blobs(t, storetest.Open(t, dir), dir), dir, l)
}

func blobs(_ testing.TB, s *store.Store, dir string) *blob.Blobs {
	return blob.New(blob.Options{
		Store: s, Place: blob.NewFiles(filepath.Join(dir, "blobs")), Scratch: filepath.Join(dir, "blobs", "tmp"),
	})
}

func put(t testing.TB, s *Store, owner, text string) string {
	t.Helper()
	id, err := s.Put(t.Context(), owner, strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func TestKeptResults(t *testing.T) {
	s := open(t, blob.Limits{})
	id := put(t, s, "me", "hello, world")
	item, err := s.Get(t.Context(), "me", id)
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
}

// Two servers with a data directory each and one store: a result of one is read on the other.
func TestResultsOfOtherReplicas(t *testing.T) {
	dsn := storetest.Database(t)
	var both []*Store
	for range 2 {
		s := storetest.Open(t, dsn)
		b := blob.New(blob.Options{Store: s, Place: blob.NewDatabase(s), Scratch: filepath.Join(t.TempDir(), "tmp")})
		both = append(both, New(b, t.TempDir(), blob.Limits{}))
	}
	text := strings.Repeat("line\n", 300_000)
	id := put(t, both[0], "me", text)
	page, err := both[1].Page(t.Context(), "me", id, 1_000_000, 10)
	if err != nil || page.Text != "line\nline\n" || page.Size != int64(len(text)) {
		t.Errorf("%+v, %v", page, err)
	}
}

func TestUnknownExpiredAndForeignResultsAreTheSame(t *testing.T) {
	s := open(t, blob.Limits{})
	mine, old := put(t, s, "me", "x"), put(t, s, "me", "x")
	setBack(t, s, old)
	tests := map[string][2]string{
		"unknown":          {"me", idPrefix + strings.Repeat("a", 26)},
		"of another owner": {"you", mine},
		"without an owner": {"", mine},
		"expired":          {"me", old},
		"empty":            {"me", ""},
		"short":            {"me", mine[:20]},
		"upper case":       {"me", idPrefix + strings.ToUpper(mine[2:])},
		"a path":           {"me", "r_../../../../../../../../../"},
	}
	for name, tt := range tests {
		_, getErr := s.Get(t.Context(), tt[0], tt[1])
		_, pageErr := s.Page(t.Context(), tt[0], tt[1], 0, 0)
		_, tailErr := s.Tail(t.Context(), tt[0], tt[1], 1, 0)
		_, grepErr := s.Grep(t.Context(), tt[0], tt[1], "x", 0, 1)
		want := fmt.Sprintf("no kept result %.80q: file does not exist", tt[1])
		for _, err := range []error{getErr, pageErr, tailErr, grepErr} {
			if !errors.Is(err, fs.ErrNotExist) || err.Error() != want {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	if _, err := s.Get(t.Context(), "me", mine); err != nil {
		t.Error("an own result was removed")
	}
}

// setBack makes a result older than results are kept.
func setBack(t *testing.T, s *Store, id string) {
	t.Helper()
	err := s.blobs.Store().Update(t.Context(), func(t *store.Tx) error {
		_, err := t.Exec("UPDATE kept SET at = at - $1 WHERE name = $2", (2 * Age).Milliseconds(), id)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestFailedPutLeavesNothing(t *testing.T) {
	s := open(t, blob.Limits{Item: 10})
	broken := errors.New("broken")
	for want, r := range map[error]io.Reader{
		blob.ErrTooLarge: strings.NewReader("eleven byte"),
		broken:           iotest.ErrReader(broken),
	} {
		if id, err := s.Put(t.Context(), "me", r); !errors.Is(err, want) || id != "" {
			t.Errorf("handle %q, error %v, want %v", id, err, want)
		}
	}
	put(t, s, "me", "ten bytes.")
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Put(ended, "me", strings.NewReader("x")); !errors.Is(err, context.Canceled) {
		t.Errorf("after the end of the call: %v", err)
	}
}

// Results from before there were blobs are readable until they expire, and then their directory is removed.
func TestResultsOfEarlierVersions(t *testing.T) {
	s := open(t, blob.Limits{})
	id := idPrefix + strings.Repeat("b", 26)
	sum := sha256.Sum256([]byte("me"))
	path := filepath.Join(s.old, id+"."+hex.EncodeToString(sum[:16]))
	if err := errors.Join(os.Mkdir(s.old, 0o700), os.WriteFile(path, []byte("old text"), 0o600)); err != nil {
		t.Fatal(err)
	}
	page, err := s.Page(t.Context(), "me", id, 4, 100)
	if err != nil || page.Text != "text" {
		t.Errorf("%+v, %v", page, err)
	}
	if _, err := s.Page(t.Context(), "you", id, 0, 1); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("another owner: %v", err)
	}
	if err := s.Sweep(); err != nil {
		t.Fatal(err)
	}
	then := time.Now().Add(-2 * Age)
	if err := os.Chtimes(path, then, then); err != nil {
		t.Fatalf("the sweep removed a result that is valid: %v", err)
	}
	if _, err := s.Page(t.Context(), "me", id, 0, 1); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("expired: %v", err)
	}
	if err := s.Sweep(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(s.old); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the directory is left: %v", err)
	}
}
