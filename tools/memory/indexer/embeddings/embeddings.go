// Package embeddings finds documents by their meaning. A worker has their parts encoded as
// vectors in the background, and a search compares them with the vector of a query. It keeps
// the vectors of the scopes that are searched in memory. The scopes of a search bound its
// reach: it compares with nothing else. The package knows neither the contents of documents nor
// the storage of vectors, and does not join its hits with hits by words.
//
// Embeddings are an addition: a search that cannot get them in time does without. Storing a
// document never waits for them.
//
// Begin with [New] and [Embeddings.Near]; worker.go makes vectors.
package embeddings

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/lru"
	"github.com/mcp-tools/mcp-tools/tools/memory/indexer"
)

// An Encoder turns texts into vectors.
type Encoder interface {
	// Query encodes the text of a search. It is quick, or fails.
	Query(ctx context.Context, text string) ([]float32, error)
	// Texts encodes parts of documents. A text that cannot be encoded has no vector; an error means that none can be
	// encoded at present.
	Texts(ctx context.Context, texts []string) ([][]float32, error)
}

// Texts are the parts of a version of a document. Without parts there is no such document.
type Texts struct {
	Scope   string
	Version int64
	Parts   []string
}

// A Part is a stored part of a document with its vector.
type Part struct {
	Document string // its ID
	Version  int64
	N        int // the number of the part, from 0
	Scope    string
	Path     string
	Category string
	Updated  time.Time
	Expires  time.Time // zero: never
	Vector   []byte
}

// A Vector is an encoded text, with the digest of the text.
type Vector struct {
	Digest string
	Data   []byte
}

// Rows are documents with the vectors of one space: vectors of one encoder can be compared.
type Rows interface {
	// Topics returns the topics of the change feed for documents and for their vectors.
	Topics() (documents, vectors string)
	Texts(ctx context.Context, id string) (Texts, error)

	// Cursor returns how far in the feed the documents have vectors.
	Cursor(ctx context.Context) (string, error)
	// Hold leases the space to a worker. While another holds it, wait is the
	// time until it expires.
	Hold(ctx context.Context, worker string, lease time.Duration) (cursor string, wait time.Duration, err error)
	// Keep renews the lease, Reach stores the cursor, and Release ends the lease. They fail if the worker has
	// lost it.
	Keep(ctx context.Context, worker string, lease time.Duration) error
	Reach(ctx context.Context, worker, cursor string) error
	Release(ctx context.Context, worker string) error

	// Missing lists documents without vectors, in the order of ids: the given ids, or all after
	// one.
	Missing(ctx context.Context, ids []string, after string, limit int) ([]string, error)
	// Known returns the given digests that have vectors, and keeps these for a while.
	Known(ctx context.Context, digests []string) (map[string]bool, error)
	Add(ctx context.Context, list []Vector) error
	// Set stores the digests of the parts of a version of a document, if that is still the present one.
	Set(ctx context.Context, id string, version int64, digests []string) error

	// OfScope reads the parts of a scope, the latest documents first, until each returns false.
	OfScope(ctx context.Context, scope string, each func(Part) bool) error
	// OfDocuments reads the parts of the given documents that are in a scope.
	OfDocuments(ctx context.Context, ids []string, scope string) ([]Part, error)
}

// Options are the dependencies of Embeddings.
type Options struct {
	Encoder Encoder
	Space   string // the name of the encoder's vectors
	Rows    Rows   // of that space
	Feed    indexer.Feed
	Scrub   func(string) string // is applied to all that the encoder gets; nil: nothing is removed
	Log     *slog.Logger        // nil: discard
}

// Embeddings are open until Close. Their methods may be called concurrently.
type Embeddings struct {
	o    Options
	name string // of the worker, in the store
	ctx  context.Context
	stop context.CancelFunc

	mu     sync.Mutex // held to start a goroutine of done, so that none starts after Close
	done   sync.WaitGroup
	caches *lru.Cache[string, *cache] // by scope
}

var errClosed = errors.New("the search by embeddings is closed")

// New returns Embeddings that have read nothing yet.
func New(o Options) *Embeddings {
	if o.Scrub == nil {
		o.Scrub = func(text string) string { return text }
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	e := &Embeddings{o: o, name: rand.Text(), caches: lru.New[string, *cache](maxSize, (*cache).weight)}
	e.ctx, e.stop = context.WithCancel(context.Background())
	return e
}

// Close ends the work in progress.
func (e *Embeddings) Close() error {
	e.mu.Lock()
	e.stop()
	e.mu.Unlock()
	e.done.Wait()
	return nil
}
