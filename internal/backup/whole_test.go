package backup

import (
	"archive/zip"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/blob"
	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/store/storetest"
)

// places returns an installation whose large contents are in files, or in the database.
func places(t *testing.T, inDatabase bool) Places {
	t.Helper()
	dir := t.TempDir()
	return Places{
		Data: dir, Vault: filepath.Join(dir, "vault"), Settings: filepath.Join(dir, "config.yaml"),
		Blobs: func(s *store.Store) (*blob.Blobs, func() error, error) {
			var in blob.Place = blob.NewFiles(filepath.Join(dir, "blobs"))
			if inDatabase {
				in = blob.NewDatabase(s)
			}
			return blob.New(blob.Options{Store: s, Place: in, Scratch: filepath.Join(dir, "tmp")}), func() error { return nil }, nil
		},
	}
}

func (p Places) shelf(t *testing.T, s *store.Store) *blob.Shelf { return shelfOf(t, p, s, "result") }

func shelfOf(t *testing.T, p Places, s *store.Store, noun string) *blob.Shelf {
	t.Helper()
	b, _, err := p.Blobs(s)
	if err != nil {
		t.Fatal(err)
	}
	return b.NewShelf(noun, blob.Limits{})
}

// Large contents are in a backup of everything, wherever they are, and can be read on another machine.
func TestLargeContentsAreRestored(t *testing.T) {
	small, large := "a small content", strings.Repeat("0123456789abcdef", 100<<10)
	for name, inDatabase := range map[string]bool{"files": false, "database": true} {
		t.Run(name, func(t *testing.T) {
			storetest.Each(t, func(t *testing.T, from *store.Store) {
				ctx, old := t.Context(), places(t, inDatabase)
				shelf := old.shelf(t, from)
				put := func(name, text string) {
					if err := shelf.Put(ctx, "ann", name, "about "+name, strings.NewReader(text)); err != nil {
						t.Fatal(err)
					}
				}
				put("small", small)
				put("large", large)
				put("lost", "its file is lost")
				made := shelfOf(t, old, from, blob.Cache+"test")
				if err := made.Put(ctx, "ann", "made again", "", strings.NewReader("cached")); err != nil {
					t.Fatal(err)
				}
				if !inDatabase {
					removeBlob(t, filepath.Join(old.Data, "blobs"), "its file is lost")
				}
				file := filepath.Join(t.TempDir(), "all.zip")
				if _, err := old.backup(ctx, from, file); err != nil {
					t.Fatal(err)
				}
				if z, err := openAll(file); err != nil {
					t.Fatal(err)
				} else if n := countBlobs(z); inDatabase && n != 0 || !inDatabase && n != 3 {
					t.Errorf("%d contents are beside the store", n)
				}
				next, to := places(t, inDatabase), storetest.Open(t, t.TempDir())
				if err := restore(ctx, next, to, file); err != nil {
					t.Fatal(err)
				}
				for name, want := range map[string]string{"small": small, "large": large} {
					item, err := next.shelf(t, to).Get(ctx, "ann", name)
					if err != nil {
						t.Fatal(name, err)
					}
					text, err := io.ReadAll(item)
					if err = errors.Join(err, item.Close()); err != nil || string(text) != want || item.About != "about "+name {
						t.Errorf("%s: %d bytes, %q, %v", name, len(text), item.About, err)
					}
				}
			})
		})
	}
}

// A backup with a content outside the directory is refused before anything is written.
func TestContentsOutsideAreRefused(t *testing.T) {
	p, s := places(t, false), storetest.Open(t, t.TempDir())
	file := filepath.Join(t.TempDir(), "all.zip")
	if _, err := p.backup(t.Context(), s, file); err != nil {
		t.Fatal(err)
	}
	z, err := zip.OpenReader(file)
	if err != nil {
		t.Fatal(err)
	}
	bad := filepath.Join(t.TempDir(), "bad.zip")
	out, err := os.Create(bad)
	if err != nil {
		t.Fatal(err)
	}
	w := zip.NewWriter(out)
	for _, f := range z.File {
		if err := w.Copy(f); err != nil {
			t.Fatal(err)
		}
	}
	_, err = w.Create("blobs/../../evil")
	if err := errors.Join(err, w.Close(), out.Close(), z.Close()); err != nil {
		t.Fatal(err)
	}
	next := places(t, false)
	if err := restore(t.Context(), next, storetest.Open(t, t.TempDir()), bad); err == nil {
		t.Error("it was restored")
	}
	if _, err := os.Stat(filepath.Join(filepath.Dir(next.Data), "evil")); err == nil {
		t.Error("the file is there")
	}
}

// restore restores a backup of everything as the verb does.
func restore(ctx context.Context, p Places, s *store.Store, file string) error {
	z, err := openAll(file)
	if err != nil {
		return err
	}
	defer z.Close()
	spots, err := p.spots(&z.Reader, false)
	if err != nil {
		return err
	}
	if _, err := restoreAll(ctx, s, spots, false); err != nil {
		return err
	}
	return p.restoreBlobs(ctx, &z.Reader, s)
}

// countBlobs counts the contents in a backup, and closes it.
func countBlobs(z *zip.ReadCloser) (n int) {
	for _, f := range z.File {
		if strings.HasPrefix(f.Name, blobMember) {
			n++
		}
	}
	_ = z.Close() // it was read only
	return n
}

// removeBlob removes the file with a content.
func removeBlob(t *testing.T, dir, content string) {
	t.Helper()
	removed := false
	err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		if err == nil && string(text) == content {
			removed, err = true, os.Remove(path)
		}
		return err
	})
	if err != nil || !removed {
		t.Fatalf("removed %v, %v", removed, err)
	}
}
