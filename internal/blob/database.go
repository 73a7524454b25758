package blob

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/mcp-tools/mcp-tools/internal/store"
)

// maxInDatabase is the maximum size of a blob in the database, in bytes. It is written in one transaction.
const maxInDatabase = 64 << 20

// Database is a place in a table of the store, with a row for each chunk. So the blobs are in the backups of the
// database, and are there with the row that refers to them, or not at all.
type Database struct{ store *store.Store }

// NewDatabase returns the place in a store.
func NewDatabase(s *store.Store) *Database { return &Database{s} }

func (d *Database) String() string { return d.store.Location() }

// Max returns the maximum size of a content.
func (d *Database) Max() int64 { return maxInDatabase }

// Put stores a content.
func (d *Database) Put(ctx context.Context, name string, c Content) error {
	return d.store.Update(ctx, func(t *store.Tx) error { return putRows(t, name, c) })
}

func putRows(t *store.Tx, name string, c Content) error {
	chunk := make([]byte, min(chunkSize, c.Size))
	for n := int64(0); n*chunkSize < c.Size; n++ { // nothing for an empty content: it is never read
		part := chunk[:min(chunkSize, c.Size-n*chunkSize)]
		if got, err := c.ReadAt(part, n*chunkSize); err != nil && (err != io.EOF || got < len(part)) {
			return err
		}
		if _, err := t.Exec(`INSERT INTO blob (name, n, data) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING`,
			name, n, part); err != nil {
			return err
		}
	}
	return nil
}

// Open returns a part of a content.
func (d *Database) Open(ctx context.Context, name string, offset, n int64) (io.ReadCloser, error) {
	first := offset / chunkSize
	list, err := store.Select(ctx, d.store, `SELECT data FROM blob WHERE name = $1 AND n BETWEEN $2 AND $3 ORDER BY n`,
		[]any{name, first, (offset + max(n, 1) - 1) / chunkSize}, store.One[[]byte])
	if err != nil {
		return nil, err
	}
	data := bytes.Join(list, nil)
	if len(list) == 0 {
		var one int
		err := d.store.Row(ctx, `SELECT 1 FROM blob WHERE name = $1 AND n = 0`, []any{name}, &one)
		if errors.Is(err, store.ErrNotFound) {
			err = fmt.Errorf("no blob %s in the database: %w", name, fs.ErrNotExist)
		}
		if err != nil {
			return nil, err
		}
	}
	data = data[min(offset-first*chunkSize, int64(len(data))):]
	return io.NopCloser(bytes.NewReader(data[:min(n, int64(len(data)))])), nil
}

// Delete removes contents.
func (d *Database) Delete(ctx context.Context, names ...string) error {
	for begin := 0; begin < len(names); begin += listed {
		var args []any
		in := store.In(&args, names[begin:min(begin+listed, len(names))])
		if err := d.store.Update(ctx, func(t *store.Tx) error {
			_, err := t.Exec("DELETE FROM blob WHERE name IN ("+in+")", args...)
			return err
		}); err != nil {
			return err
		}
	}
	return nil
}

// listed is the number of names that are read or removed at a time.
const listed = 256

// Each calls yield with names.
func (d *Database) Each(ctx context.Context, before string, yield func(names []string) error) error {
	for after := ""; ; {
		list, err := store.Select(ctx, d.store,
			`SELECT name FROM blob WHERE n = 0 AND name > $1 AND name < $2 ORDER BY name LIMIT $3`,
			[]any{after, before, listed}, store.One[string])
		if err != nil || len(list) == 0 {
			return err
		}
		after = list[len(list)-1]
		if err := yield(list); err != nil {
			return err
		}
	}
}
