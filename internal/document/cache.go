package document

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/blob"
	"github.com/mcp-tools/mcp-tools/internal/private"
)

const (
	maxCachedFile  = 48 << 20 // bytes of one reading
	maxReadingsAge = 30 * 24 * time.Hour
	maxDownloadAge = 15 * time.Minute
	// readingsOwner owns all readings: a reading is found only with the content of its document.
	readingsOwner = "documents"
)

// A cache has readings, and documents from the web, as blobs, so that all servers on the store have the same. A lost
// or damaged entry is made again. The zero value has nothing and keeps nothing.
type cache struct{ readings, downloads *blob.Shelf }

func newCache(b *blob.Blobs) cache {
	if b == nil {
		return cache{}
	}
	return cache{
		b.NewShelf(blob.Cache+"reading", blob.Limits{Item: maxCachedFile, All: maxCached, Age: maxReadingsAge, Used: true}),
		b.NewShelf(blob.Cache+"download", blob.Limits{All: maxCached, Age: maxDownloadAge}),
	}
}

// reading returns the reading under a key.
func (c cache) reading(ctx context.Context, key string) (r Reading, ok bool) {
	if c.readings == nil {
		return Reading{}, false
	}
	item, err := c.readings.Get(ctx, readingsOwner, key)
	if err != nil {
		return Reading{}, false
	}
	defer item.Close()
	data, err := io.ReadAll(item)
	if err != nil || json.Unmarshal(data, &r) != nil || r.Document == nil {
		return Reading{}, false
	}
	return r, true
}

// putReading stores a reading, unless it is too large.
func (c cache) putReading(ctx context.Context, key string, r Reading) error {
	if c.readings == nil {
		return nil
	}
	from, to := io.Pipe()
	go func() { _ = to.CloseWithError(json.NewEncoder(to).Encode(r)) }()
	err := c.readings.Put(ctx, readingsOwner, key, "", from)
	_ = from.Close() // the encoder ends
	if errors.Is(err, blob.ErrTooLarge) {
		return nil
	}
	return err
}

// A Download is a document from the web.
type Download struct {
	*io.SectionReader
	Name  string
	close func() error
}

// Close releases the document.
func (d *Download) Close() error { return d.close() }

// Download returns the document that Keep stored for an owner under a key in the last 15 minutes. The error is
// fs.ErrNotExist if there is none.
func (s *Service) Download(ctx context.Context, owner, key string) (*Download, error) {
	if s.cache.downloads == nil {
		return nil, os.ErrNotExist
	}
	item, err := s.cache.downloads.Get(ctx, owner, fileName(key))
	if err != nil {
		return nil, err
	}
	return &Download{item.SectionReader, item.About, item.Close}, nil
}

// Keep stores a document from the web for 15 minutes, so that an owner downloads it once and not for each of its pages.
// name is the name of the file. A document that cannot be stored is returned all the same. The error is one of reading
// body.
func (s *Service) Keep(ctx context.Context, owner, key, name string, body io.Reader) (*Download, error) {
	dir, err := s.sub("incoming")
	if err != nil {
		return nil, err
	}
	file, err := private.TempFile(dir)
	if err != nil {
		return nil, err
	}
	size, err := io.Copy(file, body)
	if err != nil {
		private.Discard(file)
		return nil, err
	}
	d := &Download{io.NewSectionReader(file, 0, size), name, func() error { private.Discard(file); return nil }}
	if s.cache.downloads != nil {
		err = s.cache.downloads.Put(ctx, owner, fileName(key), name, io.NewSectionReader(file, 0, size))
		s.notKept(err)
	}
	return d, nil
}

// notKept logs that a document is read or downloaded again by the next call.
func (s *Service) notKept(err error) {
	if err != nil && s.o.Log != nil && !errors.Is(err, blob.ErrTooLarge) {
		s.o.Log.Warn("a document could not be kept for the next call", "err", err)
	}
}

// removeOld removes the caches from before there were blobs.
func (s *Service) removeOld() {
	for _, name := range []string{"cache", "downloads"} {
		if err := os.RemoveAll(filepath.Join(s.o.Dir, name)); err != nil && s.o.Log != nil {
			s.o.Log.Debug("an old cache of documents is not removed", "err", err)
		}
	}
}
