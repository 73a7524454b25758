package blob

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/store"
)

// A Stored is a blob as its place has it, for copies: encrypted if it is.
type Stored struct {
	Name  string
	place Place
	ctx   context.Context
	size  int64
}

// Content returns the stored bytes.
func (s Stored) Content() Content { return Content{ReaderAt: s, Size: s.size} }

// ReadAt reads stored bytes.
func (s Stored) ReadAt(p []byte, offset int64) (n int, err error) {
	for n < len(p) && offset < s.size {
		want := min(int64(len(p)-n), s.size-offset, chunkSize)
		r, err := s.place.Open(s.ctx, s.Name, offset, want)
		if err != nil {
			return n, err
		}
		got, err := io.ReadFull(r, p[n:n+int(want)])
		_ = r.Close() // it was read only
		n, offset = n+got, offset+int64(got)
		if err != nil {
			return n, fmt.Errorf("the blob %s in %s: %w", s.Name, s.place, err)
		}
	}
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// Each calls yield with all blobs of rows, except caches, until it returns an error.
func (b *Blobs) Each(ctx context.Context, yield func(Stored) error) error {
	for after := ""; ; {
		list, err := store.Select(ctx, b.o.Store,
			`SELECT blob, max(size) FROM kept WHERE blob > $1 AND noun NOT LIKE '`+Cache+`%'
			GROUP BY blob ORDER BY blob LIMIT $2`, []any{after, listed},
			func(scan store.Scan) (s Stored, err error) {
				err = scan(&s.Name, &s.size)
				s.place, s.ctx = b.o.Place, ctx
				return s, err
			})
		if err != nil || len(list) == 0 {
			return err
		}
		after = list[len(list)-1].Name
		for _, s := range list {
			if _, overhead, ok := strings.Cut(s.Name, sealedMark); ok {
				n, err := strconv.ParseInt(overhead, 10, 64)
				if err != nil || n < 0 || n >= chunkSize {
					return fmt.Errorf("%q is not the name of a blob", s.Name)
				}
				s.size += (s.size + chunkSize - n - 1) / (chunkSize - n) * n
			}
			if err := yield(s); err != nil {
				return err
			}
		}
	}
}

// CopyTo copies the blobs of [Blobs.Each] into the place of another store, unless the place is the same. It returns
// their number.
func (b *Blobs) CopyTo(ctx context.Context, to *Blobs) (n int, err error) {
	if b.o.Place.String() == to.o.Place.String() {
		return 0, nil
	}
	err = b.Each(ctx, func(s Stored) error {
		n++
		return to.o.Place.Put(ctx, s.Name, s.Content())
	})
	return n, err
}

// Restore stores the bytes of a blob from a copy.
func (b *Blobs) Restore(ctx context.Context, name string, r io.Reader) error {
	s, err := b.spool(r, b.o.Place.Max()+chunkSize)
	if err != nil {
		return err
	}
	defer s.discard()
	return b.o.Place.Put(ctx, name, s.Content)
}

// InDatabase reports whether the bytes are rows of the store. Copies of the store then have
// them.
func (b *Blobs) InDatabase() bool {
	_, ok := b.o.Place.(*Database)
	return ok
}
