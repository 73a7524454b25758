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

// Kept is an answer in the cache. What is said of it in JSON is all but its body.
type Kept struct {
	URL     string            `json:"url"` // that answered
	Via     []string          `json:"via,omitempty"`
	Status  int               `json:"status"`
	Header  map[string]string `json:"header"` // of those that say how long it is good, and what it is
	Asked   time.Time         `json:"asked"`  // when it was fetched or last found unchanged
	Length  int               `json:"length"` // of the body, for the cache alone
	Body    []byte            `json:"-"`
	Passing bool              `json:"-"` // its server wants it on no disk
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
	// Find returns the one of this name, if the caller of ctx may send it with
	// this method to this URL. Where a redirect leads, it looks again itself.
	Find(ctx context.Context, name, method, url string) (Credential, error)
}

// A Credential goes out with a request.
type Credential interface {
	outbound.Secret
	// Redirects says whether redirects may be followed with it.
	Redirects() bool
	// Within reports whether a content has the secret in it, as it is or in a
	// usual encoding.
	Within(content io.Reader) (bool, error)
}

// Files are the files of the caller of ctx.
type Files interface {
	// Save writes a file, all of it or nothing, and says what it is called.
	Save(ctx context.Context, path string, content io.Reader) (name string, err error)
	// Add is Save where there may be a file already, which stays: the new one is
	// called like it, with a number.
	Add(ctx context.Context, path string, content io.Reader) (name string, err error)
	// Check says early what Save would refuse.
	Check(ctx context.Context, path string) error
}

// A Spool keeps what has come of downloads that are not complete, so that they
// can go on where they were cut.
type Spool interface {
	// Open opens what there is under a key, for one download at a time.
	Open(ctx context.Context, key string) (Part, error)
}

// A Part is the beginning of a download.
type Part interface {
	// Tag is what the server called the version that the part is of; "" when
	// there is nothing.
	Tag() string
	Size() int64
	// Begin drops what there is, and says what is to come is called.
	Begin(tag string) error
	io.Writer // appends
	// Content reads all of it from the start.
	Content() (io.Reader, error)
	// Close keeps the part for another time; Done does not.
	Close() error
	Done() error
}
