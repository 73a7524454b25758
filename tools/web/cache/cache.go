// Package cache keeps responses from the web in memory while they are fresh.
//
// It knows how long a response is fresh, how much may be kept, and for how long at
// most. The cache does not know callers: a key has to contain the caller.
//
// Begin with [Cache.Get].
package cache

import (
	"maps"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/lru"
)

const (
	maxMemory = 32 << 20
	maxEntry  = 12 << 20
	maxAge    = 24 * time.Hour // even if the server allows more
	maxHeader = 1024           // bytes of a header value
)

// An Entry is a response in the cache.
type Entry struct {
	URL    string // after redirects
	Via    []string
	Status int
	Header map[string]string // see Update
	Asked  time.Time         // when it was fetched or revalidated
	Body   []byte
	Own    bool // it is of a command of the caller; such entries are not put into a cache
}

// Update takes over the headers of a newer response about type, age and version.
// Values that are too long are ignored.
func (e *Entry) Update(h http.Header) {
	header := maps.Clone(e.Header)
	if header == nil {
		header = map[string]string{}
	}
	for _, name := range []string{
		"Content-Type", "Etag", "Last-Modified", "Cache-Control", "Expires", "Date", "Age", "Retry-After",
	} {
		if value := strings.Join(h.Values(name), ", "); value != "" && len(value) <= maxHeader {
			header[name] = value
		}
	}
	if strings.TrimSpace(h.Get("Vary")) == "*" {
		header["Cache-Control"] = "no-store"
	}
	e.Header = header
}

// cacheControl returns the value of a directive in Cache-Control.
func (e Entry) cacheControl(directive string) (value string, ok bool) {
	for part := range strings.SplitSeq(e.Header["Cache-Control"], ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(part), "=")
		if strings.EqualFold(name, directive) {
			return strings.Trim(value, `" `), true
		}
	}
	return "", false
}

const (
	defaultLifetime = 5 * time.Minute
	maxLifetime     = 24 * time.Hour
)

// Lifetime returns how long after Asked the entry may be used without revalidation:
// as its headers say, else a tenth of its age when it was fetched, else 5 minutes.
func (e Entry) Lifetime() time.Duration {
	for _, directive := range []string{"no-cache", "no-store"} {
		if _, ok := e.cacheControl(directive); ok {
			return 0
		}
	}
	date, err := http.ParseTime(e.Header["Date"])
	if err != nil {
		date = e.Asked
	}
	lifetime := defaultLifetime
	if text, ok := e.cacheControl("max-age"); ok {
		seconds, err := strconv.ParseInt(text, 10, 32)
		if err != nil {
			return 0
		}
		lifetime = time.Duration(seconds) * time.Second
	} else if text := e.Header["Expires"]; text != "" {
		until, err := http.ParseTime(text)
		if err != nil {
			return 0 // servers send 0 and -1 for "expired"
		}
		lifetime = until.Sub(date)
	} else if changed, err := http.ParseTime(e.Header["Last-Modified"]); err == nil {
		lifetime = date.Sub(changed) / 10
	}
	if age, err := strconv.ParseInt(e.Header["Age"], 10, 32); err == nil {
		lifetime -= time.Duration(age) * time.Second
	}
	return min(max(lifetime, 0), maxLifetime)
}

// A Cache keeps entries in memory. It is safe for concurrent use. A nil Cache keeps nothing.
type Cache struct{ entries *lru.Cache[string, Entry] }

// New returns an empty cache.
func New() *Cache { return &Cache{lru.New[string](maxMemory, memorySize)} }

// Get returns the entry with a key.
func (c *Cache) Get(key string) (Entry, bool) {
	if c == nil {
		return Entry{}, false
	}
	e, ok := c.entries.Get(key)
	if !ok || time.Since(e.Asked) > maxAge {
		return Entry{}, false
	}
	return e, true
}

// Put stores an entry, if there is room.
func (c *Cache) Put(key string, e Entry) {
	if c != nil && len(e.Body) <= maxEntry {
		c.entries.Put(key, e)
	}
}

// memorySize returns the approximate size of an entry in memory.
func memorySize(e Entry) int64 {
	n := 1024 + cap(e.Body) + len(e.URL)
	for _, via := range e.Via {
		n += len(via) + 16
	}
	for name, value := range e.Header {
		n += len(name) + len(value) + 64
	}
	return int64(n)
}
