package store

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// A Cursor is a place in the feed of changes: everything up to it was read. The
// zero Cursor is the beginning.
type Cursor struct{ XID, Seq int64 }

// String is the cursor as text, for whoever keeps it elsewhere.
func (c Cursor) String() string { return fmt.Sprintf("%d-%d", c.XID, c.Seq) }

// ParseCursor reads what String wrote.
func ParseCursor(text string) (c Cursor, err error) {
	if _, err := fmt.Sscanf(text, "%d-%d", &c.XID, &c.Seq); err != nil || c.String() != text {
		return Cursor{}, fmt.Errorf("%.40q is no place in the feed", text)
	}
	return c, nil
}

// A Change says that something about a key of a topic is no longer as it was.
type Change struct {
	Cursor Cursor
	Topic  string
	Key    string
}

// Changed tells whoever follows topic that key has changed, once the
// transaction is through.
func (t *Tx) Changed(topic, key string) error {
	if _, err := t.Exec("INSERT INTO change (topic, key, at) VALUES ($1, $2, {{now}})", topic, key); err != nil {
		return err
	}
	t.topics[topic] = true
	return nil
}

// Changes returns what has changed since a place in the feed, in an order in
// which nothing can later appear before what was returned: a change counts only
// when no transaction is open any more that began before it. All topics when
// none is named.
func (s *Store) Changes(ctx context.Context, since Cursor, limit int, topics ...string) (list []Change, err error) {
	args := []any{since.XID, since.Seq, limit}
	only := ""
	if len(topics) > 0 {
		marks := make([]string, len(topics))
		for i, topic := range topics {
			args = append(args, topic)
			marks[i] = fmt.Sprintf("$%d", i+4)
		}
		only = " AND topic IN (" + strings.Join(marks, ", ") + ")"
	}
	text := "SELECT xid, seq, topic, key FROM change WHERE (xid, seq) > ($1, $2) AND {{settled}}" + only + " ORDER BY xid, seq LIMIT $3"
	err = s.View(ctx, func(t *Tx) error {
		list = list[:0]
		return t.Each(text, args, func(scan func(...any) error) error {
			var c Change
			if err := scan(&c.Cursor.XID, &c.Cursor.Seq, &c.Topic, &c.Key); err != nil {
				return err
			}
			list = append(list, c)
			return nil
		})
	})
	return list, err
}

// FeedEnds returns the first and the last place that the feed has now. A reader
// whose cursor is before the first has missed changes and begins anew.
func (s *Store) FeedEnds(ctx context.Context) (first, last Cursor, err error) {
	err = s.View(ctx, func(t *Tx) error {
		for order, c := range map[string]*Cursor{"": &first, " DESC": &last} {
			text := "SELECT xid, seq FROM change WHERE {{settled}} ORDER BY xid" + order + ", seq" + order + " LIMIT 1"
			err := t.Row(text, nil, &c.XID, &c.Seq)
			if err != nil && !errors.Is(err, ErrNotFound) {
				return err
			}
		}
		return nil
	})
	return first, last, err
}

// Before compares places in the feed.
func (c Cursor) Before(other Cursor) bool {
	return c.XID < other.XID || c.XID == other.XID && c.Seq < other.Seq
}

// PruneChanges forgets changes older than age. The latest one stays, so that readers
// can tell an old feed from an empty one.
func (s *Store) PruneChanges(ctx context.Context, age time.Duration) (n int64, err error) {
	err = s.Update(ctx, func(t *Tx) (err error) {
		n, err = t.Exec("DELETE FROM change WHERE at < {{now}} - $1 AND seq < (SELECT max(seq) FROM change)", age.Milliseconds())
		return err
	})
	return n, err
}
