package memory

import (
	"context"
	"errors"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// change runs f in a transaction. While others change the same document first, it runs again.
func (r *Rows) change(ctx context.Context, o tool.Owner, path string, f func(*store.Tx) error) error {
	err := r.store.UpdateInTurn(ctx, Scope(o), f) // all changes of an owner change its counter
	if errors.Is(err, store.ErrConflict) {
		return tool.Errorf(tool.Busy, "%q is being changed by many at once", path).Try("try again in a second")
	}
	return err
}

// Put applies a change to an owner's document, and keeps the version before. If the document is
// already so, nothing changes and unchanged is true.
func (r *Rows) Put(ctx context.Context, c Change) (d Document, unchanged bool, err error) {
	err = r.change(ctx, c.Owner, c.Path, func(t *store.Tx) error {
		now, former, found, err := formerVersion(t, c.Owner, c.Path)
		if err != nil {
			return err
		}
		var old row
		if found {
			if old, found, err = rowOf(t, c.Owner, c.Path); err != nil {
				return err
			}
		}
		next, err := c.apply(old, found && old.live, now)
		if err != nil {
			return err
		}
		if unchanged = found && old.live && same(old, next); unchanged {
			d, err = old.document()
			return err
		}
		action := "write"
		if found && !old.live {
			action = "expire"
		}
		next.Version = former + 1
		d, err = r.replace(t, old, found, next, action, c.By)
		return err
	})
	return d, unchanged, err
}

// apply returns the row that a change makes of an old one, or of none.
func (c Change) apply(old row, exists bool, now int64) (row, error) {
	n := row{created: now, updated: now, live: true}
	n.ID, n.Owner, n.Path, n.Text, n.Digest = store.NewID(), c.Owner, c.Path, c.Text, c.Digest
	n.Category, n.Author = Core, c.By
	if exists {
		n.created, n.Category, n.tags, n.expires = old.created, old.Category, old.tags, old.expires
	}
	if c.Category != "" {
		n.Category = c.Category
	}
	if c.Tags != nil {
		var err error
		if n.tags, err = store.ToJSON(c.Tags, len(c.Tags) == 0); err != nil {
			return n, err
		}
	}
	if c.Expires != nil {
		n.expires = store.Millis(*c.Expires)
	}
	if !c.Created.IsZero() {
		n.created = c.Created.UnixMilli()
	}
	if !c.Updated.IsZero() {
		n.updated = c.Updated.UnixMilli()
	}
	return n, nil
}

// same reports whether two rows have the same content. Expiry times within a minute of each other are the same,
// or every "30 days from now" would be a new version.
func same(a, b row) bool {
	near := a.expires == b.expires ||
		a.expires > 0 && b.expires > 0 && max(a.expires-b.expires, b.expires-a.expires) < time.Minute.Milliseconds()
	return a.Text == b.Text && a.Category == b.Category && a.tags == b.tags && near
}

// replace puts next in the place of old, and keeps old as a former version. Without old, next has its version.
func (r *Rows) replace(t *store.Tx, old row, found bool, next row, action string, by Author) (d Document, err error) {
	if found {
		next.ID, next.Version = old.ID, old.Version+1
		err = changed(t.Exec(`UPDATE memory SET content = $3, category = $4, tags = $5, version = version + 1,
			created = $6, updated = $7, expires = $8, author = $9, session = $10, digest = $11
			WHERE id = $1 AND version = $2`,
			old.ID, old.Version, next.Text, next.Category, next.tags, next.created, next.updated, next.expires,
			next.Author.Name, next.Author.Session, next.Digest))
		if err == nil {
			err = errors.Join(keep(t, old, action, by), r.count(t, next.Owner, 0, int64(len(next.Text)-len(old.Text))))
		}
	} else {
		err = changed(t.Exec("INSERT INTO memory ("+columns+`)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)
			ON CONFLICT (agent, usr, path) DO NOTHING`, next.values()...))
		if err == nil {
			err = r.count(t, next.Owner, 1, int64(len(next.Text)))
		}
	}
	if err == nil {
		d, err = next.document()
	}
	if err == nil {
		err = r.observed(t, Event{Document: d, Added: !found})
	}
	if err != nil {
		return Document{}, err
	}
	return d, t.Changed(next.topic(), next.ID)
}

// formerVersion returns the time, the number of the last former version of the document at a path, and whether the
// document exists now. A new version continues that number.
func formerVersion(t *store.Tx, o tool.Owner, path string) (now, version int64, exists bool, err error) {
	const whose = "WHERE agent = $1 AND usr = $2 AND path = $3"
	err = t.Row("SELECT {{now}}, coalesce(max(version), 0), EXISTS (SELECT 1 FROM memory "+whose+`)
		FROM memory_past `+whose, []any{o.Agent, o.User, path}, &now, &version, &exists)
	return now, version, exists, err
}

// changed returns an error that runs the transaction again if a statement has changed no row: another transaction has
// changed the document first.
func changed(n int64, err error) error {
	if err == nil && n == 0 {
		return store.ErrConflict
	}
	return err
}

func (r *row) values() []any {
	return []any{r.ID, r.Owner.Agent, r.Owner.User, r.Path, r.Text, r.Category, r.tags, r.Version,
		r.created, r.updated, r.expires, r.Author.Name, r.Author.Session, r.Digest}
}

// topic returns the topic of the feed for changes of the document.
func (r *row) topic() string {
	if r.Category == Context {
		return ContextTopic
	}
	return Topic
}

// keep stores a former version.
func keep(t *store.Tx, r row, action string, by Author) error {
	_, err := t.Exec("INSERT INTO memory_past ("+columns+`, action, ended_by, ended_during, ended)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, {{now}})`,
		append(r.values(), action, by.Name, by.Session)...)
	return err
}

// Drop removes an owner's document and keeps it as a former version.
func (r *Rows) Drop(ctx context.Context, o tool.Owner, path string, by Author) (d Document, found bool, err error) {
	err = r.change(ctx, o, path, func(t *store.Tx) error {
		old, there, err := rowOf(t, o, path)
		if found = there && old.live; err != nil || !found {
			return err
		}
		if d, err = old.document(); err != nil {
			return err
		}
		return r.drop(t, old, "forget", by)
	})
	return d, found, err
}

// Purge removes all memories of an owner that were last written in a session, or all if session is "", and their former
// versions: nothing can bring them back. Former versions that were written in the session are removed too.
func (r *Rows) Purge(ctx context.Context, o tool.Owner, session string) (n int, err error) {
	const whose = "agent = $1 AND usr = $2 AND " + isMemory
	args := []any{o.Agent, o.User, session}
	err = r.store.UpdateInTurn(ctx, Scope(o), func(t *store.Tx) error {
		list, err := store.List(t, "SELECT "+columns+" FROM memory WHERE "+whose+" AND ($3 = '' OR session = $3)", args,
			scanRow)
		if err != nil {
			return err
		}
		bytes := 0
		for _, one := range list {
			err := changed(t.Exec("DELETE FROM memory WHERE id = $1 AND version = $2", one.ID, one.Version))
			if err != nil {
				return err
			}
			_, err = t.Exec("DELETE FROM memory_past WHERE agent = $1 AND usr = $2 AND path = $3", o.Agent, o.User,
				one.Path)
			if err = errors.Join(err, t.Changed(one.topic(), one.ID)); err != nil {
				return err
			}
			if err := r.observed(t, Event{Document: one.Document, Removed: true, Purged: true}); err != nil {
				return err
			}
			bytes += len(one.Text)
		}
		n = len(list)
		_, err = t.Exec("DELETE FROM memory_past WHERE "+whose+" AND ($3 = '' OR session = $3)", args...)
		return errors.Join(err, r.count(t, o, -int64(n), -int64(bytes)))
	})
	return n, err
}

func (r *Rows) drop(t *store.Tx, old row, action string, by Author) error {
	err := changed(t.Exec("DELETE FROM memory WHERE id = $1 AND version = $2", old.ID, old.Version))
	if err != nil {
		return err
	}
	return errors.Join(keep(t, old, action, by), r.count(t, old.Owner, -1, -int64(len(old.Text))),
		r.observed(t, Event{Document: old.Document, Removed: true}), t.Changed(old.topic(), old.ID))
}

// Undo makes the last former version of an owner's document the present one; a second Undo reverts that. Found
// is false if there is no former version.
func (r *Rows) Undo(ctx context.Context, o tool.Owner, path string, by Author) (d Document, found bool, err error) {
	err = r.change(ctx, o, path, func(t *store.Tx) error {
		old, exists, err := rowOf(t, o, path)
		if err != nil {
			return err
		}
		if exists && !old.live { // that it expired is the last change
			exists = false
			if err := r.drop(t, old, "expire", Author{}); err != nil {
				return err
			}
		}
		former, err := past(t, o, path, 1)
		if found = len(former) > 0; err != nil || !found {
			return err
		}
		now, err := t.Now()
		if err != nil {
			return err
		}
		p := former[0].Document
		next := row{Document: p, created: store.Millis(p.Created), updated: now, expires: store.Millis(p.Expires)}
		if next.tags, err = store.ToJSON(p.Tags, len(p.Tags) == 0); err != nil {
			return err
		}
		if next.expires > 0 && next.expires <= now {
			next.expires = 0 // it would expire at once
		}
		next.Author = by
		next.Version = p.Version + 1
		d, err = r.replace(t, old, exists, next, "undo", by)
		return err
	})
	return d, found, err
}

// Limits of former versions, and of the removals of a sweep in one transaction.
const (
	maxVersions = 20
	maxAge      = 90 * 24 * time.Hour
	sweepAtOnce = 200
)

// Sweep removes expired documents, and former versions that are too old or too many. It returns how many documents it
// removed.
func (r *Rows) Sweep(ctx context.Context) (expired int, err error) {
	for {
		n, err := r.expire(ctx)
		expired += n
		if err != nil || n < sweepAtOnce {
			return expired, errors.Join(err, r.prune(ctx))
		}
	}
}

// expire removes some documents that have expired.
func (r *Rows) expire(ctx context.Context) (n int, err error) {
	err = r.store.Update(ctx, func(t *store.Tx) error {
		text := "SELECT " + columns +
			" FROM memory WHERE expires > 0 AND expires <= {{now}} ORDER BY expires LIMIT $1 {{skip}}"
		rows, err := store.List(t, text, []any{sweepAtOnce}, scanRow)
		if err != nil {
			return err
		}
		for _, old := range rows {
			if err := r.drop(t, old, "expire", Author{}); err != nil {
				return err
			}
		}
		n = len(rows)
		return nil
	})
	return n, err
}

// prune removes former versions that are too old or too many.
func (r *Rows) prune(ctx context.Context) error {
	return r.store.Update(ctx, func(t *store.Tx) error {
		if _, err := t.Exec("DELETE FROM memory_past WHERE ended < {{now}} - $1", maxAge.Milliseconds()); err != nil {
			return err
		}
		_, err := t.Exec(`DELETE FROM memory_past WHERE (agent, usr, path, version) IN (
			SELECT agent, usr, path, version FROM (
				SELECT agent, usr, path, version,
					row_number() OVER (PARTITION BY agent, usr, path ORDER BY version DESC) AS place
				FROM memory_past
			) ranked WHERE place > $1)`, maxVersions)
		return err
	})
}
