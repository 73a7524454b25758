package indexer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcp-tools/mcp-tools/index"
)

const (
	// form changes whenever sources would make other documents of the same rows.
	form = "2 "

	maxKeys     = 500                // of a source, that are listed at once
	maxLoaded   = 50                 // keys whose documents are read at once
	maxText     = 4 << 20            // bytes of documents that are written at once
	maxPieces   = 500                // documents that are written at once
	keep        = 7 * 24 * time.Hour // that a scope without searches is followed
	cursorAge   = 10 * time.Minute   // how old the cursor on disk may be
	lastWriting = 2 * time.Second    // for the cursor, when everything is about to end

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
	filling *filling  // the scope that is being filled, or nil

	mu      sync.Mutex
	used    map[string]bool // scopes that were searched since the process started
	pending []string        // scopes to fill, or to mark as used
	// marks are those of scopes in the index, as far as they are known: the day of a use and, while the scope is being filled,
	// the last key in the index; "" if the scope is not there, or its changes are not followed.
	marks map[string]string
	given map[string]string // empty marks of scopes that are not followed any more, for the next batch
}

// A filling is a scope whose documents are being taken in.
type filling struct {
	scope string
	key   Key // the last one that is in the index
}

// want notes that scopes are searched. It reports whether some are not in the index, as far as that is known.
func (s *searchIndex) want(scopes []string) (fill bool) {
	day := today()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, scope := range scopes {
		s.used[scope] = true
		if s.marks[scope] != day && !slices.Contains(s.pending, scope) {
			s.pending = append(s.pending, scope)
		}
		fill = fill || s.marks[scope] == "" || strings.Contains(s.marks[scope], separator)
	}
	return fill
}

func today() string { return strconv.FormatInt(time.Now().Unix()/day, 10) }

// day is a day in seconds.
const day = 24 * 60 * 60

// wanted reports whether changes of a scope are followed: it is in the index, and was searched in the last days.
func (s *searchIndex) wanted(scope string) bool {
	if s.filling != nil && s.filling.scope == scope {
		return true
	}
	s.mu.Lock()
	mark, known := s.marks[scope]
	s.mu.Unlock()
	var err error
	if !known {
		mark, err = s.index.Mark(scope)
	}
	if err != nil || mark != "" && !fresh(mark) {
		// The batch with the first change that is not followed removes the mark: a clock that is set back cannot renew it.
		s.given[scope] = ""
		mark = ""
	}
	s.mark(scope, mark)
	return mark != ""
}

// fresh reports whether a mark is of the last days.
func fresh(mark string) bool {
	mark, _, _ = strings.Cut(mark, separator)
	at, err := strconv.ParseInt(mark, 10, 64)
	return err == nil && time.Since(time.Unix(at*day, 0)) < keep
}

// mark notes the mark of a scope.
func (s *searchIndex) mark(scope, mark string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.marks[scope] = mark
}

// emptied notes that nothing is in the index. What was searched is filled again.
func (s *searchIndex) emptied() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.filling = nil
	clear(s.marks)
	clear(s.given)
	s.pending = slices.Collect(maps.Keys(s.used))
}

// next returns the next scope to fill or to mark.
func (s *searchIndex) next() (scope string, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.pending) == 0 {
		return "", false
	}
	return s.pending[0], true
}

// done removes a scope from those to fill.
func (s *searchIndex) done(scope string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pending = slices.DeleteFunc(s.pending, func(p string) bool { return p == scope })
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
		cursor, known := strings.CutPrefix(cursor, form)
		if !known {
			cursor = ""
		}
		s.saved(cursor)
		s.opened(x)
	}
	if s.suspect.Swap(false) {
		s.cursor = ""
	}
	return s.cursor, nil
}

// Apply replaces the documents of keys that have changed, and fills scopes that are searched, a part in each call.
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
	if c.Lost {
		if err := s.index.Reset(); err != nil {
			return false, err
		}
		s.emptied()
		s.cursor, s.written = c.Next, "" // the first batch has it
		return true, nil
	}
	if err := s.follow(ctx, c); err != nil {
		return false, err
	}
	return s.fill(ctx)
}

// follow takes changes in.
func (s *searchIndex) follow(ctx context.Context, c Changes) (err error) {
	if len(c.Keys) == 0 {
		s.cursor = c.Next
		s.saveCursor(ctx, false)
		return nil
	}
	byTopic := map[string][]string{}
	for _, k := range c.Keys {
		byTopic[k.Topic] = append(byTopic[k.Topic], k.Name)
	}
	for topic, names := range byTopic {
		if delete(byTopic, topic); len(byTopic) > 0 {
			err = s.take(ctx, topic, names, index.Batch{})
		} else {
			err = s.take(ctx, topic, names, index.Batch{Cursor: form + c.Next})
		}
		if err != nil {
			return err
		}
	}
	if s.cursor = c.Next; s.written != c.Next { // nothing was written, and so not the cursor
		s.saveCursor(ctx, false)
	}
	return nil
}

// fill takes the next documents of a scope that is searched into the index.
func (s *searchIndex) fill(ctx context.Context) (more bool, err error) {
	if s.filling == nil {
		scope, ok := s.next()
		if !ok {
			return false, nil
		}
		mark, err := s.index.Mark(scope)
		if err != nil {
			return false, err
		}
		s.mu.Lock()
		if was, known := s.marks[scope]; known && was == "" {
			mark = "" // its changes were not followed
		}
		s.mu.Unlock()
		f := &filling{scope: scope}
		if parts := strings.SplitN(mark, separator, 3); fresh(mark) && len(parts) == 3 {
			f.key = Key{parts[1], parts[2]}
		} else if fresh(mark) {
			if mark != today() {
				mark = today()
				if err := s.index.Apply(ctx, index.Batch{Marks: map[string]string{scope: mark}}); err != nil {
					return false, err
				}
			}
			s.mark(scope, mark)
			s.done(scope)
			return true, nil
		}
		s.filling = f
	}
	f := s.filling
	topic, names, next, err := s.keysOf(ctx, *f)
	if err != nil {
		return false, err
	}
	mark := today()
	if next != (Key{}) {
		mark += separator + next.Topic + separator + next.Name
	}
	if err := s.take(ctx, topic, names, index.Batch{Marks: map[string]string{f.scope: mark}}); err != nil {
		return false, err
	}
	s.mark(f.scope, mark)
	if f.key = next; next == (Key{}) {
		s.done(f.scope)
		s.filling = nil
	}
	return true, nil
}

// keysOf returns the next keys of a scope, their topic, and the place to go on from: the zero Key at the end.
func (s *searchIndex) keysOf(ctx context.Context, f filling) (topic string, names []string, next Key, err error) {
	after := f.key.Name
	for _, topic = range s.topics[max(slices.Index(s.topics, f.key.Topic), 0):] {
		some, err := s.sources[topic].Keys(ctx, f.scope, after, maxKeys)
		switch after = ""; {
		case err != nil:
			return "", nil, next, fmt.Errorf("the keys of %s: %w", topic, err)
		case len(some) == 0:
		case names != nil:
			return next.Topic, names, Key{Topic: topic}, nil
		case len(some) == maxKeys:
			return topic, some, Key{topic, some[maxKeys-1]}, nil
		default:
			names, next.Topic = some, topic
		}
	}
	return cmp.Or(next.Topic, topic), names, Key{}, nil
}

// saved notes that a cursor is on disk.
func (s *searchIndex) saved(cursor string) {
	s.cursor, s.written, s.due = cursor, cursor, time.Now().Add(cursorAge)
}

// saveCursor writes the cursor alone if it was not written for a long time, or now: the feed does not keep changes
// forever.
func (s *searchIndex) saveCursor(ctx context.Context, now bool) {
	if s.index == nil || s.cursor == "" || s.cursor == s.written || !now &&
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

// take writes the documents that some keys of a topic have now in the scopes that are wanted, in parts, and removes those that
// they had. last has the cursor and the marks that are written with the last part, so that after a crash all are read again.
func (s *searchIndex) take(ctx context.Context, topic string, names []string, last index.Batch) error {
	var b index.Batch
	var read []string // the names of the batch
	size := 0
	for some := range slices.Chunk(names, maxLoaded) {
		if len(b.Put) >= maxPieces || size >= maxText {
			if err := s.write(ctx, topic, read, b); err != nil {
				return err
			}
			b, read, size = index.Batch{}, nil, 0
		}
		docs, err := s.sources[topic].Load(ctx, some, s.wanted)
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
	b.Cursor, b.Marks = last.Cursor, last.Marks
	if len(s.given) > 0 {
		b.Marks = maps.Clone(s.given)
		maps.Copy(b.Marks, last.Marks)
	}
	return s.write(ctx, topic, read, b)
}

// write writes a batch with all documents of some keys. A batch with nothing but a cursor is not written.
func (s *searchIndex) write(ctx context.Context, topic string, names []string, b index.Batch) error {
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
	if b.Cursor == "" && s.written == "" && s.cursor != "" {
		b.Cursor = form + s.cursor
	}
	if len(b.Put)+len(b.Delete)+len(b.Marks) == 0 {
		return nil
	}
	if err := s.index.Apply(ctx, b); err != nil {
		return fmt.Errorf("writing the search index: %w", err)
	}
	for scope := range b.Marks {
		delete(s.given, scope)
	}
	if b.Cursor != "" {
		s.saved(strings.TrimPrefix(b.Cursor, form))
	}
	return nil
}
