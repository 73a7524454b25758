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
	maxLoaded   = 50               // keys whose documents are read at once
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

// Topics returns the topics of all sources.
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
		if reason := x.Emptied(); reason != nil {
			s.log.Info("the search index is built anew from the store", "err", reason)
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

// parseCursor reads the state that a batch has written with its documents: the cursor, and
// while the index is being filled, the last key in it.
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
	byTopic := map[string][]string{}
	for _, k := range c.Keys {
		byTopic[k.Topic] = append(byTopic[k.Topic], k.Name)
	}
	for topic, names := range byTopic {
		if delete(byTopic, topic); len(byTopic) > 0 {
			err = s.take(ctx, topic, names, true, "")
		} else if err = s.take(ctx, topic, names, true, form+c.Next); err == nil {
			s.saved(c.Next)
		}
		if err != nil {
			return false, err
		}
	}
	return false, nil
}

// fill takes the next documents of the sources into the index. It continues where it, or another process, stopped.
func (s *searchIndex) fill(ctx context.Context) error {
	at := max(slices.Index(s.topics, s.filling.Topic), 0)
	topic, after := s.topics[at], ""
	if topic == s.filling.Topic {
		after = s.filling.Name
	}
	names, err := s.sources[topic].Keys(ctx, after, maxKeys)
	if err != nil {
		return fmt.Errorf("the keys of %s: %w", topic, err)
	}
	var next *Key
	cursor := form + s.cursor
	if len(names) == maxKeys {
		next = &Key{topic, names[maxKeys-1]}
	} else if at < len(s.topics)-1 {
		next = &Key{Topic: s.topics[at+1]}
	}
	if next != nil {
		cursor += separator + next.Topic + separator + next.Name
	}
	if err := s.take(ctx, topic, names, false, cursor); err != nil {
		return err
	}
	if s.filling = next; next == nil {
		s.saved(s.cursor)
		s.log.Debug("the search index was filled")
	}
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

// take writes the documents that some keys of a topic have now, in parts. The cursor is written with the last part,
// so that after a crash all are read again. Documents that were indexed before are replaced if replace is set.
func (s *searchIndex) take(ctx context.Context, topic string, names []string, replace bool, cursor string) error {
	var b index.Batch
	var read []string // the names of the batch
	size := 0
	for some := range slices.Chunk(names, maxLoaded) {
		if len(b.Put) >= maxPieces || size >= maxText {
			if err := s.write(ctx, topic, read, b, replace); err != nil {
				return err
			}
			b, read, size = index.Batch{}, nil, 0
		}
		docs, err := s.sources[topic].Load(ctx, some)
		if err != nil {
			return fmt.Errorf("reading %s: %w", topic, err)
		}
		for name, list := range docs {
			for _, d := range list {
				d.ID = Key{topic, name}.prefix() + d.ID
				b.Put = append(b.Put, d)
				size += len(d.Title) + len(d.Headings) + len(d.Body)
			}
		}
		read = append(read, some...)
	}
	b.Cursor = cursor
	return s.write(ctx, topic, read, b, replace)
}

// write writes a batch with all documents of some keys.
func (s *searchIndex) write(ctx context.Context, topic string, names []string, b index.Batch, replace bool) error {
	if replace {
		prefixes := make([]string, len(names))
		for i, name := range names {
			prefixes[i] = Key{topic, name}.prefix()
		}
		indexed, err := s.index.IDs(prefixes...)
		if err != nil {
			return err
		}
		kept := make(map[string]bool, len(b.Put))
		for _, d := range b.Put {
			kept[d.ID] = true
		}
		b.Delete = slices.DeleteFunc(indexed, func(id string) bool { return kept[id] })
	}
	if err := s.index.Apply(ctx, b); err != nil {
		return fmt.Errorf("writing the search index: %w", err)
	}
	return nil
}
