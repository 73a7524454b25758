// Package history changes several files together, all or none, and keeps their old
// contents.
//
// It gives new content its name in one step, changes several names together, recovers after a
// process was killed in between, and keeps, finds and removes old contents. It works on
// directory handles, names and bytes. It knows neither the rights of callers nor the resolution
// of paths. Files in the data directory:
//
//	changes.jsonl   one record for each change, in order
//	copies/<sha256> old contents
//	pending/<id>    journals of unfinished changes, for recovery
//	locks/          locks of files, for goroutines and processes
//	published       how far the changes were published, if the history is shared
//
// Begin with [Store.Lock] and [Store.Begin]; Begin returns a [Change]. change.go has its life
// cycle, step.go the steps for each name, and recover.go the recovery. shared.go has the history
// of several servers on one store.
package history

import (
	"context"
	"crypto/rand"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/clock"
	"github.com/mcp-tools/mcp-tools/internal/workspace/root"
)

const (
	defaultAge     = 30 * 24 * time.Hour
	defaultBytes   = 1 << 30
	defaultRecords = 100_000

	catalogueName = "changes.jsonl"
	copiesDir     = "copies"
	pendingDir    = "pending"
	locksDir      = "locks"
	prunedName    = "pruned"

	bufferSize = 256 << 10
	letters    = "abcdefghijklmnopqrstuvwxyz234567"
)

// Limits bound the history. Zero selects the default.
type Limits struct {
	Age     time.Duration // how long a change can be undone; default 30 days
	Bytes   int64         // bytes of old contents; default 1 GiB
	Records int           // number of records; default 100,000
}

func (l Limits) withDefaults() Limits {
	if l.Age <= 0 {
		l.Age = defaultAge
	}
	if l.Bytes <= 0 {
		l.Bytes = defaultBytes
	}
	if l.Records <= 0 {
		l.Records = defaultRecords
	}
	return l
}

// Errors of changes and copies.
var (
	// ErrChanged means that another program has changed the file.
	ErrChanged = errors.New("the file was changed by another program")
	// ErrTooLarge means that one of several files is too large to be copied. The copy is
	// necessary on a file system that cannot exchange names.
	ErrTooLarge = errors.New("too large to be changed together with other files")
	// ErrDamaged means that a copy has changed since it was kept.
	ErrDamaged = errors.New("the copy is damaged")
)

// A Store is a directory with the history of many files. Several processes may use it
// at the same time. It keeps no file open, so there is no Close.
type Store struct {
	dir     string
	limits  Limits
	log     *slog.Logger
	shards  [shardCount + 1]chan struct{} // the last one is for the catalogue
	buffers sync.Pool
	shared  *Shared // nil: the history of this directory alone

	publishing chan struct{} // held while changes are published
	late       atomic.Bool   // some could not be published

	mu    sync.Mutex
	own   map[string]bool // pending changes of this process
	swaps map[uint64]bool // by device: whether two names can be exchanged
	count int             // changes since the limits were last checked
	added int64           // bytes kept since then
}

// New returns the store in a directory. It does not access the directory yet.
func New(dir string, l Limits, log *slog.Logger) *Store {
	s := &Store{dir: dir, limits: l.withDefaults(), log: log, publishing: make(chan struct{}, 1), own: map[string]bool{}, swaps: map[uint64]bool{}}
	for i := range s.shards {
		s.shards[i] = make(chan struct{}, 1)
	}
	s.buffers.New = func() any { return new([bufferSize]byte) }
	return s
}

func (s *Store) path(steps ...string) string {
	return filepath.Join(append([]string{s.dir}, steps...)...)
}

// prepare creates the directories if they do not exist.
func (s *Store) prepare() error {
	for _, dir := range []string{copiesDir, pendingDir, locksDir} {
		err := os.Mkdir(s.path(dir), 0o700)
		if notExist(err) {
			err = os.MkdirAll(s.path(dir), 0o700)
		}
		if err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	return nil
}

// copies opens the directory of old contents.
func (s *Store) copies() (*root.Root, error) { return root.Open(s.path(copiesDir)) }

func (s *Store) isOwn(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.own[id]
}

func (s *Store) claim(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.own[id] = true
}

func (s *Store) release(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.own, id)
}

// token returns n random letters and digits with five bits each.
func token(n int) string {
	b := make([]byte, n)
	_, _ = rand.Read(b) // it never fails
	for i := range b {
		b[i] = letters[b[i]&31]
	}
	return string(b)
}

const (
	tempPrefix = ".mcp-tools-"
	tempSuffix = ".tmp"
	tempLength = len(tempPrefix) + 10 + len(tempSuffix)
)

func tempName() string { return tempPrefix + token(10) + tempSuffix }

// Temporary reports whether a name is a temporary file of a change. Callers must not
// see such files.
func Temporary(base string) bool {
	return len(base) == tempLength && strings.HasPrefix(base, tempPrefix) && strings.HasSuffix(base, tempSuffix)
}

// pause waits a little, and longer each time.
func pause(ctx context.Context, wait *time.Duration) error {
	*wait = min(max(2**wait, 200*time.Microsecond), 10*time.Millisecond)
	_ = clock.Sleep(ctx, *wait)
	return ctx.Err()
}

func notExist(err error) bool { return errors.Is(err, fs.ErrNotExist) }
