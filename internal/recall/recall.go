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
// [Recall.Search]; follow.go is what goes on behind them.
package recall

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

// A Shelf is one sort of things that can be found.
type Shelf interface {
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
	Shelves []Shelf
	Log     *slog.Logger // nil: silent
	// Patience is how long a search waits for what was committed before it, once
	// the index is open; 200 ms unless told. It is for who asks once, and would
	// find half an index.
	Patience time.Duration
}

// A Recall is open until Close. Its methods may be called from many goroutines.
type Recall struct {
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

// ErrClosed is what a closed Recall answers.
var ErrClosed = errors.New("the search is closed")

// Open makes a Recall and opens nothing.
func Open(o Options) *Recall {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Patience == 0 {
		o.Patience = patience
	}
	r := &Recall{o: o, ask: make(chan struct{}, 1), opened: make(chan struct{})}
	r.ctx, r.stop = context.WithCancel(context.Background())
	return r
}

// Close ends what goes on and gives the index to others.
func (r *Recall) Close() error {
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	r.stop()
	r.done.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	x := r.index
	r.index = nil
	if x == nil {
		return nil
	}
	return x.Close()
}

const patience = 200 * time.Millisecond

// Search finds documents. Before it answers it catches up with what was
// committed before the call; when that takes too long, fresh is false and the
// latest may be missing.
func (r *Recall) Search(ctx context.Context, q index.Query) (found index.Result, fresh bool, err error) {
	x, err := r.open(ctx)
	if err != nil {
		return index.Result{}, false, err
	}
	fresh, err = r.catchUp(ctx)
	if err != nil {
		return index.Result{}, false, err
	}
	found, err = r.search(ctx, x, q)
	if err == nil || errors.Is(err, ErrClosed) || ctx.Err() != nil {
		return found, fresh, err
	}
	return r.searchAgain(ctx, x, q, err)
}

// searchAgain searches an index that failed once it is filled anew.
func (r *Recall) searchAgain(ctx context.Context, x *index.Index, q index.Query, failed error) (found index.Result, fresh bool, err error) {
	r.o.Log.Warn("the search index has failed, and is filled anew", "err", failed)
	r.doubt.Store(true)
	if fresh, err = r.catchUp(ctx); err != nil {
		return index.Result{}, false, err
	}
	if fresh {
		if found, err = r.search(ctx, x, q); err == nil || errors.Is(err, ErrClosed) || ctx.Err() != nil {
			return found, true, err
		}
		failed = err
	}
	return index.Result{}, false, tool.Errorf(tool.Unavailable, "the search index is being made anew").Try("search again in some seconds").Because(failed)
}

// glance is how long it may take to open an index for one look.
const glance = 100 * time.Millisecond

// Glance searches what is indexed now, and does not catch up: it is for what is
// good to know and not worth waiting for. An index that does not open at once is
// there the next time.
func (r *Recall) Glance(ctx context.Context, q index.Query) (index.Result, error) {
	brief, cancel := context.WithTimeout(ctx, glance)
	x, err := r.open(brief)
	cancel()
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		return index.Result{}, nil
	}
	if err != nil {
		return index.Result{}, err
	}
	return r.search(ctx, x, q)
}

func (r *Recall) search(ctx context.Context, x *index.Index, q index.Query) (index.Result, error) {
	found, err := x.Search(ctx, q)
	if errors.Is(err, index.ErrClosed) {
		err = ErrClosed
	}
	for i := range found.Hits {
		found.Hits[i].ID = shelved(found.Hits[i].ID)
	}
	return found, err
}

// open starts following at the first use, and waits until there is an index.
func (r *Recall) open(ctx context.Context) (*index.Index, error) {
	r.mu.Lock()
	if r.closed {
		r.mu.Unlock()
		return nil, ErrClosed
	}
	r.start.Do(func() { r.done.Go(r.follow) })
	x := r.index
	r.mu.Unlock()
	if x != nil {
		return x, nil
	}
	answer := r.request()
	select {
	case <-r.opened:
	case err := <-answer:
		if err != nil { // or else it is open
			return nil, err
		}
	case <-r.ctx.Done():
		return nil, ErrClosed
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.index == nil {
		return nil, ErrClosed
	}
	return r.index, nil
}

// request asks for a round of following that begins after now.
func (r *Recall) request() <-chan error {
	answer := make(chan error, 1)
	r.mu.Lock()
	r.asking = append(r.asking, answer)
	r.mu.Unlock()
	select {
	case r.ask <- struct{}{}:
	default:
	}
	return answer
}

// catchUp waits until what is committed now is indexed, but not for long.
func (r *Recall) catchUp(ctx context.Context) (fresh bool, err error) {
	answer := r.request()
	late := time.NewTimer(r.o.Patience)
	defer late.Stop()
	select {
	case err := <-answer:
		return err == nil, nil // what is wrong is in the log; what is there can be searched
	case <-late.C:
		return false, nil
	case <-r.ctx.Done():
		return false, ErrClosed
	case <-ctx.Done():
		return false, context.Cause(ctx)
	}
}
