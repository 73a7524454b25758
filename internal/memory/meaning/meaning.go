// Package meaning finds memories by what they mean: it has their pieces turned
// into vectors in the background, keeps those of the owners who search in mind,
// and tells which are nearest to a query. It knows who may see what by the
// owners that a search names, and compares with nothing else. It does not know
// how vectors come about, nor how what is found here is joined with what is
// found by words.
//
// Vectors are an addition: a search that cannot have them in time goes without.
// Writing never waits for them.
//
// Begin with [New], then [Meaning.Near]; worker.go is what makes vectors.
package meaning

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/memory"
	api "github.com/mcp-tools/mcp-tools/tools/memory"
)

// An Encoder turns texts into vectors.
type Encoder interface {
	// Query is for searches: it is quick, or fails.
	Query(ctx context.Context, text string) ([]float32, error)
	// Texts is for what is remembered. A text that cannot be turned into a
	// vector has none; an error means that none can be at present.
	Texts(ctx context.Context, texts []string) ([][]float32, error)
}

// Rows are where vectors of one space are kept.
type Rows interface {
	Place(ctx context.Context) (string, error)
	Hold(ctx context.Context, holder string, lease time.Duration) (place string, wait time.Duration, err error)
	Keep(ctx context.Context, holder string, lease time.Duration) error
	Reach(ctx context.Context, holder, place string) error
	Release(ctx context.Context, holder string) error

	Missing(ctx context.Context, keys []string, after string, limit int) ([]string, error)
	Known(ctx context.Context, digests []string) (map[string]bool, error)
	Add(ctx context.Context, list []api.Vector) error
	Set(ctx context.Context, id string, version int64, digests []string) error

	Of(ctx context.Context, o api.Owner, each func(api.Piece) bool) error
	OfDocuments(ctx context.Context, ids []string, owners []api.Owner, each func(api.Piece) bool) error
}

// A Feed tells what has changed.
type Feed interface {
	Follow(ctx context.Context, from string, limit int, topics []string, each func(topic, key string)) (place string, lost, more bool, err error)
	Wait(topic string) <-chan struct{}
}

// Options say what a Meaning works on.
type Options struct {
	Encoder Encoder
	Space   string // what the encoder's vectors can be compared with
	Rows    Rows   // of that space
	Shelf   memory.Shelf
	Feed    Feed
	Scrub   func(string) string // what the encoder is given goes through it; nil: nothing is taken out
	Log     *slog.Logger        // nil: silent
}

// VectorTopic is the topic under which changes of vectors are told.
const VectorTopic = "memory.vector"

// A Meaning is open until Close. Its methods may be called from many goroutines.
type Meaning struct {
	o      Options
	holder string
	ctx    context.Context
	stop   context.CancelFunc
	done   sync.WaitGroup

	following chan struct{} // who has put something in reads the feed
	place     string        // how far it was read; whose it is says following

	mu      sync.Mutex
	shelves map[api.Owner]*shelf
	uses    int64 // of shelves
	closed  bool
}

var errClosed = errors.New("the search by meaning is closed")

// New makes a Meaning. It keeps nothing in mind before the first search.
func New(o Options) *Meaning {
	if o.Scrub == nil {
		o.Scrub = func(text string) string { return text }
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	m := &Meaning{o: o, holder: newHolder(), following: make(chan struct{}, 1), shelves: map[api.Owner]*shelf{}}
	m.ctx, m.stop = context.WithCancel(context.Background())
	return m
}

// Close ends what goes on.
func (m *Meaning) Close() error {
	m.mu.Lock()
	m.closed = true
	m.mu.Unlock()
	m.stop()
	m.done.Wait()
	return nil
}
