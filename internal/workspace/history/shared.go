package history

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/blob"
	"github.com/mcp-tools/mcp-tools/internal/private"
	"github.com/mcp-tools/mcp-tools/internal/store"
)

// A Shared history has the changes of all servers on a store, so that a change of one server can be undone on another
// one that sees the same files. Each server makes its changes as it does alone, with its own journal and copies. Before
// it acknowledges a change it publishes it: the old contents become blobs, and then the record a row. If the store is
// not available, the change is made, and [Store.Work] publishes it when the store is. If the process is killed in
// between, the next start of the server publishes it.
type Shared struct {
	store    *store.Store
	contents *blob.Shelf
	age      time.Duration
}

const (
	sharedNoun = "history"
	// sharedOwner owns the contents of all callers, as one directory would. The record of a change decides about
	// the right to undo it.
	sharedOwner = "files"

	publishedName  = "published"
	publishTimeout = 10 * time.Second
	sharedPage     = 200 // records that are read at a time
)

// NewShared returns the history of all servers. It reads and writes nothing.
func NewShared(b *blob.Blobs, l Limits) *Shared {
	l = l.withDefaults()
	return &Shared{b.Store(), b.NewShelf(sharedNoun, blob.Limits{All: l.Bytes, Age: l.Age}), l.Age}
}

// Share makes the store publish its changes, and read the changes of other servers. It is called before the
// first use.
func (s *Store) Share(all *Shared) { s.shared = all }

// published is how far the catalogue was published. It is in a file.
type published struct {
	At int64 `json:"at"` // offset in the catalogue
}

// publish publishes the changes that are not published yet, and removes the rows of old ones from time to time. It logs
// errors: the changes were made.
func (s *Store) publish(ctx context.Context) (ok bool) {
	if s.shared == nil {
		return false
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), publishTimeout)
	defer cancel()
	select {
	case s.publishing <- struct{}{}:
		defer func() { <-s.publishing }()
	case <-ctx.Done():
		s.publishLater()
		return false
	}
	if err := s.publishNew(ctx); err != nil {
		s.log.Warn("changes of files can be undone on this server only, until the store is available", "err", err)
		s.publishLater()
		return false
	}
	return true
}

// publishLater makes Work publish.
func (s *Store) publishLater() {
	s.late.Store(true)
	s.shared.store.Poke(s.lateTopic())
}

// lateTopic is the topic of changes of this server that are not published. It is not in the change feed.
func (s *Store) lateTopic() string { return "unpublished files " + s.dir }

// Work publishes changes that could not be published when they were made, until ctx ends. Without a shared history it
// returns.
func (s *Store) Work(ctx context.Context) {
	if s.shared == nil {
		return
	}
	s.shared.store.Work(ctx, "changes of files are not published yet", func(ctx context.Context) (time.Duration, error) {
		if !s.late.Load() {
			return 0, nil
		}
		s.publishing <- struct{}{}
		defer func() { <-s.publishing }()
		ctx, cancel := context.WithTimeout(ctx, publishTimeout)
		defer cancel()
		return 0, s.publishNew(ctx)
	}, s.lateTopic())
}

// publishNew publishes the changes that are not published. The caller has publishing.
func (s *Store) publishNew(ctx context.Context) (err error) {
	s.late.Store(false) // a change from now on may be missed
	defer func() {
		if err != nil {
			s.late.Store(true)
		}
	}()
	book, err := os.Open(s.path(catalogueName))
	if notExist(err) {
		return nil
	}
	if err != nil {
		return err
	}
	defer book.Close()
	from := s.published(book)
	if _, err := book.Seek(from, io.SeekStart); err != nil {
		return err
	}
	lines, to := bufio.NewReader(book), from
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil { // the end, or a line that is being written
			break
		}
		var r Record
		if json.Unmarshal(line, &r) == nil && r.ID != "" {
			if err := s.publishRecord(ctx, r, bytes.TrimSpace(line)); err != nil {
				return err
			}
		}
		to += int64(len(line))
	}
	if to == from {
		return nil
	}
	return s.setPublished(ctx, book, to)
}

// published returns the offset of the first record of a catalogue that was not published.
func (s *Store) published(book *os.File) int64 {
	var p published
	data, err := os.ReadFile(s.path(publishedName))
	if err != nil || json.Unmarshal(data, &p) != nil {
		return 0
	}
	if info, err := book.Stat(); err != nil || p.At < 0 || p.At > info.Size() {
		return 0
	}
	return p.At
}

// setPublished saves an offset of a catalogue, unless the catalogue was trimmed in the meantime. Then records are
// published again; this changes nothing.
func (s *Store) setPublished(ctx context.Context, book *os.File, at int64) error {
	unlock, err := s.lockCatalogue(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	if !isLinked(book, s.path(catalogueName)) {
		return nil
	}
	return s.writePublished(at)
}

func (s *Store) writePublished(at int64) error {
	data, err := json.Marshal(published{at})
	if err != nil {
		return err
	}
	return private.Replace(s.path(publishedName), data)
}

// trimPublished moves the offset back by n bytes that were removed from the catalogue, whose lock the caller holds.
func (s *Store) trimPublished(n int64) error {
	var p published
	data, err := os.ReadFile(s.path(publishedName))
	if notExist(err) {
		return nil
	}
	if err != nil || json.Unmarshal(data, &p) != nil {
		p.At = 0
	}
	return s.writePublished(max(0, p.At-n))
}

// publishRecord stores the old contents of a change, and then its record.
func (s *Store) publishRecord(ctx context.Context, r Record, line []byte) error {
	if time.Since(r.Time) > s.shared.age {
		return nil
	}
	for _, f := range r.Files {
		if f.Before == nil || !f.Before.Kept {
			continue
		}
		if err := s.publishContent(ctx, f.Before); err != nil {
			return err
		}
	}
	return s.shared.store.Update(ctx, func(t *store.Tx) error {
		_, err := t.Exec(`INSERT INTO file_change (id, at, body) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING`,
			r.ID, store.Millis(r.Time), string(line))
		return err
	})
}

// publishContent stores an old content, unless it is there. Contents that are damaged, too large or were removed can
// only be restored by this server, or not at all.
func (s *Store) publishContent(ctx context.Context, c *Content) error {
	known, err := s.shared.contents.Touch(ctx, sharedOwner, c.Digest)
	if known || err != nil {
		return err
	}
	copied, err := s.OpenCopy(c)
	if notExist(err) {
		return nil
	}
	if err != nil {
		return err
	}
	defer copied.Close()
	err = s.shared.contents.Put(ctx, sharedOwner, c.Digest, "", copied)
	if errors.Is(err, blob.ErrTooLarge) || errors.Is(err, ErrDamaged) {
		s.log.Warn("the old content of a file is on this server only", "size", c.Size, "err", err)
		return nil
	}
	return err
}

// Open is OpenCopy, and also opens contents that other servers have kept. Reading ends with ctx.
func (s *Store) Open(ctx context.Context, c *Content) (io.ReadCloser, error) {
	copied, err := s.OpenCopy(c)
	if s.shared == nil || !notExist(err) || !isDigest(c.Digest) {
		return copied, err
	}
	item, err := s.shared.contents.Get(ctx, sharedOwner, c.Digest)
	if err != nil {
		return nil, err
	}
	return newChecked(item, c), nil
}

// Has is Kept, and also knows contents that other servers have kept.
func (s *Store) Has(ctx context.Context, c *Content) bool {
	if s.Kept(c) || s.shared == nil || c == nil || !c.Kept || !isDigest(c.Digest) {
		return s.Kept(c)
	}
	item, err := s.shared.contents.Get(ctx, sharedOwner, c.Digest)
	if err != nil {
		return false
	}
	_ = item.Close()
	return true
}

// eachLine calls yield with the records of all servers, the latest first. Without the store it calls eachLineBackward
// for the records of this server.
func (s *Store) eachLine(ctx context.Context, hint string, yield func(line []byte) bool) error {
	if !s.publish(ctx) {
		return s.eachLineBackward(ctx, yield)
	}
	return s.shared.each(ctx, hint, yield)
}

// each calls yield with records, the latest first. Records without the end of hint may be left out.
func (s *Shared) each(ctx context.Context, hint string, yield func(line []byte) bool) error {
	type row struct {
		id, body string
		at       int64
	}
	pattern := "%"
	if quoted, err := json.Marshal(hint); err == nil && hint != "" {
		pattern = "%" + strings.NewReplacer(`\`, `\\`, "%", `\%`, "_", `\_`).Replace(string(quoted[1:])) + "%"
	}
	for last := (row{at: 1 << 62}); ; {
		list, err := store.Select(ctx, s.store, `SELECT id, at, body FROM file_change WHERE (at, id) < ($1, $2)
			AND (body LIKE $3 ESCAPE '\' OR body LIKE '%"undoes":%') ORDER BY at DESC, id DESC LIMIT $4`,
			[]any{last.at, last.id, pattern, sharedPage}, func(scan store.Scan) (r row, err error) {
				err = scan(&r.id, &r.at, &r.body)
				return r, err
			})
		if err != nil {
			return fmt.Errorf("the history of files: %w", err)
		}
		for _, r := range list {
			if !yield([]byte(r.body)) {
				return nil
			}
			last = r
		}
		if len(list) < sharedPage {
			return nil
		}
	}
}

// prune removes the records that are too old.
func (s *Shared) prune(ctx context.Context) error {
	return s.store.Update(ctx, func(t *store.Tx) error {
		_, err := t.Exec(`DELETE FROM file_change WHERE at < {{now}} - $1`, s.age.Milliseconds())
		return err
	})
}
