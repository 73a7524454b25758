package document

import (
	"cmp"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/private"
)

const (
	maxCached     = 256 << 20 // bytes of all readings
	maxCachedFile = 48 << 20
	maxCachedAge  = 30 * 24 * time.Hour
)

// A cache keeps readings in files, named by what they are readings of. Any number of processes
// share the directory. A reading that is lost or damaged is made again.
type cache struct {
	dir string
	mu  sync.Mutex
}

func (c *cache) path(key string) string { return filepath.Join(c.dir, key+".json") }

func (c *cache) get(key string) (r Reading, ok bool) {
	data, err := private.Read(c.path(key), maxCachedFile)
	if err != nil || json.Unmarshal(data, &r) != nil || r.Document == nil {
		return Reading{}, false
	}
	now := time.Now()
	_ = os.Chtimes(c.path(key), now, now) // the oldest are removed first
	return r, true
}

func (c *cache) put(key string, r Reading) error {
	data, err := json.Marshal(r)
	if err != nil || len(data) > maxCachedFile {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := private.MakeDir(c.dir); err != nil {
		return err
	}
	file, err := os.CreateTemp(c.dir, "new-")
	if err != nil {
		return err
	}
	_, err = file.Write(data)
	if err = cmp.Or(err, file.Close()); err == nil {
		err = os.Rename(file.Name(), c.path(key))
	}
	if err != nil {
		_ = os.Remove(file.Name())
		return err
	}
	return c.sweep()
}

// sweep removes the readings that were not used for long, and the oldest ones beyond the limit.
func (c *cache) sweep() error {
	entries, err := os.ReadDir(c.dir)
	if err != nil {
		return err
	}
	var files []fs.FileInfo
	for _, e := range entries {
		if info, err := e.Info(); err == nil {
			files = append(files, info)
		}
	}
	slices.SortFunc(files, func(a, b fs.FileInfo) int { return b.ModTime().Compare(a.ModTime()) })
	size := int64(0)
	for _, f := range files {
		if size += f.Size(); size <= maxCached && time.Since(f.ModTime()) < maxCachedAge {
			continue
		}
		if err := private.Remove(filepath.Join(c.dir, f.Name())); err != nil {
			return err
		}
	}
	return nil
}
