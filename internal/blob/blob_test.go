package blob_test

import (
	"bytes"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/blob"
	"github.com/mcp-tools/mcp-tools/internal/blob/s3test"
	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/store/storetest"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// A world is blobs in one place.
type world struct {
	blobs *blob.Blobs
	place blob.Place
	store *store.Store
	now   time.Time

	sealer blob.Sealer
}

// each runs a test with every place, with and without encryption.
func each(t *testing.T, f func(t *testing.T, w *world)) {
	t.Helper()
	places := map[string]func(t *testing.T, s *store.Store) blob.Place{
		"files": func(t *testing.T, _ *store.Store) blob.Place {
			return blob.NewFiles(filepath.Join(t.TempDir(), "blobs"))
		},
		"database": func(_ *testing.T, s *store.Store) blob.Place { return blob.NewDatabase(s) },
		"s3":       func(t *testing.T, _ *store.Store) blob.Place { _, place := newS3(t); return place },
	}
	for name, place := range places {
		t.Run(name, func(t *testing.T) {
			storetest.Each(t, func(t *testing.T, s *store.Store) { f(t, newWorld(t, s, place(t, s), nil)) })
			t.Run("sealed", func(t *testing.T) {
				s := storetest.Open(t, t.TempDir())
				f(t, newWorld(t, s, place(t, s), newSealer(t)))
			})
		})
	}
}

func newWorld(t *testing.T, s *store.Store, place blob.Place, sealer blob.Sealer) *world {
	w := &world{place: place, store: s, now: time.Now(), sealer: sealer}
	w.blobs = blob.New(blob.Options{
		Store: s, Place: place, Scratch: filepath.Join(t.TempDir(), "scratch"), Now: func() time.Time { return w.now },
		Sealer: sealer,
	})
	return w
}

// names returns the names of all blobs.
func (w *world) names(t *testing.T) (all []string) {
	t.Helper()
	err := w.place.Each(t.Context(), "99999", func(names []string) error {
		all = append(all, names...)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func read(t *testing.T, s *blob.Shelf, owner, name string) string {
	t.Helper()
	item, err := s.Get(t.Context(), owner, name)
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(item)
	if err = errors.Join(err, item.Close()); err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func missing(t *testing.T, s *blob.Shelf, owner, name string) bool {
	t.Helper()
	item, err := s.Get(t.Context(), owner, name)
	if err == nil {
		_ = item.Close()
	} else if !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return err != nil
}

func put(t *testing.T, s *blob.Shelf, owner, name, content string) {
	t.Helper()
	if err := s.Put(t.Context(), owner, name, "", strings.NewReader(content)); err != nil {
		t.Fatal(err)
	}
}

// noise returns n bytes that cannot be compressed.
func noise(n int) string {
	b := make([]byte, n)
	source := rand.NewChaCha8([32]byte{1})
	_, _ = source.Read(b)
	return string(b)
}

func TestContentsOfAllSizes(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		shelf := w.blobs.NewShelf("test", blob.Limits{})
		for _, size := range []int{0, 1, 4000, 512<<10 - 28, 512 << 10, 512<<10 + 1, 1<<20 + 17} {
			want := noise(size)
			name := fmt.Sprint(size)
			if err := shelf.Put(t.Context(), "ann", name, "about", iotest.HalfReader(strings.NewReader(want))); err != nil {
				t.Fatal(err)
			}
			if read(t, shelf, "ann", name) != want {
				t.Errorf("%d bytes: another content", size)
			}
			item, err := shelf.Get(t.Context(), "ann", name)
			if err != nil {
				t.Fatal(err)
			}
			if item.Size() != int64(size) || item.About != "about" {
				t.Errorf("%d bytes: size %d, about %q", size, item.Size(), item.About)
			}
			if from := size / 3; size > 10 { // a part
				part := make([]byte, min(1000, size-from))
				if _, err := item.ReadAt(part, int64(from)); err != nil || string(part) != want[from:from+len(part)] {
					t.Errorf("%d bytes: another part, %v", size, err)
				}
			}
			_ = item.Close()
		}
	})
}

func TestOwnersAreSeparate(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		shelf := w.blobs.NewShelf("test", blob.Limits{})
		other := w.blobs.NewShelf("other", blob.Limits{})
		put(t, shelf, "annabel", "a", "the same")
		put(t, shelf, "robert", "b", "the same")
		if !missing(t, shelf, "robert", "a") || !missing(t, other, "annabel", "a") {
			t.Error("a content is visible to others")
		}
		for _, name := range w.names(t) { // which may have random letters
			if strings.Contains(name, "annabel") || strings.Contains(name, "robert") {
				t.Errorf("%s names its owner", name)
			}
		}
		if n := len(w.names(t)); n != 2 {
			t.Errorf("%d blobs, want one for each owner", n)
		}
	})
}

func TestEqualContentsOfADayAreOneBlob(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		record := func(*store.Tx, blob.Ref) error { return nil }
		var names []string
		for range 2 {
			ref, err := w.blobs.Put(t.Context(), "ann", strings.NewReader("twice"), 100, false, record)
			if err != nil {
				t.Fatal(err)
			}
			names = append(names, ref.Name)
		}
		if names[0] != names[1] || len(w.names(t)) != 1 {
			t.Errorf("two blobs: %q", names)
		}
		w.now = w.now.Add(24 * time.Hour)
		ref, err := w.blobs.Put(t.Context(), "ann", strings.NewReader("twice"), 100, false, record)
		if err != nil || ref.Name == names[0] {
			t.Errorf("a blob of yesterday got a new reference, and could be swept: %v", err)
		}
	})
}

func TestReplacedContentsAreRemoved(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		shelf := w.blobs.NewShelf("test", blob.Limits{})
		put(t, shelf, "ann", "a", "first")
		put(t, shelf, "ann", "a", "second")
		if got := read(t, shelf, "ann", "a"); got != "second" {
			t.Errorf("the content is %q", got)
		}
		if n := len(w.names(t)); n != 1 {
			t.Errorf("%d blobs, want 1", n)
		}
	})
}

func TestLimits(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		shelf := w.blobs.NewShelf("test", blob.Limits{Item: 50, Count: 3, Bytes: 100})
		err := shelf.Put(t.Context(), "ann", "large", "", strings.NewReader(strings.Repeat("x", 51)))
		if !errors.Is(err, blob.ErrTooLarge) || !missing(t, shelf, "ann", "large") {
			t.Errorf("too large: %v", err)
		}
		for n := range 5 {
			put(t, shelf, "ann", fmt.Sprint(n), "0123456789")
		}
		put(t, shelf, "bob", "b", strings.Repeat("y", 50))
		if !missing(t, shelf, "ann", "1") || missing(t, shelf, "ann", "2") || missing(t, shelf, "ann", "4") {
			t.Error("the count of contents is not kept")
		}
		for n := range 3 {
			put(t, shelf, "ann", fmt.Sprint("large", n), strings.Repeat(fmt.Sprint(n), 50))
		}
		if !missing(t, shelf, "ann", "large0") || missing(t, shelf, "ann", "large1") || missing(t, shelf, "bob", "b") {
			t.Error("the bytes of contents are not kept")
		}
		if n := len(w.names(t)); n != 3 {
			t.Errorf("%d blobs, want 3", n)
		}
	})
}

func TestOwnersWithMostAreShrunkFirst(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		shelf := w.blobs.NewShelf("test", blob.Limits{All: 100})
		put(t, shelf, "bob", "b", strings.Repeat("b", 30))
		for n := range 20 {
			put(t, shelf, "ann", fmt.Sprint(n), strings.Repeat("a", 10))
		}
		if err := w.blobs.Sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
		if missing(t, shelf, "bob", "b") || !missing(t, shelf, "ann", "0") {
			t.Error("the owner with most was not shrunk")
		}
	})
}

func TestSweep(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		shelf := w.blobs.NewShelf("test", blob.Limits{})
		old := w.blobs.NewShelf("old", blob.Limits{Age: time.Hour})
		put(t, shelf, "ann", "kept", "kept")
		put(t, old, "ann", "old", "old")
		if err := w.store.Update(t.Context(), func(t *store.Tx) error {
			_, err := t.Exec(`UPDATE kept SET at = at - 7200000 WHERE noun = 'old'`)
			return err
		}); err != nil {
			t.Fatal(err)
		}
		crash := errors.New("killed between the bytes and the row")
		lost := func(content string) {
			_, err := w.blobs.Put(t.Context(), "ann", strings.NewReader(content), 100, false,
				func(*store.Tx, blob.Ref) error { return crash })
			if !errors.Is(err, crash) {
				t.Fatal(err)
			}
		}
		lost("lost")
		w.now = w.now.Add(49 * time.Hour)
		lost("lost today")
		put(t, shelf, "ann", "new", "new")
		if err := w.blobs.Sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
		want := 3
		if _, ok := w.place.(*blob.Database); ok {
			want = 2 // the bytes were not committed
		}
		if names := w.names(t); len(names) != want {
			t.Errorf("left after the sweep: %q, want %d", names, want)
		}
		if read(t, shelf, "ann", "kept") != "kept" || read(t, shelf, "ann", "new") != "new" || !missing(t, old, "ann", "old") {
			t.Error("the wrong contents were swept")
		}
	})
}

func TestConcurrentPuts(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		shelf := w.blobs.NewShelf("test", blob.Limits{Count: 4})
		var all sync.WaitGroup
		for g := range 4 {
			all.Go(func() {
				for n := range 5 {
					if err := shelf.Put(t.Context(), "ann", fmt.Sprint(g, n), "", strings.NewReader("x")); err != nil {
						t.Error(err)
					}
				}
			})
		}
		all.Wait()
		if n := len(w.names(t)); n == 0 || n > 4+4 { // on PostgreSQL concurrent puts do not see each other
			t.Errorf("%d blobs are left", n)
		}
	})
}

func TestEncryptedContents(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "blobs")
	s := storetest.Open(t, t.TempDir())
	sealer := newSealer(t)
	w := newWorld(t, s, blob.NewFiles(dir), sealer)
	shelf := w.blobs.NewShelf("test", blob.Limits{})
	content := strings.Repeat("plain text ", 100_000)
	put(t, shelf, "ann", "a", content)
	name := w.names(t)[0]
	path := filepath.Join(dir, filepath.FromSlash(name))
	stored, err := os.ReadFile(path)
	if err != nil || bytes.Contains(stored, []byte("plain text")) {
		t.Fatalf("the content is stored as it is, %v", err)
	}
	keyless := newWorld(t, s, blob.NewFiles(dir), nil).blobs.NewShelf("test", blob.Limits{})
	var known *tool.Error
	if _, err := keyless.Get(t.Context(), "ann", "a"); !errors.As(err, &known) || known.Kind != tool.Unavailable {
		t.Errorf("without the key: %v", err)
	}
	put(t, keyless, "ann", "b", "not encrypted")
	if got := read(t, shelf, "ann", "b"); got != "not encrypted" {
		t.Errorf("a content from before there was a key is %q", got)
	}
	// Two chunks change their places.
	for i := range 512 << 10 {
		stored[i], stored[512<<10+i] = stored[512<<10+i], stored[i]
	}
	if err := os.WriteFile(path, stored, 0o600); err != nil {
		t.Fatal(err)
	}
	item, err := shelf.Get(t.Context(), "ann", "a")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(item); err == nil {
		t.Error("changed bytes were read")
	}
}

func TestCopies(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		shelf := w.blobs.NewShelf("test", blob.Limits{})
		contents := map[string]string{"empty": "", "small": "x", "large": noise(1<<20 + 3)}
		for name, content := range contents {
			put(t, shelf, "ann", name, content)
		}
		other := t.TempDir()
		to := storetest.Open(t, other)
		if _, moved, err := w.store.CopyTo(t.Context(), to); err != nil || moved {
			t.Fatal(moved, err)
		}
		copied := blob.New(blob.Options{Store: to, Place: blob.NewFiles(filepath.Join(other, "blobs")), Sealer: w.sealer})
		if n, err := w.blobs.CopyTo(t.Context(), copied); err != nil || n != len(contents) {
			t.Fatal(n, err)
		}
		for name, content := range contents {
			if read(t, copied.NewShelf("test", blob.Limits{}), "ann", name) != content {
				t.Errorf("%s differs", name)
			}
		}
	})
}

// The bytes of a content are lost, but not its row.
func TestLostBytes(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		shelf := w.blobs.NewShelf("test", blob.Limits{})
		put(t, shelf, "ann", "a", "content")
		if err := w.place.Delete(t.Context(), w.names(t)...); err != nil {
			t.Fatal(err)
		}
		item, err := shelf.Get(t.Context(), "ann", "a")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadAll(item); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("lost bytes: %v", err)
		}
	})
}

func TestS3Faults(t *testing.T) {
	fake, place := newS3(t)
	w := newWorld(t, storetest.Open(t, t.TempDir()), place, nil)
	shelf := w.blobs.NewShelf("test", blob.Limits{})
	put(t, shelf, "ann", "before", "acknowledged")
	tests := []struct {
		name  string
		fault func(w http.ResponseWriter, r *http.Request) bool
	}{
		{"full", func(w http.ResponseWriter, r *http.Request) bool {
			s3test.Error(w, http.StatusInsufficientStorage, "XMinioStorageFull", "The disk is full.")
			return true
		}},
		{"full quota", func(w http.ResponseWriter, r *http.Request) bool {
			s3test.Error(w, http.StatusForbidden, "QuotaExceeded", "The quota is used up.")
			return true
		}},
		{"gone", func(w http.ResponseWriter, _ *http.Request) bool {
			panic(http.ErrAbortHandler)
		}},
		{"bucket gone", func(w http.ResponseWriter, _ *http.Request) bool {
			s3test.Error(w, http.StatusNotFound, "NoSuchBucket", "The bucket does not exist.")
			return true
		}},
		{"wrong key", func(w http.ResponseWriter, _ *http.Request) bool {
			s3test.Error(w, http.StatusForbidden, "SignatureDoesNotMatch", "The signature does not match.")
			return true
		}},
		{"cut in the middle", func(w http.ResponseWriter, r *http.Request) bool {
			w.Header().Set("Content-Length", "1000")
			w.Header().Set("ETag", `"0"`)
			_, _ = io.WriteString(w, "ack")
			return true
		}},
		{"not S3", func(w http.ResponseWriter, _ *http.Request) bool {
			w.WriteHeader(http.StatusBadGateway)
			_, _ = io.WriteString(w, "<html>")
			return true
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			fake.Fail(tt.fault)
			defer fake.Fail(nil)
			var known *tool.Error
			err := shelf.Put(t.Context(), "ann", tt.name, "", strings.NewReader("lost"))
			if tt.name != "cut in the middle" && (!errors.As(err, &known) || known.Kind != tool.Unavailable) {
				t.Errorf("put: %v", err)
			}
			if full := strings.HasPrefix(tt.name, "full"); err != nil && full != strings.Contains(known.Error(), "is full") {
				t.Errorf("put: %v", known)
			}
			item, err := shelf.Get(t.Context(), "ann", "before")
			if err == nil {
				_, err = io.ReadAll(item)
			}
			if !errors.As(err, &known) || known.Kind != tool.Unavailable {
				t.Errorf("get: %v", err)
			}
			fake.Fail(nil)
			if got := read(t, shelf, "ann", "before"); got != "acknowledged" {
				t.Errorf("afterwards the content is %q", got)
			}
		})
	}
}

// A slow service does not hold a call for longer than its context.
func TestSlowS3(t *testing.T) {
	fake, place := newS3(t)
	w := newWorld(t, storetest.Open(t, t.TempDir()), place, nil)
	shelf := w.blobs.NewShelf("test", blob.Limits{})
	began := make(chan struct{}, 10)
	fake.Fail(func(_ http.ResponseWriter, r *http.Request) bool {
		_, _ = io.Copy(io.Discard, r.Body) // otherwise the server does not see the end of the connection
		began <- struct{}{}
		<-r.Context().Done()
		return true
	})
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-began
		cancel()
	}()
	if err := shelf.Put(ctx, "ann", "a", "", strings.NewReader("x")); !errors.Is(err, context.Canceled) {
		t.Errorf("put: %v", err)
	}
}

// A service that never answers is not available after the time for a request.
func TestFrozenS3(t *testing.T) {
	frozen := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
	}))
	defer frozen.Close()
	w := newWorld(t, storetest.Open(t, t.TempDir()), s3At(t, frozen.URL, 50*time.Millisecond), nil)
	shelf := w.blobs.NewShelf("test", blob.Limits{})
	var known *tool.Error
	err := shelf.Put(t.Context(), "ann", "a", "", strings.NewReader("x"))
	if !errors.As(err, &known) || known.Kind != tool.Unavailable || !missing(t, shelf, "ann", "a") {
		t.Errorf("put: %v", err)
	}
}

// A sealer has an AES key.
type sealer struct{ cipher.AEAD }

func newSealer(t *testing.T) blob.Sealer {
	t.Helper()
	block, err := aes.NewCipher(make([]byte, 32))
	if err != nil {
		t.Fatal(err)
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		t.Fatal(err)
	}
	return sealer{aead}
}

func (s sealer) Seal(_ context.Context, bound string, plain []byte) ([]byte, error) {
	return s.AEAD.Seal(nil, nil, plain, []byte(bound)), nil
}

func (s sealer) Open(_ context.Context, bound string, sealed []byte) ([]byte, error) {
	return s.AEAD.Open(nil, nil, sealed, []byte(bound))
}
