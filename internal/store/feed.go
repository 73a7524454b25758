package store

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// A Cursor is a position in the change feed: all changes up to it were read. The
// zero Cursor is the beginning.
type Cursor struct{ XID, Seq int64 }

// String returns the cursor as text, for [ParseCursor].
func (c Cursor) String() string { return fmt.Sprintf("%d-%d", c.XID, c.Seq) }

// ParseCursor parses the result of String.
func ParseCursor(text string) (c Cursor, err error) {
	if _, err := fmt.Sscanf(text, "%d-%d", &c.XID, &c.Seq); err != nil || c.String() != text {
		return Cursor{}, fmt.Errorf("%.40q is not a position in the change feed", text)
	}
	return c, nil
}

// A Change is a change of a key of a topic.
type Change struct {
	Cursor Cursor
	Topic  string
	Key    string
}

// Changed adds a change to the feed. Followers of the topic see it after the
// commit.
func (t *Tx) Changed(topic, key string) error {
	if t.topics == nil {
		return errors.New("store: a change in a transaction that only reads")
	}
	t.changes = append(t.changes, topic, key)
	t.topics[topic] = true
	return nil
}

// writeChanges writes the changes of a transaction, many with one statement.
func (t *Tx) writeChanges() error {
	for len(t.changes) > 0 {
		n := 1
		for n < 16 && 8*n <= len(t.changes) { // 1, 4 or 16, so that there are few statements
			n *= 4
		}
		values := make([]string, n)
		for i := range values {
			values[i] = fmt.Sprintf("($%d, $%d, {{now}})", 2*i+1, 2*i+2)
		}
		if _, err := t.Exec("INSERT INTO change (topic, key, at) VALUES "+strings.Join(values, ", "),
			t.changes[:2*n]...); err != nil {
			return err
		}
		t.changes = t.changes[2*n:]
	}
	return nil
}

// Changes returns at most limit changes of topics after a cursor, or of all
// topics if none is named. A change is returned only when all transactions that
// began before it have ended, so no change can appear before one that was
// returned.
func (s *Store) Changes(ctx context.Context, since Cursor, limit int, topics ...string) (list []Change, err error) {
	args := []any{since.XID, since.Seq, limit}
	only := ""
	if len(topics) > 0 {
		only = " AND topic IN (" + Params(&args, topics...) + ")"
	}
	text := "SELECT xid, seq, topic, key FROM change WHERE (xid, seq) > ($1, $2) AND {{settled}}" + only +
		" ORDER BY xid, seq LIMIT $3"
	return Select(ctx, s, text, args, func(scan Scan) (c Change, err error) {
		err = scan(&c.Cursor.XID, &c.Cursor.Seq, &c.Topic, &c.Key)
		return c, err
	})
}

// Before reports whether c is before other.
func (c Cursor) Before(other Cursor) bool {
	return c.XID < other.XID || c.XID == other.XID && c.Seq < other.Seq
}

// PruneChanges removes changes older than age, except for the last one: it distinguishes an old
// feed from an empty one.
func (s *Store) PruneChanges(ctx context.Context, age time.Duration) (n int64, err error) {
	err = s.Update(ctx, func(t *Tx) (err error) {
		n, err = t.Exec(`DELETE FROM change WHERE at < {{now}} - $1
			AND (xid, seq) < (SELECT xid, seq FROM change ORDER BY xid DESC, seq DESC LIMIT 1)`, age.Milliseconds())
		return err
	})
	return n, err
}

// Follow calls each with the changes of topics since a position that it returned before; "" is
// an unknown position. It returns the next position, and whether more changes are committed. If
// lost is true changes were missed: the position is unknown, of another store, older than the
// feed, or from before a restore. The caller must read everything again, then follow from the
// returned position.
func (s *Store) Follow(ctx context.Context, from string, limit int, topics []string,
	each func(topic, key string)) (place string, lost, more bool, err error) {
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

// end reads the first or last position of the feed. The position of an empty feed is zero.
func (t *Tx) end(c *Cursor, which, order string) error {
	err := t.Row("SELECT xid, seq FROM change WHERE "+which+" ORDER BY xid "+order+", seq "+order+" LIMIT 1", nil,
		&c.XID, &c.Seq)
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

// identity returns the id of the store. The first call creates it.
func (s *Store) identity(ctx context.Context) (id string, err error) {
	if known := s.id.Load(); known != nil {
		return *known, nil
	}
	read := func(t *Tx) error { return t.Row("SELECT id FROM store_identity WHERE one = 1", nil, &id) }
	if err = s.View(ctx, read); errors.Is(err, ErrNotFound) {
		err = s.Update(ctx, func(t *Tx) error {
			if _, err := t.Exec("INSERT INTO store_identity (one, id) VALUES (1, $1) ON CONFLICT (one) DO NOTHING",
				NewID()); err != nil {
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
