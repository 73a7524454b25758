// Package results keeps tool results that are too long to return at once, and has the tool that reads them in parts.
//
// A result is a file in DIR/results that never changes. Its name has a handle that cannot be guessed and a digest of
// the owner. So several processes share the directory without a lock: an unknown handle, another owner and an expired
// result all look like a missing file, and of two processes that evict at the same time, the one that sees more files
// removes at least what the other removes.
//
// It does not know the meaning of a result, and it does not scrub: callers of Put must. Begin
// with [Store.Put], then [Store.Page] and read.go.
package results

import (
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

	"github.com/mcp-tools/mcp-tools/internal/private"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

const group = "results"

// Tools returns the tools of the group. They can be described without a store.
func Tools(s *Store, m tool.Marks) []tool.Tool {
	return []tool.Tool{
		tool.New(readResult{s, m}),
	}
}

// ErrTooLarge is the error about a result that is longer than [Limits].ItemBytes.
var ErrTooLarge = errors.New("the result is too large to keep")

// Limits of kept results. Zero means the default.
type Limits struct {
	Count     int           // results; 200
	Bytes     int64         // of all results; 200 MiB
	Age       time.Duration // of a result; 24 hours
	ItemBytes int64         // of one result; 16 MiB, at most Bytes
}

func (l Limits) withDefaults() (Limits, error) {
	if l.Count < 0 || l.Bytes < 0 || l.Age < 0 || l.ItemBytes < 0 {
		return l, errors.New("a limit of the kept results is negative; use 0 for the default")
	}
	if l.Count == 0 {
		l.Count = 200
	}
	if l.Bytes == 0 {
		l.Bytes = 200 << 20
	}
	if l.Age == 0 {
		l.Age = 24 * time.Hour
	}
	if l.ItemBytes == 0 {
		l.ItemBytes = min(16<<20, l.Bytes)
	}
	if l.ItemBytes > l.Bytes {
		return l, fmt.Errorf("one kept result may have %d bytes, but all together only %d; raise the second limit",
			l.ItemBytes, l.Bytes)
	}
	return l, nil
}

// A Store keeps results. Its methods may be called concurrently.
type Store struct {
	dir    string // DIR/results
	limits Limits
}

// Open opens the store in the data directory dir, creating it if necessary, and removes expired
// results and the remains of a crash.
func Open(dir string, l Limits) (*Store, error) {
	l, err := l.withDefaults()
	if err != nil {
		return nil, err
	}
	own, err := private.MakeSub(dir, "results")
	if err != nil {
		return nil, fmt.Errorf("making the directory of the kept results: %w", err)
	}
	s := &Store{dir: own, limits: l}
	if err := s.evict(""); err != nil {
		return nil, err
	}
	return s, nil
}

const (
	idPrefix   = "r_"
	idLetters  = "abcdefghijklmnopqrstuvwxyz234567"
	idLength   = len(idPrefix) + 26 // 130 bits
	tempPrefix = ".new-"
)

// fileName joins a handle and a digest of the owner, from which the owner cannot be read.
func fileName(owner, id string) string {
	sum := sha256.Sum256([]byte(owner))
	return id + "." + hex.EncodeToString(sum[:16])
}

func validID(id string) bool {
	digits, ok := strings.CutPrefix(id, idPrefix)
	return ok && len(id) == idLength && strings.Trim(digits, idLetters) == ""
}

// Keep is Put for a string.
func (s *Store) Keep(owner, text string) (id string, err error) {
	return s.Put(owner, strings.NewReader(text))
}

// Put keeps the text of r and returns the handle under which owner can read it. To make room it
// removes the oldest results of the owners that keep most. A power cut may lose a result that
// was just put, but never leaves a part of it.
func (s *Store) Put(owner string, r io.Reader) (id string, err error) {
	id = idPrefix + strings.ToLower(rand.Text())
	temp, err := os.CreateTemp(s.dir, tempPrefix+"*") // mode 0600
	if err != nil {
		return "", fmt.Errorf("keeping a result: %w", err)
	}
	err = s.fill(temp, r)
	if err = errors.Join(err, temp.Close()); err == nil {
		err = os.Rename(temp.Name(), filepath.Join(s.dir, fileName(owner, id)))
	}
	if err != nil {
		return "", fmt.Errorf("keeping a result: %w", errors.Join(err, os.Remove(temp.Name())))
	}
	return id, s.evict(fileName(owner, id))
}

func (s *Store) fill(file *os.File, r io.Reader) error {
	n, err := io.Copy(file, io.LimitReader(r, s.limits.ItemBytes+1))
	if err != nil {
		return err
	}
	if n > s.limits.ItemBytes {
		return fmt.Errorf("%w: the maximum is %d bytes", ErrTooLarge, s.limits.ItemBytes)
	}
	return file.Sync()
}

// An Item is a kept result, open for reading. It stays readable if it is evicted. The caller closes it.
type Item struct {
	*io.SectionReader
	file *os.File
}

// Close closes the file.
func (i *Item) Close() error { return i.file.Close() }

// Get opens a result. The error is the same fs.ErrNotExist for one that does not exist, has expired or belongs to
// another owner.
func (s *Store) Get(owner, id string) (*Item, error) {
	if !validID(id) {
		return nil, unknown(id)
	}
	file, err := os.Open(filepath.Join(s.dir, fileName(owner, id)))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, unknown(id)
	}
	if err != nil {
		return nil, fmt.Errorf("reading a kept result: %w", err)
	}
	info, err := file.Stat()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("reading a kept result: %w", err), file.Close())
	}
	if time.Since(info.ModTime()) > s.limits.Age {
		return nil, errors.Join(unknown(id), file.Close())
	}
	return &Item{SectionReader: io.NewSectionReader(file, 0, info.Size()), file: file}, nil
}

func unknown(id string) error {
	return fmt.Errorf("no kept result %.80q: %w", id, fs.ErrNotExist)
}
