// Package cache keeps responses from the web while they are fresh, in memory and in
// files that all servers with the same data directory share. It also keeps the
// beginnings of interrupted downloads (see [Spool]).
//
// It knows how long a response is fresh, how much may be kept, and for how long at
// most. It does not know callers: a key has to contain the
// caller. Keys are not written to the disk, only their digests. What cannot be read
// or written is not cached; no call fails because of that.
//
// Begin with [Cache.Get].
package cache

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/lru"
	"github.com/mcp-tools/mcp-tools/internal/private"
)

const (
	maxMemory = 32 << 20
	maxEntry  = 12 << 20
	maxAge    = 24 * time.Hour // even if the server allows more
	// sweepShare is the amount written between two sweeps, as a share of the
	// limit.
	sweepShare    = 16
	fileExtension = ".page"
	tempPrefix    = ".new-"
	maxHeader     = 1024 // bytes of a header value
)

// An Entry is a response in the cache. Its JSON is everything but the body.
type Entry struct {
	URL     string            `json:"url"` // after redirects
	Via     []string          `json:"via,omitempty"`
	Status  int               `json:"status"`
	Header  map[string]string `json:"header"` // see Update
	Asked   time.Time         `json:"asked"`  // when it was fetched or revalidated
	Length  int               `json:"length"` // of the body; set by the cache
	Body    []byte            `json:"-"`
	NoStore bool              `json:"-"` // must not be written to the disk
}

// Update takes over the headers of a newer response about type, age and version.
// Values that are too long are ignored.
func (e *Entry) Update(h http.Header) {
	header := make(map[string]string, len(e.Header))
	for name, value := range e.Header {
		header[name] = value
	}
	for _, name := range []string{
		"Content-Type", "Etag", "Last-Modified", "Cache-Control", "Expires", "Date", "Age", "Retry-After",
	} {
		if value := strings.Join(h.Values(name), ", "); value != "" && len(value) <= maxHeader {
			header[name] = value
		}
	}
	e.Header = header
	_, noStore := e.cacheControl("no-store")
	e.NoStore = noStore || strings.TrimSpace(h.Get("Vary")) == "*"
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
	if _, noCache := e.cacheControl("no-cache"); e.NoStore || noCache {
		return 0
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

// Options for New.
type Options struct {
	Dir   string // "" keeps entries in memory only
	Bytes int64  // limit for the directory
	Log   *slog.Logger
}

// A Cache keeps entries. It is safe for concurrent use. A nil Cache keeps nothing.
type Cache struct {
	dir   string
	limit int64
	log   *slog.Logger

	memory *lru.Cache[string, Entry] // by file name

	disk    sync.Mutex
	written int64 // bytes since the last sweep
	created bool  // the directory exists
}

// New returns a cache. It reads nothing before the first Get.
func New(o Options) *Cache {
	return &Cache{
		dir: o.Dir, limit: o.Bytes, log: o.Log, memory: lru.New[string](maxMemory, memorySize), written: o.Bytes,
	}
}

// digest returns the hexadecimal digest of a key, for file names.
func digest(key string) string {
	sum := sha256.Sum256([]byte(key))
	return hex.EncodeToString(sum[:])
}

// Get returns the entry with a key.
func (c *Cache) Get(key string) (Entry, bool) {
	if c == nil {
		return Entry{}, false
	}
	name := digest(key)
	e, ok := c.memory.Get(name)
	if !ok {
		if e, ok = c.read(name); ok {
			c.memory.Put(name, e)
		}
	}
	if !ok || time.Since(e.Asked) > maxAge {
		return Entry{}, false
	}
	return e, true
}

// Put stores an entry, if there is room. Errors are logged, not returned.
func (c *Cache) Put(key string, e Entry) {
	if c == nil || len(e.Body) > maxEntry {
		return
	}
	name := digest(key)
	c.memory.Put(name, e)
	if c.dir == "" || c.limit == 0 || e.NoStore {
		return
	}
	if err := c.write(name, e); err != nil {
		c.log.Debug("cannot write a page to the cache", "err", err)
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

// read reads an entry from the disk: a line of JSON, then the body.
func (c *Cache) read(name string) (Entry, bool) {
	if c.dir == "" || c.limit == 0 {
		return Entry{}, false
	}
	text, err := private.Read(filepath.Join(c.dir, name+fileExtension), maxEntry+64<<10)
	if err != nil {
		return Entry{}, false
	}
	head, body, found := bytes.Cut(text, []byte("\n"))
	var e Entry
	if !found || json.Unmarshal(head, &e) != nil || e.Length != len(body) {
		return Entry{}, false
	}
	e.Body = body
	return e, true
}

func (c *Cache) write(name string, e Entry) error {
	e.Length = len(e.Body)
	head, err := json.Marshal(e)
	if err != nil {
		return err
	}
	if err := c.createDir(); err != nil {
		return err
	}
	file, err := os.CreateTemp(c.dir, tempPrefix+"*") // with mode 0600
	if err != nil {
		return err
	}
	for _, part := range [][]byte{append(head, '\n'), e.Body} {
		_, failed := file.Write(part)
		err = errors.Join(err, failed)
	}
	if err = errors.Join(err, file.Close()); err == nil {
		err = os.Rename(file.Name(), filepath.Join(c.dir, name+fileExtension))
	}
	if err != nil {
		return errors.Join(err, os.Remove(file.Name()))
	}
	return c.sweepAfter(diskSize(int64(len(head) + len(e.Body))))
}

func (c *Cache) createDir() error {
	c.disk.Lock()
	defer c.disk.Unlock()
	if c.created {
		return nil
	}
	_, err := private.MakeSub(filepath.Dir(c.dir), filepath.Base(c.dir))
	c.created = err == nil
	return err
}

// diskSize returns the size of a file on the disk, at least one block.
func diskSize(size int64) int64 { return max(size, 4096) }

// sweepAfter counts n bytes as written. Once enough were written it removes expired
// files, and the oldest ones until the rest is within the limit.
func (c *Cache) sweepAfter(n int64) error {
	c.disk.Lock()
	defer c.disk.Unlock()
	if c.written += n; c.written < c.limit/sweepShare {
		return nil
	}
	c.written = 0
	entries, err := os.ReadDir(c.dir)
	if err != nil {
		return err
	}
	var files []fs.FileInfo
	total := int64(0)
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || !info.Mode().IsRegular() {
			continue // removed by another process
		}
		isOldTemp := strings.HasPrefix(e.Name(), tempPrefix) && time.Since(info.ModTime()) >= time.Minute
		if !strings.HasSuffix(e.Name(), fileExtension) && !isOldTemp {
			continue
		}
		files = append(files, info)
		total += diskSize(info.Size())
	}
	slices.SortFunc(files, func(a, b fs.FileInfo) int { return a.ModTime().Compare(b.ModTime()) })
	for _, info := range files {
		if total <= c.limit-c.limit/sweepShare && time.Since(info.ModTime()) < maxAge {
			break
		}
		if err := os.Remove(filepath.Join(c.dir, info.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		total -= diskSize(info.Size())
	}
	return nil
}
