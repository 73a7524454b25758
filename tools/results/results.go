// Package results keeps tool results that are too long to return at once, and has the tool that reads them in parts.
//
// A result is a blob with a handle that cannot be guessed. It never changes, and every process on the store can read
// it. An unknown handle, another owner and an expired result all look like a missing one. Results from before there
// were blobs are files in DIR/results; they stay readable until they expire.
//
// It does not know the meaning of a result, and it does not scrub: callers of Put must. Begin
// with [Store.Put], then [Store.Page] and read.go.
package results

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/blob"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

const group = "results"

// Tools returns the tools of the group. They can be described without a store.
func Tools(s *Store, m tool.Marks) []tool.Tool {
	return []tool.Tool{
		tool.New(readResult{s, m}),
	}
}

// A Store keeps results. Its methods may be called concurrently.
type Store struct {
	blobs *blob.Blobs
	shelf *blob.Shelf
	old   string // the directory of results from before there were blobs
}

// Age is the age of results that are removed.
const Age = 24 * time.Hour

const noun = "result"

// New returns the store of results. dir is the data directory. New reads and writes nothing.
func New(b *blob.Blobs, dir string, l blob.Limits) *Store {
	l.Age = Age
	return &Store{b, b.NewShelf(noun, l), filepath.Join(dir, "results")}
}

const (
	idPrefix  = "r_"
	idLetters = "abcdefghijklmnopqrstuvwxyz234567"
	idLength  = len(idPrefix) + 26 // 130 bits
)

func validID(id string) bool {
	digits, ok := strings.CutPrefix(id, idPrefix)
	return ok && len(id) == idLength && strings.Trim(digits, idLetters) == ""
}

// Put keeps the text of r and returns a handle for owner to read it. To make room it removes the oldest results of
// the owner. A power cut may lose a result that was just put, but never leaves a part of it. For a text over the
// limit the error is blob.ErrTooLarge.
func (s *Store) Put(ctx context.Context, owner string, r io.Reader) (id string, err error) {
	id = idPrefix + strings.ToLower(rand.Text())
	if err := s.shelf.Put(ctx, owner, id, "", r); err != nil {
		return "", fmt.Errorf("keeping a result: %w", err)
	}
	return id, nil
}

// Get opens a result. The error is the same fs.ErrNotExist for one that does not exist, has expired or belongs to
// another owner. The caller closes the result.
func (s *Store) Get(ctx context.Context, owner, id string) (*Item, error) {
	if !validID(id) {
		return nil, unknown(id)
	}
	item, err := s.shelf.Get(ctx, owner, id)
	if errors.Is(err, fs.ErrNotExist) {
		return s.openFile(owner, id)
	}
	if err != nil {
		return nil, fmt.Errorf("reading a kept result: %w", err)
	}
	return &Item{item.SectionReader, item}, nil
}

// An Item is a kept result, open for reading.
type Item struct {
	*io.SectionReader
	io.Closer
}

// openFile opens a result from before there were blobs: a file whose name joins the handle and a digest of the owner.
func (s *Store) openFile(owner, id string) (*Item, error) {
	sum := sha256.Sum256([]byte(owner))
	file, err := os.Open(filepath.Join(s.old, id+"."+hex.EncodeToString(sum[:16])))
	if err != nil {
		return nil, unknown(id)
	}
	info, err := file.Stat()
	if err != nil || time.Since(info.ModTime()) > Age {
		return nil, errors.Join(unknown(id), file.Close())
	}
	return &Item{io.NewSectionReader(file, 0, info.Size()), file}, nil
}

// Sweep removes the directory of results from before there were blobs when all of them have expired.
func (s *Store) Sweep() error {
	entries, err := os.ReadDir(s.old)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, e := range entries {
		if info, err := e.Info(); err == nil && time.Since(info.ModTime()) < Age {
			return nil
		}
	}
	if info, statErr := os.Lstat(s.old); err == nil && statErr == nil && info.IsDir() {
		err = os.RemoveAll(s.old)
	}
	return err
}

func unknown(id string) error {
	return fmt.Errorf("no kept result %.80q: %w", id, fs.ErrNotExist)
}
