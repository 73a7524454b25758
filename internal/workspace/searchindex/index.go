// Package searchindex finds, for a root that is searched often, the files that may match a
// pattern, so that a search reads only those.
//
// The result has every file that a walk would find at that time and that matches; it may
// have others. Files that changed since they were indexed are always in it. Before each
// answer the index reads the kernel's events for all earlier changes (watch_linux.go).
// Where events are not reliable, as on network file systems, it gives no answers.
//
// Two kinds of change cause no event, and are only detected by a check of all stamps every
// few minutes: writing to a mapped file before the file is closed, and writing through a
// hard link that was created later in a directory that is not watched.
//
// It does not know patterns (package trigram does), the file format of the index (package
// segment), or the choice of files (package tree). Begin with [New] and query.go. A view is the
// tree in memory; background.go has the background goroutine.
package searchindex

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"log/slog"
	"path/filepath"
	"regexp/syntax"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/workspace/root"
	"github.com/mcp-tools/mcp-tools/internal/workspace/searchindex/segment"
	"github.com/mcp-tools/mcp-tools/internal/workspace/searchindex/trigram"
)

// Options configure an Index.
type Options struct {
	Root *root.Root
	// Skip excludes names, as for package tree. It is called concurrently and must
	// always return the same result for a name.
	Skip func(name string, dir bool) bool
	// Store is the directory for the index files, one for each root. Several processes
	// may share it. It must not be visible below Root.
	Store string
	// Memory is the approximate limit of the tree in memory, in bytes; default 128 MiB.
	// A larger tree is not indexed.
	Memory int64
	Log    *slog.Logger // nil discards
	// Rules identifies the rules of Skip: an index that was built with other rules is not used.
	Rules string
}

// An Index answers queries for one root. It is safe for concurrent use.
type Index struct {
	o         Options
	log       *slog.Logger
	path      string // of the segment
	key       segment.Digest
	intervals intervals
	used      atomic.Int64 // time of the last query, Unix nanoseconds

	mu         sync.RWMutex
	seg        *segment.Segment // nil if the contents of files are not indexed yet
	view       *view            // nil if it may be out of date
	staleFloor int              // number of changed files just after seg was built
	readers    sync.WaitGroup   // goroutines that read events
	started    bool
	closed     bool
	cancel     context.CancelFunc
	wake       chan struct{}      // has an element if the background goroutine has to look for work
	settle     chan chan struct{} // to close when nothing is left to do
	done       chan struct{}      // closed when the background goroutine ends
}

const defaultMemory = 128 << 20

// New returns an index. It does nothing until Start is called.
func New(o Options) *Index {
	o.Memory = cmp.Or(o.Memory, defaultMemory)
	x := &Index{
		o: o, log: o.Log, intervals: defaultIntervals(), wake: make(chan struct{}, 1), settle: make(chan chan struct{}),
	}
	if x.log == nil {
		x.log = slog.New(slog.DiscardHandler)
	}
	x.key = sha256.Sum256([]byte("1\x00" + rootPath(o.Root) + "\x00" + o.Rules))
	x.path = filepath.Join(o.Store, hex.EncodeToString(x.key[:12])+extension)
	return x
}

// Start starts to load or build the index in the background. It returns immediately.
func (x *Index) Start() {
	x.used.Store(time.Now().UnixNano())
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.closed || x.o.Store == "" {
		return
	}
	if !x.started || x.view == nil {
		x.request()
	}
	if x.started {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	x.started, x.cancel, x.done = true, cancel, make(chan struct{})
	go x.run(ctx)
}

// Close stops the background goroutine and releases all resources. There are no answers
// afterwards.
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

// request asks the background goroutine to look for work.
func (x *Index) request() {
	select {
	case x.wake <- struct{}{}:
	default:
	}
}

// Settle waits until the background goroutine has served all requests. It reports whether
// the index can answer now.
func (x *Index) Settle(ctx context.Context) bool {
	x.mu.RLock()
	done := x.done
	x.mu.RUnlock()
	if done == nil {
		return false
	}
	settled := make(chan struct{})
	select {
	case x.settle <- settled:
	case <-ctx.Done():
		return false
	case <-done:
		return false
	}
	<-settled
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.view != nil
}

// closeView closes the view. The caller holds the lock.
func (x *Index) closeView() error {
	v := x.view
	x.view = nil
	if v == nil {
		return nil
	}
	return v.close()
}

// closeSegment closes the segment. The caller holds the lock.
func (x *Index) closeSegment() error {
	s := x.seg
	x.seg = nil
	if s == nil {
		return nil
	}
	return s.Close()
}

// Candidates returns the files below dir that may match re, ordered by name: all files
// that a walk without hidden and ignored files finds, except those that cannot match.
// ok is false if the index cannot answer; then the caller walks. dir is relative to the
// root, or ".". Files that always reports true for are in the result whatever they contain; nil for none. It must be
// the same function in all calls.
func (x *Index) Candidates(
	ctx context.Context, dir string, re *syntax.Regexp, always func(name string) bool,
) (names []string, ok bool) {
	q := trigram.Of(re)
	return x.answer(ctx, dir, func(v *view) []string { return v.candidates(dir, q, always) })
}

// Files returns all files below dir that such a walk finds. The caller must not change
// the result.
func (x *Index) Files(ctx context.Context, dir string) (names []string, ok bool) {
	return x.answer(ctx, dir, func(v *view) []string { return v.names(dir) })
}

// Unread returns the directories below dir that could not be listed for the last
// answer.
func (x *Index) Unread(dir string) []string {
	x.mu.RLock()
	defer x.mu.RUnlock()
	var out []string
	if x.view != nil {
		for name := range x.view.unread {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return slices.DeleteFunc(out, func(name string) bool {
		return name != dir && len(beneath([]string{name}, dir)) == 0
	})
}

func (x *Index) answer(ctx context.Context, dir string, get func(*view) []string) (names []string, ok bool) {
	x.used.Store(time.Now().UnixNano())
	const tries = 10 // if the background goroutine changes the view in between
	for range tries {
		if !x.refresh(ctx) {
			return nil, false
		}
		if names, ok, again := x.query(dir, get); !again {
			return names, ok
		}
	}
	return nil, false
}

// query queries the current view. again reports that the view must be refreshed first.
func (x *Index) query(dir string, get func(*view) []string) (names []string, ok, again bool) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	v := x.view
	switch {
	case v == nil:
		return nil, false, false
	case v.lost || len(v.relist) > 0:
		return nil, false, true
	case !v.hasDir(dir):
		return nil, false, false
	}
	if err := segment.Guard(func() { names = get(v) }); err != nil {
		x.request()
		return nil, false, false
	}
	if x.tooStale(v.freshCount) {
		x.request()
	}
	return names, true, false
}

// refresh updates the view. It reports whether there can be an answer.
func (x *Index) refresh(ctx context.Context) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.view == nil {
		x.request()
		return false
	}
	err := x.view.refresh(ctx)
	switch {
	case err == nil:
		return true
	case ctx.Err() != nil && errors.Is(err, ctx.Err()): // the next refresh does the rest
		return false
	}
	x.log.Debug("the index of files is not up to date", "cause", err)
	_ = x.closeView()
	x.request()
	return false
}

// candidates returns the files that may match, in order.
func (v *view) candidates(dir string, q trigram.Query, always func(string) bool) []string {
	fresh := v.freshNames(dir)
	if v.seg == nil {
		return fresh
	}
	lo, hi := v.seg.Range(dir)
	files, some := v.seg.Eval(q, lo, hi)
	if some {
		files = v.seg.AddAlways(files, lo, hi)
	} else {
		files = v.liveFiles(dir, nil)
	}
	files = slices.DeleteFunc(files, func(n uint32) bool {
		return !v.alive(n) || v.seg.Flags(n)&segment.Binary != 0
	})
	if more := v.chosenIn(lo, hi, always); len(more) > 0 {
		files = append(files, slices.DeleteFunc(more, func(n uint32) bool { return !v.alive(n) })...)
		slices.Sort(files) // the order of names
		files = slices.Compact(files)
	}
	return mergeSorted(v.namesOf(files), fresh)
}

var (
	errNoEvents = errors.New("not every change of these files can be detected")
	errLost     = errors.New("events were lost")
)

func absolute(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		return abs
	}
	return path
}
