package store

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
)

// A Feed is the feed of changes for those who keep their place in it as text.
type Feed struct {
	*Store
	id atomic.Pointer[string] // of the store
}

// Feed makes a Feed.
func (s *Store) Feed() *Feed { return &Feed{Store: s} }

// Follow calls each with what has changed about some topics since a place, and
// says where to go on, and whether there is more that is committed. A place is
// lost when it is none of this store, or the feed does not reach back to it, or
// ends before it because the store was restored. Who is lost reads everything
// anew, and then follows from the place returned.
func (s *Feed) Follow(ctx context.Context, from string, limit int, topics []string, each func(topic, key string)) (place string, lost, more bool, err error) {
	id, err := s.identity(ctx)
	if err != nil {
		return "", false, false, err
	}
	var newest, settled, first Cursor
	err = s.View(ctx, func(t *Tx) error {
		if err := t.end(&newest, "TRUE", "DESC"); err != nil {
			return err
		}
		if newest == (Cursor{}) || from == formatPosition(id, newest) {
			return nil
		}
		return errors.Join(t.end(&settled, "{{settled}}", "DESC"), t.end(&first, "{{settled}}", "ASC"))
	})
	if err != nil {
		return "", false, false, err
	}
	if from == formatPosition(id, newest) {
		return from, false, false, nil
	}
	at, known := parsePosition(id, from)
	if !known || settled.Before(at) || at.Before(first) && first.Seq > at.Seq+1 {
		return formatPosition(id, settled), true, settled != newest, nil
	}
	list, err := s.Changes(ctx, at, limit, topics...)
	if err != nil {
		return "", false, false, err
	}
	for _, c := range list {
		each(c.Topic, c.Key)
	}
	if len(list) == limit {
		return formatPosition(id, list[limit-1].Cursor), false, true, nil
	}
	if len(list) > 0 && settled.Before(list[len(list)-1].Cursor) {
		settled = list[len(list)-1].Cursor
	}
	return formatPosition(id, settled), false, settled.Before(newest), nil
}

// end reads one end of the feed; that of an empty one is the zero Cursor.
func (t *Tx) end(c *Cursor, which, order string) error {
	err := t.Row("SELECT xid, seq FROM change WHERE "+which+" ORDER BY xid "+order+", seq "+order+" LIMIT 1", nil, &c.XID, &c.Seq)
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	return err
}

func formatPosition(id string, c Cursor) string { return id + ":" + c.String() }

func parsePosition(id, place string) (Cursor, bool) {
	of, text, ok := strings.Cut(place, ":")
	if !ok || of != id {
		return Cursor{}, false
	}
	c, err := ParseCursor(text)
	return c, err == nil
}

// identity is the name of the store, which it gets when it is first asked for.
func (s *Feed) identity(ctx context.Context) (id string, err error) {
	if known := s.id.Load(); known != nil {
		return *known, nil
	}
	read := func(t *Tx) error { return t.Row("SELECT id FROM store_identity WHERE one = 1", nil, &id) }
	if err = s.View(ctx, read); errors.Is(err, ErrNotFound) {
		err = s.Update(ctx, func(t *Tx) error {
			if _, err := t.Exec("INSERT INTO store_identity (one, id) VALUES (1, $1) ON CONFLICT (one) DO NOTHING", NewID()); err != nil {
				return err
			}
			return read(t)
		})
	}
	if err != nil {
		return "", fmt.Errorf("the identity of the store: %w", err)
	}
	s.id.Store(&id)
	return id, nil
}
