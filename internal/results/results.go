// Package results keeps tool results that were too long to hand over at once,
// so that they can be paged through.
//
// It knows how to store bytes under a handle that cannot be guessed, to whom a
// handle belongs, and how much may be kept. It does not know what a result is,
// and does not scrub: what is put in must be fit to come out. Begin with
// [Store.Put], then [Store.Page].
//
// A result is a file in DIR/results that never changes, named for its handle
// and its owner. So several processes can share the directory without a lock:
// what is wrong about a handle, its owner or its age is the same to see as a
// file that is not there, and of two that evict at once, the one that sees more
// removes what the other does. Room is made by whoever keeps most.
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
)

// ErrTooLarge is why a result was not kept: it is beyond [Limits].ItemBytes.
var ErrTooLarge = errors.New("the result is too large to be kept")

// Limits of what is kept. Zero takes the default.
type Limits struct {
	Count     int           // results; 200
	Bytes     int64         // of all of them; 200 MiB
	Age       time.Duration // of a result; 24 hours
	ItemBytes int64         // of one result; 16 MiB, at most Bytes
}

func (l Limits) complete() (Limits, error) {
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
		return l, fmt.Errorf("one kept result may have %d bytes, and all together %d; raise the second", l.ItemBytes, l.Bytes)
	}
	return l, nil
}

// A Store keeps results. Its methods may be called from many goroutines.
type Store struct {
	dir    string // DIR/results
	limits Limits
}

// Open makes the store in the data directory dir if need be, and removes what
// is beyond the limits and what a crash left behind.
func Open(dir string, l Limits) (*Store, error) {
	l, err := l.complete()
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
	idLen      = len(idPrefix) + 26 // 130 bits
	tempPrefix = ".new-"
)

// fileName joins a handle and its owner, who cannot be read off it.
func fileName(owner, id string) string {
	sum := sha256.Sum256([]byte(owner))
	return id + "." + hex.EncodeToString(sum[:16])
}

func validID(id string) bool {
	digits, ok := strings.CutPrefix(id, idPrefix)
	return ok && len(id) == idLen && strings.Trim(digits, idLetters) == ""
}

// Put keeps what r has to say and returns the handle under which owner can
// page through it. To make room the oldest results of whoever keeps most go. A
// power cut may take a result away that was just put, but never leaves a part
// of one.
func (s *Store) Put(owner string, r io.Reader) (id string, err error) {
	id = idPrefix + strings.ToLower(rand.Text())
	temp, err := os.CreateTemp(s.dir, tempPrefix+"*") // 0600
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
		return fmt.Errorf("%w: the most is %d bytes", ErrTooLarge, s.limits.ItemBytes)
	}
	return file.Sync()
}

// An Item is a kept result, open for reading. It stays readable when it is
// evicted meanwhile. Close it.
type Item struct {
	*io.SectionReader
	Made time.Time
	file *os.File
}

// Close ends the reading.
func (i *Item) Close() error { return i.file.Close() }

// Get opens a result. One that is not there, has expired, or is somebody
// else's is the same fs.ErrNotExist.
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
	return &Item{SectionReader: io.NewSectionReader(file, 0, info.Size()), Made: info.ModTime(), file: file}, nil
}

func unknown(id string) error {
	return fmt.Errorf("no kept result %.80q: %w", id, fs.ErrNotExist)
}
