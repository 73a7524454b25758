// Package history changes files all or none, and keeps what they were before.
//
// It knows directory handles, names beneath them and bytes: how new content
// comes to be under a name in one step, how several names change together,
// what a process that was killed in between leaves behind, and where old
// content is kept, found again and let go of. It does not know who may change
// what, nor how a path was resolved. Files in the data directory:
//
//	changes.jsonl   what was done, a record a line, the latest last
//	copies/<sha256> what files were before
//	pending/<id>    changes on their way; a leftover tells what to clear up
//	locks/          who changes what, across goroutines and processes
//
// Begin with [Store.Lock] and [Store.Begin], which give a [Change]; its life is
// told in change.go, what happens to each name in step.go, and what is done
// about the dead in recover.go.
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
	"time"

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

// Limits bound what is kept. Zero stands for the usual.
type Limits struct {
	Age     time.Duration // how long a change can be taken back; 30 days
	Bytes   int64         // of old contents; 1 GiB
	Records int           // changes that are remembered; 100,000
}

// Why a change was not made.
var (
	// ErrChanged says that a file is not the one that the change was made for.
	ErrChanged = errors.New("the file was changed meanwhile")
	// ErrTooLarge says that one of several files is too large to be put back
	// if another fails, on a file system that cannot exchange names.
	ErrTooLarge = errors.New("too large to be changed together with others")
	// ErrDamaged says that a copy is not what it was when it was kept.
	ErrDamaged = errors.New("the copy is damaged")
)

// A Store is a directory with the history of many files. Several processes may
// use it at a time. It holds nothing open, so there is nothing to close.
type Store struct {
	dir     string
	limits  Limits
	log     *slog.Logger
	shards  [shardCount + 1]chan struct{} // the last one is for the catalogue
	buffers sync.Pool

	mu    sync.Mutex
	own   map[string]bool // pending changes of this process
	swaps map[uint64]bool // by device: whether two names can be exchanged
	count int             // changes since the last look at the limits
	added int64           // bytes kept since then
}

// New returns the store in a directory, and does not look at it yet.
func New(dir string, l Limits, log *slog.Logger) *Store {
	if l.Age <= 0 {
		l.Age = defaultAge
	}
	if l.Bytes <= 0 {
		l.Bytes = defaultBytes
	}
	if l.Records <= 0 {
		l.Records = defaultRecords
	}
	s := &Store{dir: dir, limits: l, log: log, own: map[string]bool{}, swaps: map[uint64]bool{}}
	for i := range s.shards {
		s.shards[i] = make(chan struct{}, 1)
	}
	s.buffers.New = func() any { return new([bufferSize]byte) }
	return s
}

func (s *Store) path(steps ...string) string {
	return filepath.Join(append([]string{s.dir}, steps...)...)
}

// prepare makes the directories, also when somebody has removed them.
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

// copies opens the directory of what files were.
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

// token makes n random letters and digits, five bits each.
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

// Temporary reports whether a name is one that a change uses on its way. Such
// files come and go, and are nobody's.
func Temporary(base string) bool {
	return len(base) == tempLength && strings.HasPrefix(base, tempPrefix) && strings.HasSuffix(base, tempSuffix)
}

// pause waits a little, and longer each time.
func pause(ctx context.Context, wait *time.Duration) error {
	*wait = min(max(2**wait, 200*time.Microsecond), 10*time.Millisecond)
	timer := time.NewTimer(*wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func notExist(err error) bool { return errors.Is(err, fs.ErrNotExist) }
