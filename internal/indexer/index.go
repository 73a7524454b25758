package indexer

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/mcp-tools/mcp-tools/index"
)

const (
	// form changes whenever sources would make other documents of the same rows.
	form = "1 "

	maxKeys     = 500              // of a source, that are listed at once
	maxText     = 4 << 20          // bytes of documents that are written at once
	maxPieces   = 500              // documents that are written at once
	cursorAge   = 10 * time.Minute // how old the cursor on disk may be
	lastWriting = 2 * time.Second  // for the cursor, when everything is about to end

	separator = "\x00" // between topic, name and the source's ID in the IDs of the index
)

// A searchIndex is the Subscriber that keeps the index on disk.
type searchIndex struct {
	dir     string
	log     *slog.Logger
	sources map[string]Source // by topic
	topics  []string
	opened  func(*index.Index) // is called once, when the index is open
	suspect atomic.Bool        // a search has failed: the index is rebuilt

	index   *index.Index
	cursor  string    // how far the index has followed the feed
	written string    // the cursor on disk
	due     time.Time // when the cursor is written although no document is
	// filling is the last key that is in an index that is being filled, and nil when everything is in it.
	// Changes since cursor are read after that.
	filling *Key
}

// Topics returns those of all sources.
func (s *searchIndex) Topics() []string { return s.topics }

// Cursor opens the index if it is not open, and returns how far it has followed the feed.
func (s *searchIndex) Cursor(context.Context) (string, error) {
	if s.index == nil {
		x, err := index.Open(s.dir)
		if err != nil {
			return "", fmt.Errorf("opening the search index: %w", err)
		}
		cursor, err := x.Cursor()
		if err != nil {
			cursor = "" // then it is filled
		}
		s.index = x
		s.cursor, s.filling = parseCursor(cursor)
		s.saved(s.cursor)
		s.opened(x)
	}
	if s.suspect.Swap(false) {
		s.cursor = ""
	}
	return s.cursor, nil
}

// parseCursor reads what a batch has written with its documents: the cursor, and while the index is being filled, the
// last key in it.
func parseCursor(text string) (cursor string, filling *Key) {
	cursor, ok := strings.CutPrefix(text, form)
	if !ok {
		return "", nil
	}
	if parts := strings.SplitN(cursor, separator, 3); len(parts) == 3 {
		return parts[0], &Key{parts[1], parts[2]}
	}
	return cursor, nil
}

// Apply replaces the documents of keys that have changed. When changes are lost it fills the index, a part in
// each call.
func (s *searchIndex) Apply(ctx context.Context, c Changes) (more bool, err error) {
	defer func() {
		if p := recover(); p != nil { // a damaged index can do anything
			err = fmt.Errorf("the index: %v", p)
			s.cursor = ""
		}
		if errors.Is(err, index.ErrDamaged) {
			s.cursor = ""
		}
	}()
	switch {
	case c.Lost:
		if err := s.index.Reset(); err != nil {
			return false, err
		}
		s.cursor, s.written, s.filling = c.Next, "", &Key{}
		fallthrough
	case s.filling != nil:
		return true, s.fill(ctx)
	case len(c.Keys) == 0:
		s.cursor = c.Next
		s.saveCursor(ctx, false)
		return false, nil
	}
	b := &batch{s: s, replace: true}
	for _, k := range c.Keys {
		if err := b.add(ctx, k); err != nil {
			return false, err
		}
	}
	return false, b.end(ctx, c.Next)
}

// fill takes the next documents of the sources into the index. It continues where it, or another process, stopped.
func (s *searchIndex) fill(ctx context.Context) error {
	b := &batch{s: s}
	at := max(slices.Index(s.topics, s.filling.Topic), 0)
	topic, after := s.topics[at], ""
	if topic == s.filling.Topic {
		after = s.filling.Name
	}
	names, err := s.sources[topic].Keys(ctx, after, maxKeys)
	if err != nil {
		return fmt.Errorf("the keys of %s: %w", topic, err)
	}
	for _, name := range names {
		if err := b.add(ctx, Key{topic, name}); err != nil {
			return err
		}
		after = name
	}
	switch {
	case len(names) == maxKeys:
		return b.flush(ctx, Key{topic, after})
	case at < len(s.topics)-1:
		return b.flush(ctx, Key{Topic: s.topics[at+1]})
	}
	if err := b.end(ctx, s.cursor); err != nil {
		return err
	}
	s.filling = nil
	s.log.Debug("the search index was filled")
	return nil
}

// saved notes that a cursor is on disk.
func (s *searchIndex) saved(cursor string) {
	s.cursor, s.written, s.due = cursor, cursor, time.Now().Add(cursorAge)
}

// saveCursor writes the cursor alone if it was not written for a long time, or now: the feed does not keep changes
// forever.
func (s *searchIndex) saveCursor(ctx context.Context, now bool) {
	if s.index == nil || s.cursor == "" || s.filling != nil || s.cursor == s.written || !now &&
		time.Now().Before(s.due) {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastWriting)
	defer cancel()
	if err := s.index.Apply(ctx, index.Batch{Cursor: form + s.cursor}); err != nil {
		s.log.Debug("the cursor of the search index is not written", "err", err)
		return
	}
	s.saved(s.cursor)
}

// prefix returns the common beginning of the IDs of all documents of a key.
func (k Key) prefix() string { return k.Topic + separator + k.Name + separator }

// sourceID returns the ID that the source gave a document.
func sourceID(id string) string {
	parts := strings.SplitN(id, separator, 3)
	return parts[len(parts)-1]
}

// A batch gathers documents and writes them in parts. The cursor is written with the last, so that after a crash all
// changes are read again. While the index is filled, each part says how far that has come.
type batch struct {
	s       *searchIndex
	replace bool // documents of the keys may be in the index
	keys    []Key
	put     []index.Document
	bytes   int
}

// add adds all documents that a key has now.
func (b *batch) add(ctx context.Context, k Key) error {
	docs, err := b.s.sources[k.Topic].Load(ctx, k.Name)
	if err != nil {
		return fmt.Errorf("reading a %s: %w", k.Topic, err)
	}
	b.keys = append(b.keys, k)
	for _, d := range docs {
		d.ID = k.prefix() + d.ID
		b.put = append(b.put, d)
		b.bytes += len(d.Title) + len(d.Headings) + len(d.Body)
	}
	switch {
	case len(b.put) < maxPieces && b.bytes < maxText:
		return nil
	case b.replace:
		return b.write(ctx, "")
	}
	return b.flush(ctx, k)
}

// flush writes the gathered documents of an index that is being filled; k is the last key among them.
func (b *batch) flush(ctx context.Context, k Key) error {
	if err := b.write(ctx, form+b.s.cursor+separator+k.Topic+separator+k.Name); err != nil {
		return err
	}
	b.s.filling = &k
	return nil
}

// end writes the gathered documents and a cursor.
func (b *batch) end(ctx context.Context, cursor string) error {
	if err := b.write(ctx, form+cursor); err != nil {
		return err
	}
	b.s.saved(cursor)
	return nil
}

func (b *batch) write(ctx context.Context, cursor string) error {
	w := index.Batch{Put: b.put, Cursor: cursor}
	if b.replace && len(b.keys) > 0 {
		var err error
		if w.Delete, err = b.stale(); err != nil {
			return err
		}
	}
	if err := b.s.index.Apply(ctx, w); err != nil {
		return fmt.Errorf("writing the search index: %w", err)
	}
	b.keys, b.put, b.bytes = nil, nil, 0
	return nil
}

// stale returns the indexed documents of the keys that they have no longer.
func (b *batch) stale() ([]string, error) {
	prefixes := make([]string, len(b.keys))
	for i, k := range b.keys {
		prefixes[i] = k.prefix()
	}
	indexed, err := b.s.index.IDs(prefixes...)
	if err != nil {
		return nil, err
	}
	kept := make(map[string]bool, len(b.put))
	for _, d := range b.put {
		kept[d.ID] = true
	}
	return slices.DeleteFunc(indexed, func(id string) bool { return kept[id] }), nil
}
