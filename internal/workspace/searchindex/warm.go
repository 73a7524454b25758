// Package searchindex knows, for a root that is searched again and again, which of
// its files may match a pattern, so that a search reads only those.
//
// What it returns holds every file that a walk would find and that matches, at
// the time of the call; it never decides that one matches. Files that changed
// since they were indexed are always among them. That it is up to date it
// knows from the kernel: before each answer it reads the events of all changes
// that were made before (watch_linux.go). Where there are no events it can
// trust, it looks at the stamps of all files each time, and where there are no
// stamps that it can trust, it does not answer.
//
// Two kinds of change show no event and are noticed only by a look at all
// stamps that follows every few minutes: writing to a mapping of a file before
// the file is closed, and writing by another name that the file was given,
// later, in a place that is not watched.
//
// It does not know patterns (package trigram does), how the index lies on disk
// (package segment), or which names are seen (package tree). Begin with [New]
// and query.go; a [view] is the tree in memory, run.go what goes on in the
// background.
package searchindex

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"log/slog"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/workspace/root"
	"github.com/mcp-tools/mcp-tools/internal/workspace/searchindex/segment"
)

// Options say what to index and where to keep the index.
type Options struct {
	Root *root.Root
	// Skip takes names out, as for package tree. It is called concurrently and
	// must not change its mind.
	Skip func(name string, dir bool) bool
	// Store is a directory of our own, for one file for each root. Several
	// processes may share it. It must not be seen beneath Root.
	Store string
	// Memory bounds, roughly, what the tree takes in memory; 0 is 128 MiB. A
	// larger tree is not indexed.
	Memory int64
	Log    *slog.Logger // nil for none
	// Rules names what Skip does: an index made with other rules is not used.
	Rules string
}

// An Index answers for one root. Its methods may be called from many
// goroutines.
type Index struct {
	o         Options
	log       *slog.Logger
	path      string // of the segment
	key       segment.Digest
	intervals intervals
	used      atomic.Int64 // when it was asked last, Unix nanoseconds
	stale     atomic.Int64 // changed files, as far as the last answer knew

	mu         sync.RWMutex
	seg        *segment.Segment // nil: nothing is known of what is in files
	view       *view            // nil: not known to be up to date
	statAll    bool             // there is no view; each answer looks at everything
	staleFloor int              // changed files just after seg was made
	readers    sync.WaitGroup   // goroutines that read events
	started    bool
	closed     bool
	cancel     context.CancelFunc
	done       chan struct{} // closed when the background ended
	requestQueue
}

const defaultMemory = 128 << 20

// New returns an index that does nothing until Warm is called.
func New(o Options) *Index {
	o.Memory = cmp.Or(o.Memory, defaultMemory)
	x := &Index{o: o, log: o.Log, intervals: defaultIntervals(), requestQueue: newRequestQueue()}
	if x.log == nil {
		x.log = slog.New(slog.DiscardHandler)
	}
	x.key = sha256.Sum256([]byte("1\x00" + rootPath(o.Root) + "\x00" + o.Rules))
	x.path = filepath.Join(o.Store, hex.EncodeToString(x.key[:12])+extension)
	return x
}

// Start asks to load the index, or to build it, in the background. It returns
// at once.
func (x *Index) Start() {
	x.used.Store(time.Now().UnixNano())
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.closed || x.o.Store == "" {
		return
	}
	if !x.started || x.view == nil && !x.statAll {
		x.request()
	}
	if x.started {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	x.started, x.cancel, x.done = true, cancel, make(chan struct{})
	go x.run(ctx)
}

// Close ends what goes on in the background and gives back what the index
// holds. There are no answers afterwards.
func (x *Index) Close() error {
	x.mu.Lock()
	already := x.closed
	x.closed = true
	begun := x.started
	if begun {
		x.cancel()
	}
	x.mu.Unlock()
	if already {
		return nil
	}
	if begun {
		<-x.done
	}
	x.mu.Lock()
	err := errors.Join(x.closeView(), x.closeSegment())
	x.mu.Unlock()
	x.readers.Wait()
	return err
}

// Settle waits until the background has done what it was asked for, and
// returns whether there are answers now.
func (x *Index) Settle(ctx context.Context) bool {
	x.mu.RLock()
	done := x.done
	x.mu.RUnlock()
	if done == nil || !x.waitServed(ctx, done) {
		return false
	}
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.view != nil || x.statAll && x.seg != nil
}

// closeView gives up the view. The caller holds the lock.
func (x *Index) closeView() error {
	v := x.view
	x.view = nil
	if v == nil {
		return nil
	}
	return v.close()
}

// closeSegment gives up the segment. The caller holds the lock.
func (x *Index) closeSegment() error {
	s := x.seg
	x.seg = nil
	if s == nil {
		return nil
	}
	return s.Close()
}
