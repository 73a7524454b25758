package document

import (
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/private"
)

const (
	maxCachedFile  = 48 << 20 // bytes of one reading
	maxReadingsAge = 30 * 24 * time.Hour
	maxDownloadAge = 15 * time.Minute
)

// A cache keeps files under keys. Any number of processes share the directory. A file that is
// lost or damaged is made again.
type cache struct {
	dir   string
	bytes int64         // of all files
	age   time.Duration // since a file was stored or last touched
	mu    sync.Mutex
}

func (c *cache) path(key string) string { return filepath.Join(c.dir, key) }

// put stores the output of write under a key.
func (c *cache) put(key string, write func(io.Writer) error) error {
	if err := private.MakeDir(c.dir); err != nil {
		return err
	}
	file, err := os.CreateTemp(c.dir, "new-")
	if err != nil {
		return err
	}
	err = write(file)
	if err = cmp.Or(err, file.Close()); err == nil {
		err = os.Rename(file.Name(), c.path(key))
	}
	if err != nil {
		_ = os.Remove(file.Name())
		return err
	}
	return c.sweep()
}

// sweep removes the files that are too old, and the oldest ones beyond the limit.
func (c *cache) sweep() error {
	c.mu.Lock()
	defer c.mu.Unlock()
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
		if size += f.Size(); size <= c.bytes && time.Since(f.ModTime()) < c.age {
			continue
		}
		if err := private.Remove(c.path(f.Name())); err != nil {
			return err
		}
	}
	return nil
}

// reading returns the reading under a key.
func (c *cache) reading(key string) (r Reading, ok bool) {
	data, err := private.Read(c.path(key), maxCachedFile)
	if err != nil || json.Unmarshal(data, &r) != nil || r.Document == nil {
		return Reading{}, false
	}
	now := time.Now()
	_ = os.Chtimes(c.path(key), now, now) // the oldest are removed first
	return r, true
}

// putReading stores a reading, unless it is too large.
func (c *cache) putReading(key string, r Reading) error {
	data, err := json.Marshal(r)
	if err != nil || len(data) > maxCachedFile {
		return err
	}
	return c.put(key, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
}

// A Download is a document from the web, in a file.
type Download struct {
	*io.SectionReader
	Name string
	file *os.File
}

// Close closes the file.
func (d *Download) Close() error { return d.file.Close() }

// Download returns the document that Keep stored under a key in the last 15 minutes. The error
// is fs.ErrNotExist if there is none.
func (s *Service) Download(key string) (*Download, error) {
	file, err := os.Open(s.downloads.path(fileName(key)))
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err == nil && time.Since(info.ModTime()) >= maxDownloadAge {
		err = fs.ErrNotExist
	}
	d := &Download{file: file}
	head := json.NewDecoder(file)
	if err = cmp.Or(err, private.CheckFile(file)); err == nil {
		err = head.Decode(&d.Name)
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	begin := head.InputOffset() + 1
	d.SectionReader = io.NewSectionReader(file, begin, info.Size()-begin)
	return d, nil
}

// Keep stores a document from the web for 15 minutes, so that it is downloaded once and not for
// each of its pages. The key has to contain its owner. name is the name of the file.
func (s *Service) Keep(key, name string, body io.Reader) (*Download, error) {
	if _, err := s.sub("downloads"); err != nil {
		return nil, err
	}
	err := s.downloads.put(fileName(key), func(w io.Writer) error {
		if err := json.NewEncoder(w).Encode(name); err != nil {
			return err
		}
		_, err := io.Copy(w, body)
		return err
	})
	if err != nil {
		return nil, err
	}
	return s.Download(key)
}
