// Package recall makes rows of the store findable. It owns this process's
// search index, fills it from shelves, and follows the store's feed of changes,
// so that every process finds what any of them has stored. It does not know
// what a shelf keeps, nor who may see what: a document's scope says that, and
// the index keeps scopes apart.
//
// The store is the truth. The index is a copy that may be lost at any moment:
// how far it has followed the feed is written together with the documents, so
// that a crash costs only what came since. An index that is empty, belongs to
// another store, or has slept longer than the feed remembers is filled anew.
//
// Nothing is opened before the first search. Begin with [Open] and
// [Indexer.Search]; follow.go is what goes on behind them.
package indexer

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcp-tools/mcp-tools/index"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// A Source is one sort of things that can be found.
type Source interface {
	// Topic is the topic under which the feed tells of changes.
	Topic() string
	// Load returns what is to be found for a key now; nothing when it is gone,
	// or cannot be indexed. An error means that nothing can be read at present.
	// IDs of documents need to be unique within the shelf only.
	Load(ctx context.Context, key string) ([]index.Document, error)
	// Keys lists all keys, in their order, from the one after another.
	Keys(ctx context.Context, after string, limit int) ([]string, error)
}

// A Feed tells what has changed.
type Feed interface {
	// Follow calls each with changes of some topics since a place, and returns
	// where to go on, and whether more is committed already. Lost means that
	// the place means nothing: read everything, then go on from the new one.
	Follow(ctx context.Context, from string, limit int, topics []string, each func(topic, key string)) (place string, lost, more bool, err error)
	// Wait returns a channel that is closed when a topic may have changed.
	Wait(topic string) <-chan struct{}
}

// Options say what is found, and where the index lies.
type Options struct {
	Dir     string // local to this machine; indexes lie beneath it
	Feed    Feed
	Sources []Source
	Log     *slog.Logger // nil: silent
	// Patience is how long a search waits for what was committed before it, once
	// the index is open; 200 ms unless told. It is for who asks once, and would
	// find half an index.
	Patience time.Duration
}

// A Indexer is open until Close. Its methods may be called from many goroutines.
type Indexer struct {
	o     Options
	stop  context.CancelFunc
	ctx   context.Context
	done  sync.WaitGroup
	start sync.Once

	ask   chan struct{} // somebody waits in asking
	doubt atomic.Bool   // the index failed, and is to be filled anew

	mu     sync.Mutex
	asking []chan error // closed by the first round that begins after, with its error
	index  *index.Index // nil until it is open
	opened chan struct{}
	closed bool
}

// ErrClosed is what a closed Indexer answers.
var ErrClosed = errors.New("the search is closed")

// Open makes a Indexer and opens nothing.
func Open(o Options) *Indexer {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Patience == 0 {
		o.Patience = patience
	}
	i := &Indexer{o: o, ask: make(chan struct{}, 1), opened: make(chan struct{})}
	i.ctx, i.stop = context.WithCancel(context.Background())
	return i
}

// Close ends what goes on and gives the index to others.
func (i *Indexer) Close() error {
	i.mu.Lock()
	i.closed = true
	i.mu.Unlock()
	i.stop()
	i.done.Wait()
	i.mu.Lock()
	defer i.mu.Unlock()
	x := i.index
	i.index = nil
	if x == nil {
		return nil
	}
	return x.Close()
}

const patience = 200 * time.Millisecond

// Search finds documents. Before it answers it catches up with what was
// committed before the call; when that takes too long, fresh is false and the
// latest may be missing.
func (i *Indexer) Search(ctx context.Context, q index.Query) (found index.Result, fresh bool, err error) {
	x, err := i.open(ctx)
	if err != nil {
		return index.Result{}, false, err
	}
	fresh, err = i.catchUp(ctx)
	if err != nil {
		return index.Result{}, false, err
	}
	found, err = i.search(ctx, x, q)
	if err == nil || errors.Is(err, ErrClosed) || ctx.Err() != nil {
		return found, fresh, err
	}
	return i.searchAgain(ctx, x, q, err)
}

// searchAgain searches an index that failed once it is filled anew.
func (i *Indexer) searchAgain(ctx context.Context, x *index.Index, q index.Query, failed error) (found index.Result, fresh bool, err error) {
	i.o.Log.Warn("the search index has failed, and is filled anew", "err", failed)
	i.doubt.Store(true)
	if fresh, err = i.catchUp(ctx); err != nil {
		return index.Result{}, false, err
	}
	if fresh {
		if found, err = i.search(ctx, x, q); err == nil || errors.Is(err, ErrClosed) || ctx.Err() != nil {
			return found, true, err
		}
		failed = err
	}
	return index.Result{}, false, tool.Errorf(tool.Unavailable, "the search index is being made anew").Try("search again in some seconds").Because(failed)
}

// glance is how long it may take to open an index for one look.
const glance = 100 * time.Millisecond

// SearchNow searches what is indexed now, and does not catch up: it is for what is
// good to know and not worth waiting for. An index that does not open at once is
// there the next time.
func (i *Indexer) SearchNow(ctx context.Context, q index.Query) (index.Result, error) {
	brief, cancel := context.WithTimeout(ctx, glance)
	x, err := i.open(brief)
	cancel()
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		return index.Result{}, nil
	}
	if err != nil {
		return index.Result{}, err
	}
	return i.search(ctx, x, q)
}

func (i *Indexer) search(ctx context.Context, x *index.Index, q index.Query) (index.Result, error) {
	found, err := x.Search(ctx, q)
	if errors.Is(err, index.ErrClosed) {
		err = ErrClosed
	}
	for n := range found.Hits {
		found.Hits[n].ID = shelved(found.Hits[n].ID)
	}
	return found, err
}

// open starts following at the first use, and waits until there is an index.
func (i *Indexer) open(ctx context.Context) (*index.Index, error) {
	i.mu.Lock()
	if i.closed {
		i.mu.Unlock()
		return nil, ErrClosed
	}
	i.start.Do(func() { i.done.Go(i.follow) })
	x := i.index
	i.mu.Unlock()
	if x != nil {
		return x, nil
	}
	answer := i.request()
	select {
	case <-i.opened:
	case err := <-answer:
		if err != nil { // or else it is open
			return nil, err
		}
	case <-i.ctx.Done():
		return nil, ErrClosed
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.index == nil {
		return nil, ErrClosed
	}
	return i.index, nil
}

// request asks for a round of following that begins after now.
func (i *Indexer) request() <-chan error {
	answer := make(chan error, 1)
	i.mu.Lock()
	i.asking = append(i.asking, answer)
	i.mu.Unlock()
	select {
	case i.ask <- struct{}{}:
	default:
	}
	return answer
}

// catchUp waits until what is committed now is indexed, but not for long.
func (i *Indexer) catchUp(ctx context.Context) (fresh bool, err error) {
	answer := i.request()
	late := time.NewTimer(i.o.Patience)
	defer late.Stop()
	select {
	case err := <-answer:
		return err == nil, nil // what is wrong is in the log; what is there can be searched
	case <-late.C:
		return false, nil
	case <-i.ctx.Done():
		return false, ErrClosed
	case <-ctx.Done():
		return false, context.Cause(ctx)
	}
}
