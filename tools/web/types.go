package web

import (
	"context"
	"io"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/outbound"
)

// A Cache keeps answers to requests that only read. Keys are the business of
// whoever asks; they name the caller where what comes back is theirs alone.
type Cache interface {
	// Get returns what was kept under a key, or ok false.
	Get(key string) (Kept, bool)
	// Put keeps something, as long as there is room. What it takes to keep it
	// must not fail the call, so nothing is said of errors.
	Put(key string, k Kept)
}

// Kept is an answer in the cache.
type Kept struct {
	URL    string // that answered
	Via    []string
	Status int
	Header map[string]string // of those that say how long it is good, and what it is
	Body   []byte
	Asked  time.Time // when it was fetched or last found unchanged
}

// A Searcher asks engines that search the web. Its errors are fit for a model.
type Searcher interface {
	// Search asks the engines in the operator's order until one answers, or the
	// one that the query names.
	Search(ctx context.Context, q Query) (Hits, error)
}

// A Query is what to search the web for. Empty fields ask for the usual.
type Query struct {
	Text      string
	Count     int    // results, 1 to 20
	Provider  string // only this engine
	Freshness string // day, week, month, year, or 2026-01-31..2026-02-28
	Country   string // two letters
	Language  string // two letters
}

// Hits are what an engine has found, the best first.
type Hits struct {
	Provider string // that answered
	Hits     []Hit
	Notes    []string // what the model should know: an engine that failed, a filter that was not heeded
	Age      time.Duration
}

// A Hit is one result. All of it was written by strangers.
type Hit struct {
	Title, URL, Snippet string
	Date                string // as the engine says it, or ""
}

// Secrets are the credentials that requests may be sent with. The model knows
// their names only.
type Secrets interface {
	// Secret finds the one that the caller of ctx calls by this name. What it
	// may be sent to, it checks itself on the way out.
	Secret(ctx context.Context, name string) (outbound.Secret, error)
	// Names are those that the caller of ctx may use.
	Names(ctx context.Context) []string
}

// Files are the files of the caller of ctx.
type Files interface {
	// Save writes a file, all of it or nothing, and says what it is called.
	Save(ctx context.Context, path string, content io.Reader) (name string, err error)
	// Check says early what Save would refuse.
	Check(ctx context.Context, path string) error
}
