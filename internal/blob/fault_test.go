package blob_test

import (
	"bufio"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/blob"
	"github.com/mcp-tools/mcp-tools/internal/blob/s3test"
	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/store/storetest"
)

// Settings of a child process.
const (
	childStore = "BLOB_TEST_STORE"
	childDir   = "BLOB_TEST_DIR"
	childS3    = "BLOB_TEST_S3"
)

// TestChild runs in a child process: it stores contents until it is killed, and prints the name of each.
func TestChild(t *testing.T) {
	dsn, dir := os.Getenv(childStore), os.Getenv(childDir)
	if dsn == "" {
		return // it runs in child processes only
	}
	s := storetest.Open(t, dsn)
	shelf := childShelf(t, s, childPlace(t, s, dir, os.Getenv(childS3)), dir)
	for n := 0; ; n++ {
		name := fmt.Sprint(os.Getpid(), "-", n)
		if err := shelf.Put(t.Context(), "ann", name, "", strings.NewReader(contentOf(name))); err != nil {
			t.Fatal(err)
		}
		fmt.Println("stored", name)
	}
}

// contentOf returns the content of a name. It is larger than the memory that a content is kept in.
func contentOf(name string) string { return strings.Repeat(name+" ", (1100<<10)/(len(name)+1)) }

func childPlace(t *testing.T, s *store.Store, dir, url string) blob.Place {
	t.Helper()
	switch {
	case url != "":
		return s3At(t, url, time.Minute)
	case dir != "":
		return blob.NewFiles(filepath.Join(dir, "blobs"))
	}
	return blob.NewDatabase(s)
}

func childShelf(t *testing.T, s *store.Store, place blob.Place, dir string) *blob.Shelf {
	t.Helper()
	if dir == "" {
		dir = t.TempDir()
	}
	return blob.New(blob.Options{Store: s, Place: place, Scratch: filepath.Join(dir, "scratch")}).NewShelf("test", blob.Limits{})
}

// TestKilledWhileStoring kills processes at some moment of a Put. Contents that were acknowledged are complete, and the
// sweep removes all others.
func TestKilledWhileStoring(t *testing.T) {
	t.Run("files", func(t *testing.T) { killedWhileStoring(t, t.TempDir(), t.TempDir(), "") })
	t.Run("database", func(t *testing.T) { killedWhileStoring(t, storetest.MigratedDatabase(t), "", "") })
	t.Run("s3", func(t *testing.T) {
		server := httptest.NewServer(new(s3test.Server))
		defer server.Close()
		killedWhileStoring(t, t.TempDir(), "", server.URL)
	})
}

func killedWhileStoring(t *testing.T, dsn, dir, url string) {
	s := storetest.Open(t, dsn)
	w := newWorld(t, s, childPlace(t, s, dir, url), nil)
	shelf := w.blobs.NewShelf("test", blob.Limits{})
	var stored []string
	for kill := 1; kill <= 2; kill++ {
		cmd := exec.Command(os.Args[0], "-test.run=^TestChild$")
		cmd.Env = append(os.Environ(), childStore+"="+dsn, childDir+"="+dir, childS3+"="+url)
		cmd.Stderr = os.Stderr
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		lines, before := bufio.NewScanner(out), len(stored)
		for lines.Scan() {
			name, ok := strings.CutPrefix(lines.Text(), "stored ")
			if !ok {
				t.Error(lines.Text())
				continue
			}
			if stored = append(stored, name); len(stored) == before+kill {
				if err := cmd.Process.Kill(); err != nil { // in the next Put
					t.Fatal(err)
				}
			}
		}
		_ = cmd.Wait()
		if len(stored) < before+kill {
			t.Fatal("the process has ended by itself")
		}
	}
	w.now = w.now.Add(72 * time.Hour)
	if err := w.blobs.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, name := range stored {
		if read(t, shelf, "ann", name) != contentOf(name) {
			t.Errorf("%s is not what was stored", name)
		}
	}
	rows, err := store.Select(t.Context(), s, "SELECT blob FROM kept WHERE noun = $1 ORDER BY blob", []any{"test"}, store.One[string])
	if err != nil {
		t.Fatal(err)
	}
	names := w.names(t)
	if slices.Sort(names); !slices.Equal(names, rows) {
		t.Errorf("%d blobs, and %d rows", len(names), len(rows))
	}
}

// TestDatabaseIsCut ends the connection of a Put in the middle of its transaction.
func TestDatabaseIsCut(t *testing.T) {
	s := storetest.Open(t, storetest.MigratedDatabase(t))
	w := newWorld(t, s, blob.NewDatabase(s), nil)
	content := noise(3 << 20)
	for _, again := range []bool{false, true} { // fails each time, or the first time only
		tries := 0
		ref, err := w.blobs.Put(t.Context(), "ann", strings.NewReader(content), 16<<20, true, func(tx *store.Tx, ref blob.Ref) error {
			if tries++; tries == 1 || !again {
				var cut bool
				return tx.Row("SELECT pg_terminate_backend(pg_backend_pid())", nil, &cut)
			}
			_, err := tx.Exec(`INSERT INTO kept (noun, owner, name, blob, digest, size, about, at)
				VALUES ('test', $1, 'a', $2, $3, $4, '', {{now}})`, blob.Owner("ann"), ref.Name, ref.Digest, ref.Size)
			return err
		})
		if names := w.names(t); err != nil && len(names) > 0 {
			t.Errorf("after %v there is %v", err, names)
		}
		if err == nil && !again {
			t.Error("a cut put was acknowledged")
		}
		if err == nil {
			if got := read(t, w.blobs.NewShelf("test", blob.Limits{}), "ann", "a"); got != content || len(ref.Name) == 0 {
				t.Error("the content is not what was stored")
			}
		}
	}
}
