package workspace

import (
	"errors"
	"log/slog"
	"path/filepath"
	"sync"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/workspace/searchindex"
)

// A directory gets an index if it has many files or walking it takes long.
const (
	minFiles   = 2_000
	minWalk    = 100 * time.Millisecond
	maxIndexes = 8
)

// indexes are the search indexes of the directories that callers search.
type indexes struct {
	memory int64  // bytes for all indexes together; 0 disables them
	store  string // the directory that keeps them
	denied func(m *mount, name string) bool
	log    *slog.Logger

	mu      sync.Mutex
	open    map[indexKey]*openIndex
	clock   int64
	closing sync.WaitGroup // of indexes that were evicted
	closed  bool
}

// An indexKey is a directory with the rules for names that its index goes by.
type indexKey struct {
	inode
	rules *nameRules
}

func keyOf(m *mount) indexKey { return indexKey{inode{m.id.Dev, m.id.Ino}, m.rules} }

type openIndex struct {
	*searchindex.Index
	used int64
}

func newIndexes(w *Workspace) *indexes {
	return &indexes{
		memory: w.o.IndexMemory, store: filepath.Join(w.o.Data, "files", "index"),
		denied: w.deniedInDir, log: w.o.Log, open: map[indexKey]*openIndex{},
	}
}

// get returns the index of a mount, or nil.
func (x *indexes) get(m *mount) *searchindex.Index {
	x.mu.Lock()
	defer x.mu.Unlock()
	found := x.open[keyOf(m)]
	if found == nil {
		return nil
	}
	x.clock++
	found.used = x.clock
	return found.Index
}

// maybeStart starts an index for a mount if walking it takes long.
func (x *indexes) maybeStart(m *mount, files int, took time.Duration) {
	if x.memory == 0 || m.id.Ino == 0 || files < minFiles && took < minWalk {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	key := keyOf(m)
	if x.closed || x.open[key] != nil {
		return
	}
	for former := range x.open {
		if former.inode == key.inode {
			x.drop(former)
		}
	}
	if len(x.open) >= maxIndexes {
		x.dropOldest()
	}
	index := searchindex.New(searchindex.Options{
		Root: m.root, Store: x.store, Memory: x.memory / maxIndexes * 2, Log: x.log, Rules: m.rules.digest,
		Skip: func(name string, _ bool) bool { return x.denied(m, name) },
	})
	x.clock++
	x.open[key] = &openIndex{index, x.clock}
	index.Start()
}

// dropOldest evicts the index that was not used for the longest time.
func (x *indexes) dropOldest() {
	var oldest indexKey
	least := x.clock + 1
	for key, i := range x.open {
		if i.used < least {
			oldest, least = key, i.used
		}
	}
	x.drop(oldest)
}

func (x *indexes) drop(key indexKey) {
	gone := x.open[key]
	delete(x.open, key)
	x.closing.Go(func() {
		if err := gone.Close(); err != nil {
			x.log.Debug("closing an index", "err", err)
		}
	})
}

func (x *indexes) close() error {
	x.mu.Lock()
	x.closed = true
	open := x.open
	x.open = nil
	x.mu.Unlock()
	var errs []error
	for _, i := range open {
		errs = append(errs, i.Close())
	}
	x.closing.Wait()
	return errors.Join(errs...)
}
