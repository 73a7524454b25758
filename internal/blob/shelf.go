package blob

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"sync/atomic"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/store"
)

// A Shelf has contents under names, for one noun of the program. Each owner has names of its own. A shelf is bounded:
// contents over the limits of age and size are removed, the oldest first, and from the largest owners.
type Shelf struct {
	blobs  *Blobs
	noun   string
	limits Limits
	puts   atomic.Int64
}

// Limits of a shelf. Zero means none.
type Limits struct {
	Item  int64         // bytes of one content
	Count int64         // contents of an owner
	Bytes int64         // of all contents of an owner
	All   int64         // bytes of all owners
	Age   time.Duration // since a content was stored, or last used
	// Used makes a content that is read count as new.
	Used bool
}

// Cache begins the nouns of shelves whose contents are made again when they are lost. Copies and backups leave them out.
const Cache = "cache:"

// NewShelf returns the shelf of a noun. It reads and writes nothing.
func (b *Blobs) NewShelf(noun string, l Limits) *Shelf {
	s := &Shelf{blobs: b, noun: noun, limits: l}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.shelves = append(b.shelves, s)
	return s
}

// checkTotal is the number of new contents between two checks of the limit of all owners.
const checkTotal = 16

// Put stores the content of r under a name, and replaces a former content of this name. about is a text for Get. Put
// makes room by removing the oldest contents of the owner.
func (s *Shelf) Put(ctx context.Context, owner, name, about string, r io.Reader) error {
	size := s.limits.Item
	if size == 0 {
		size = s.blobs.o.Place.Max()
	}
	digest := Owner(owner)
	var removed []string
	_, err := s.blobs.Put(ctx, owner, r, size, true, func(t *store.Tx, ref Ref) (err error) {
		if removed, err = s.remove(t, `owner = $2 AND name = $3`, digest, name); err != nil {
			return err
		}
		if _, err := t.Exec(`INSERT INTO kept (noun, owner, name, blob, digest, size, about, at)
			VALUES ($1, $2, $3, $4, $5, $6, $7, {{now}})`, s.noun, digest, name, ref.Name, ref.Digest, ref.Size,
			about); err != nil {
			return err
		}
		old, err := s.shrinkOwner(t, digest, name)
		removed = append(removed, old...)
		return err
	})
	if err != nil {
		return err
	}
	s.discard(ctx, removed)
	if s.puts.Add(1)%checkTotal == 0 {
		return s.shrink(ctx)
	}
	return nil
}

// remove removes rows that a condition selects, and returns the names of their blobs. The first parameter is the noun.
func (s *Shelf) remove(t *store.Tx, where string, args ...any) ([]string, error) {
	return store.List(t, `DELETE FROM kept WHERE noun = $1 AND `+where+` RETURNING blob`,
		append([]any{s.noun}, args...), store.One[string])
}

// shrinkOwner removes the oldest contents of an owner until its limits hold, but never the one named spared.
func (s *Shelf) shrinkOwner(t *store.Tx, owner, spared string) ([]string, error) {
	var count, bytes int64
	err := t.Row(`SELECT count(*), coalesce(sum(size), 0) FROM kept WHERE noun = $1 AND owner = $2`,
		[]any{s.noun, owner}, &count, &bytes)
	if err != nil || !over(count, s.limits.Count) && !over(bytes, s.limits.Bytes) {
		return nil, err
	}
	return s.remove(t, `owner = $2 AND name <> $3 AND name IN (SELECT name FROM (
		SELECT name, row_number() OVER latest AS count, sum(size) OVER latest AS bytes FROM kept
		WHERE noun = $1 AND owner = $2
		WINDOW latest AS (ORDER BY CASE name WHEN $3 THEN 0 ELSE 1 END, at DESC, name DESC
			ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)
		) AS ranked WHERE count > $4 OR bytes > $5)`, owner, spared, unlimited(s.limits.Count),
		unlimited(s.limits.Bytes))
}

func over(n, limit int64) bool { return limit > 0 && n > limit }

func unlimited(limit int64) int64 {
	if limit == 0 {
		return 1 << 62
	}
	return limit
}

// shrink removes contents until the limit of all owners holds: always the oldest of the owner that has most.
func (s *Shelf) shrink(ctx context.Context) error {
	if s.limits.All == 0 {
		return nil
	}
	for {
		var removed []string
		err := s.blobs.o.Store.Update(ctx, func(t *store.Tx) error {
			removed = nil
			var bytes int64
			err := t.Row(`SELECT coalesce(sum(size), 0) FROM kept WHERE noun = $1`, []any{s.noun}, &bytes)
			if err != nil || bytes <= s.limits.All {
				return err
			}
			removed, err = s.remove(t, `(owner, name) IN (SELECT owner, name FROM kept WHERE noun = $1 AND owner = (
				SELECT owner FROM kept WHERE noun = $1 GROUP BY owner ORDER BY sum(size) DESC, owner LIMIT 1)
				ORDER BY at, name LIMIT 8)`)
			return err
		})
		if err != nil || len(removed) == 0 {
			return err
		}
		s.discard(ctx, removed)
	}
}

// discard removes blobs without a row. The sweep finds blobs that cannot be removed now.
func (s *Shelf) discard(ctx context.Context, names []string) {
	var own []string
	for _, name := range names {
		if isOwn(name) {
			own = append(own, name)
		}
	}
	if len(own) == 0 {
		return
	}
	if err := s.blobs.o.Place.Delete(context.WithoutCancel(ctx), own...); err != nil {
		s.blobs.o.Log.Debug("old blobs are not removed yet", "err", err)
	}
}

// Get opens the content with a name. The error is fs.ErrNotExist if the owner has none, or it is too old. Reading
// fails when ctx ends.
func (s *Shelf) Get(ctx context.Context, owner, name string) (*Item, error) {
	var ref Ref
	var about string
	var at, now int64
	digest := Owner(owner)
	err := s.blobs.o.Store.Row(ctx, `SELECT blob, digest, size, about, at, {{now}} FROM kept
		WHERE noun = $1 AND owner = $2 AND name = $3`, []any{s.noun, digest, name},
		&ref.Name, &ref.Digest, &ref.Size, &about, &at, &now)
	age := time.Duration(now-at) * time.Millisecond
	if errors.Is(err, store.ErrNotFound) || err == nil && s.limits.Age > 0 && age > s.limits.Age {
		return nil, fmt.Errorf("no %s %.80q: %w", s.noun, name, fs.ErrNotExist)
	}
	if err != nil {
		return nil, err
	}
	if s.limits.Used && age > s.limits.Age/usedShare {
		if _, err := s.Touch(ctx, owner, name); err != nil {
			return nil, err
		}
	}
	item, err := s.blobs.Open(ctx, ref)
	if err != nil {
		return nil, err
	}
	item.About, item.At = about, store.FromMillis(at)
	return item, nil
}

// Touch makes a content that the owner has count as new, and reports whether there is one.
func (s *Shelf) Touch(ctx context.Context, owner, name string) (known bool, err error) {
	err = s.blobs.o.Store.Update(ctx, func(t *store.Tx) error {
		n, err := t.Exec(`UPDATE kept SET at = {{now}} WHERE noun = $1 AND owner = $2 AND name = $3`,
			s.noun, Owner(owner), name)
		known = n > 0
		return err
	})
	return known, err
}

// usedShare is the part of the age after which a use of a content is recorded.
const usedShare = 30

// expire removes contents that are too old.
func (s *Shelf) expire(ctx context.Context) error {
	if s.limits.Age == 0 {
		return nil
	}
	var removed []string
	err := s.blobs.o.Store.Update(ctx, func(t *store.Tx) (err error) {
		removed, err = s.remove(t, `at < {{now}} - $2`, s.limits.Age.Milliseconds())
		return err
	})
	if err == nil {
		s.discard(ctx, removed)
	}
	return err
}
