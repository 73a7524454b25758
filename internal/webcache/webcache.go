// Package webcache keeps answers from the web for as long as they are good, in
// memory and in files that all servers on a data directory share.
//
// It knows how much may be kept, and for how long at most. It does not know when
// an answer is stale, whom it belongs to, or what it says: whoever asks puts the
// caller into the key. Of downloads that were cut it knows the callers, none of
// whom can push out what the others have: see [Spool]. Keys do not appear on the disk, only digests of them.
// What cannot be read or written is not kept; no call fails for that.
//
// Begin with [Cache.Get].
package webcache

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/lru"
	"github.com/mcp-tools/mcp-tools/internal/private"
	"github.com/mcp-tools/mcp-tools/tools/web"
)

const (
	mostMemory = 32 << 20
	mostItem   = 12 << 20
	// keepAge is how long anything is kept, however good its server says it is.
	keepAge = 24 * time.Hour
	// sweepShare is how much is written between two looks at the directory, as
	// a share of what may be kept.
	sweepShare = 16
	ending     = ".page"
	tempPrefix = ".new-"
)

// Options say where, and how much.
type Options struct {
	Dir   string // "" keeps in memory only
	Bytes int64  // on the disk
	Log   *slog.Logger
}

// A Cache implements [web.Cache]. Its methods may be called from many goroutines.
type Cache struct {
	dir  string
	most int64
	log  *slog.Logger

	memory *lru.Cache[string, web.Kept] // by name

	disk    sync.Mutex
	written int64 // since the last sweep
	made    bool
}

// New returns a cache. It looks at nothing before it is asked.
func New(o Options) *Cache {
	return &Cache{dir: o.Dir, most: o.Bytes, log: o.Log, memory: lru.New[string](mostMemory, size), written: o.Bytes}
}

func nameOf(key string) string {
	sum := sha256.Sum256([]byte(key))
	return hex.EncodeToString(sum[:])
}

// Get returns what was kept under a key.
func (c *Cache) Get(key string) (web.Kept, bool) {
	name := nameOf(key)
	k, ok := c.memory.Get(name)
	if !ok {
		if k, ok = c.read(name); ok {
			c.memory.Put(name, k)
		}
	}
	if !ok || time.Since(k.Asked) > keepAge {
		return web.Kept{}, false
	}
	return k, true
}

// Put keeps an answer. Passing ones are kept in memory only.
func (c *Cache) Put(key string, k web.Kept) {
	if len(k.Body) > mostItem {
		return
	}
	name := nameOf(key)
	c.memory.Put(name, k)
	if c.dir == "" || c.most == 0 || k.Passing {
		return
	}
	if err := c.write(name, k); err != nil {
		c.log.Debug("a page is not kept on the disk", "err", err)
	}
}

// size is what an answer takes in memory, about.
func size(k web.Kept) int64 {
	n := 1024 + cap(k.Body) + len(k.URL)
	for _, from := range k.Via {
		n += len(from) + 16
	}
	for name, value := range k.Header {
		n += len(name) + len(value) + 64
	}
	return int64(n)
}

// read takes an answer from the disk: a line of JSON, and then the body.
func (c *Cache) read(name string) (web.Kept, bool) {
	if c.dir == "" || c.most == 0 {
		return web.Kept{}, false
	}
	text, err := private.Read(filepath.Join(c.dir, name+ending), mostItem+64<<10)
	if err != nil {
		return web.Kept{}, false
	}
	head, body, found := bytes.Cut(text, []byte("\n"))
	var k web.Kept
	if !found || json.Unmarshal(head, &k) != nil || k.Length != len(body) {
		return web.Kept{}, false
	}
	k.Body = body
	return k, true
}

func (c *Cache) write(name string, k web.Kept) error {
	k.Length = len(k.Body)
	head, err := json.Marshal(k)
	if err != nil {
		return err
	}
	if err := c.make(); err != nil {
		return err
	}
	file, err := os.CreateTemp(c.dir, tempPrefix+"*") // 0600
	if err != nil {
		return err
	}
	for _, part := range [][]byte{append(head, '\n'), k.Body} {
		_, failed := file.Write(part)
		err = errors.Join(err, failed)
	}
	if err = errors.Join(err, file.Close()); err == nil {
		err = os.Rename(file.Name(), filepath.Join(c.dir, name+ending))
	}
	if err != nil {
		return errors.Join(err, os.Remove(file.Name()))
	}
	return c.sweepAfter(onDisk(int64(len(head) + len(k.Body))))
}

func (c *Cache) make() error {
	c.disk.Lock()
	defer c.disk.Unlock()
	if c.made {
		return nil
	}
	_, err := private.MakeSub(filepath.Dir(c.dir), filepath.Base(c.dir))
	c.made = err == nil
	return err
}

// onDisk is what a file takes there, however little is in it.
func onDisk(size int64) int64 { return max(size, 4096) }

// sweepAfter removes the oldest once enough was written since the last time.
func (c *Cache) sweepAfter(n int64) error {
	c.disk.Lock()
	defer c.disk.Unlock()
	if c.written += n; c.written < c.most/sweepShare {
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
			continue // another process was faster
		}
		if !strings.HasSuffix(e.Name(), ending) && (!strings.HasPrefix(e.Name(), tempPrefix) || time.Since(info.ModTime()) < time.Minute) {
			continue
		}
		files = append(files, info)
		total += onDisk(info.Size())
	}
	slices.SortFunc(files, func(a, b fs.FileInfo) int { return a.ModTime().Compare(b.ModTime()) })
	for _, info := range files {
		if total <= c.most-c.most/sweepShare && time.Since(info.ModTime()) < keepAge {
			break
		}
		if err := os.Remove(filepath.Join(c.dir, info.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		total -= onDisk(info.Size())
	}
	return nil
}
