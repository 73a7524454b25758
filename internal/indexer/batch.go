package indexer

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/mcp-tools/mcp-tools/index"
)

// A key names something on a shelf.
type key struct{ topic, name string }

const separator = "\x00"

// prefix is what the IDs of all documents of a key begin with.
func (k key) prefix() string { return k.topic + separator + k.name + separator }

// shelved is the ID that the shelf gave a document.
func shelved(id string) string {
	parts := strings.SplitN(id, separator, 3)
	return parts[len(parts)-1]
}

const (
	mostText   = 4 << 20 // bytes of documents that are written at once
	mostPieces = 500     // documents that are written at once
)

// A batch gathers what is to be indexed, and writes it in pieces. The place is
// written with the last, so that after a crash all changes are read again. When
// an index is filled, each piece says how far that has come.
type batch struct {
	f     *follower
	empty bool // there is nothing in the index to be replaced
	keys  []key
	put   []index.Document
	bytes int
	total int
}

func (f *follower) batch(empty bool) *batch { return &batch{f: f, empty: empty} }

// add replaces all documents of a key by those that it has now.
func (b *batch) add(k key) error {
	docs, err := b.f.shelves[k.topic].Load(b.f.ctx, k.name)
	if err != nil {
		return fmt.Errorf("reading a %s: %w", k.topic, err)
	}
	b.keys = append(b.keys, k)
	for _, d := range docs {
		d.ID = k.prefix() + d.ID
		b.put = append(b.put, d)
		b.bytes += len(d.Title) + len(d.Headings) + len(d.Body)
	}
	if len(b.put) < mostPieces && b.bytes < mostText {
		return nil
	}
	if !b.empty {
		return b.flush("")
	}
	if err := b.flush(form + b.f.place + separator + k.topic + separator + k.name); err != nil {
		return err
	}
	b.f.filling = &k
	return nil
}

// end writes what is left, and the place.
func (b *batch) end(place string) error {
	if err := b.flush(form + place); err != nil {
		return err
	}
	b.f.place, b.f.kept = place, place
	b.f.next = time.Now().Add(writeDown)
	return nil
}

func (b *batch) flush(cursor string) error {
	write := index.Batch{Put: b.put, Cursor: cursor}
	if !b.empty && len(b.keys) > 0 {
		gone, err := b.gone()
		if err != nil {
			return err
		}
		write.Delete = gone
	}
	if err := b.f.x.Apply(b.f.ctx, write); err != nil {
		return fmt.Errorf("writing the search index: %w", err)
	}
	b.total += len(b.put)
	b.keys, b.put, b.bytes = nil, nil, 0
	return nil
}

// gone are the documents of the keys that are not there any more.
func (b *batch) gone() ([]string, error) {
	prefixes := make([]string, len(b.keys))
	for i, k := range b.keys {
		prefixes[i] = k.prefix()
	}
	indexed, err := b.f.x.IDs(prefixes...)
	if err != nil {
		return nil, err
	}
	stays := make(map[string]bool, len(b.put))
	for _, d := range b.put {
		stays[d.ID] = true
	}
	var gone []string
	for _, id := range indexed {
		if !stays[id] {
			gone = append(gone, id)
		}
	}
	return gone, nil
}

// writeCursor writes the place alone, also when all is about to end.
func (f *follower) writeCursor(place string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(f.ctx), 2*time.Second)
	defer cancel()
	if err := f.x.Apply(ctx, index.Batch{Cursor: form + place}); err != nil {
		return err
	}
	f.kept = place
	f.next = time.Now().Add(writeDown)
	return nil
}
