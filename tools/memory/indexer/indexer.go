// Package indexer keeps data derived from the rows of the store up to date, and searches it. A
// [Follower] reads the store's change feed once for the whole process; an [Indexer] keeps the
// search index of this process in step with it, so that every process finds the documents of
// all. The embeddings package beneath does the same for vectors.
//
// A package with searchable rows registers a [Source]: it returns the documents of a key. The
// indexer knows neither the meaning of the rows nor their readers: the scope of a document
// names its readers, and the index keeps scopes apart.
//
// The store is the truth. The index is a copy that may be lost at any moment: its cursor in the
// feed is written together with the documents, so that a crash costs only later changes.
//
// A process indexes the scopes that it searches: the first search of a scope fills it from the
// sources, and from then on its changes are followed, until it was not searched for a week. So
// processes that share a store do not index what only others search. An index that is empty,
// belongs to another store, or is further behind than the feed reaches back is filled anew, with
// the scopes that were searched since the process started.
//
// Nothing is opened before the first search. Begin with [Open] and [Indexer.Search].
package indexer

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/mcp-tools/mcp-tools/index"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// A Source has one kind of documents.
type Source interface {
	// Topic returns the topic of its keys in the change feed.
	Topic() string
	// Load returns the documents of keys as they are now, as far as their scope is wanted; none for a key that does not exist
	// or cannot be indexed. An error means that nothing can be read at present. IDs of documents are unique within the source.
	Load(ctx context.Context, keys []string, wanted func(scope string) bool) (map[string][]index.Document, error)
	// Keys lists the keys with documents in a scope in their order, beginning after one.
	Keys(ctx context.Context, scope, after string, limit int) ([]string, error)
}

// Options are the dependencies of an Indexer.
type Options struct {
	Dir      string // for indexes; on this machine
	Follower *Follower
	Sources  []Source
	Log      *slog.Logger // nil: discard
	// Patience is the max time that a search waits until earlier commits are indexed, once the
	// index is open; default 200 ms, and 5 seconds for the first search of a scope. A command that searches
	// once and exits waits longer.
	Patience time.Duration
}

const (
	defaultPatience = 200 * time.Millisecond
	opening         = 100 * time.Millisecond // that SearchNow waits for the index
	fillPatience    = 5 * time.Second        // that the first search of a scope waits until it is filled
)

// An Indexer searches one index. Its methods may be called concurrently.
type Indexer struct {
	o     Options
	keeps *searchIndex

	mu     sync.Mutex
	sub    *Subscription // nil before the first search
	index  *index.Index  // nil until it is open
	opened chan struct{}
	closed bool
}

// ErrClosed is the error of a closed Indexer, Follower or Subscription.
var ErrClosed = errors.New("the search is closed")

// Open returns an Indexer that has opened nothing yet.
func Open(o Options) *Indexer {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Patience == 0 {
		o.Patience = defaultPatience
	}
	i := &Indexer{o: o, opened: make(chan struct{})}
	i.keeps = &searchIndex{dir: o.Dir, log: o.Log, sources: map[string]Source{}, opened: i.use,
		used: map[string]bool{}, marks: map[string]string{}, given: map[string]string{}}
	for _, s := range o.Sources {
		i.keeps.sources[s.Topic()] = s
		i.keeps.topics = append(i.keeps.topics, s.Topic())
	}
	return i
}

// use takes the index that was opened.
func (i *Indexer) use(x *index.Index) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.index = x
	close(i.opened)
}

// Close closes the index, so that another process may use it.
func (i *Indexer) Close() error {
	i.mu.Lock()
	i.closed = true
	sub := i.sub
	i.mu.Unlock()
	if sub == nil {
		return nil
	}
	sub.Close()
	i.keeps.saveCursor(context.Background(), true)
	i.mu.Lock()
	defer i.mu.Unlock()
	x := i.index
	i.index = nil
	if x == nil {
		return nil
	}
	return x.Close()
}

// Search finds documents. It waits until the commits before the call are indexed; if that takes
// too long, fresh is false and the latest documents may be missing.
func (i *Indexer) Search(ctx context.Context, q index.Query) (found index.Result, fresh bool, err error) {
	patience := i.o.Patience
	if i.keeps.want(q.Scopes) {
		patience = max(patience, fillPatience)
	}
	x, err := i.open(ctx)
	if err != nil {
		return index.Result{}, false, err
	}
	fresh, err = i.catchUp(ctx, patience)
	if err != nil {
		return index.Result{}, false, err
	}
	found, err = search(ctx, x, q)
	if err == nil || errors.Is(err, ErrClosed) || ctx.Err() != nil {
		return found, fresh, err
	}
	return i.searchAgain(ctx, x, q, err)
}

// searchAgain searches an index that has failed once more after it was filled again.
func (i *Indexer) searchAgain(ctx context.Context, x *index.Index, q index.Query, failed error) (
	found index.Result, fresh bool, err error) {
	i.o.Log.Warn("the search index has failed and is rebuilt", "err", failed)
	i.keeps.suspect.Store(true)
	if fresh, err = i.catchUp(ctx, i.o.Patience); err != nil {
		return index.Result{}, false, err
	}
	if fresh {
		if found, err = search(ctx, x, q); err == nil || errors.Is(err, ErrClosed) || ctx.Err() != nil {
			return found, true, err
		}
		failed = err
	}
	return index.Result{}, false, tool.Errorf(tool.Unavailable, "the search index is being rebuilt").
		Try("search again in some seconds").Because(failed)
}

// SearchNow searches the present index, without catching up, for hints that are not worth
// waiting for. It finds nothing if the index does not open at once.
func (i *Indexer) SearchNow(ctx context.Context, q index.Query) (index.Result, error) {
	fill := i.keeps.want(q.Scopes)
	brief, cancel := context.WithTimeout(ctx, opening)
	x, err := i.open(brief)
	cancel()
	if fill && err == nil {
		i.mu.Lock()
		signal(i.sub.asked)
		i.mu.Unlock()
	}
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		return index.Result{}, nil
	}
	if err != nil {
		return index.Result{}, err
	}
	return search(ctx, x, q)
}

func search(ctx context.Context, x *index.Index, q index.Query) (index.Result, error) {
	found, err := x.Search(ctx, q)
	if errors.Is(err, index.ErrClosed) {
		err = ErrClosed
	}
	for n := range found.Hits {
		found.Hits[n].ID = sourceID(found.Hits[n].ID)
	}
	return found, err
}

// open subscribes at the first use, and waits until the index is open.
func (i *Indexer) open(ctx context.Context) (*index.Index, error) {
	i.mu.Lock()
	if i.closed {
		i.mu.Unlock()
		return nil, ErrClosed
	}
	if i.sub == nil {
		i.sub = i.o.Follower.Subscribe("the search index", i.keeps)
	}
	x, sub := i.index, i.sub
	i.mu.Unlock()
	if x != nil {
		return x, nil
	}
	select {
	case <-i.opened:
	case err := <-sub.request():
		if err != nil { // otherwise it is open
			return nil, err
		}
	case <-sub.ctx.Done():
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

// catchUp waits until all commits are indexed, at most for the given time. Errors
// of the index are in the log; the present index can be searched.
func (i *Indexer) catchUp(ctx context.Context, patience time.Duration) (fresh bool, err error) {
	late := time.NewTimer(patience)
	defer late.Stop()
	i.mu.Lock()
	sub := i.sub
	i.mu.Unlock()
	select {
	case err := <-sub.request():
		return err == nil, nil
	case <-late.C:
		return false, nil
	case <-sub.ctx.Done():
		return false, ErrClosed
	case <-ctx.Done():
		return false, context.Cause(ctx)
	}
}
