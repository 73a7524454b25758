package store

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/tools/memory"
)

// errMoved means that a document was changed between reading and writing it.
var errMoved = errors.New("the document has changed meanwhile")

// changeMemory runs a change of a document again as long as others are faster.
func (s *Store) changeMemory(ctx context.Context, path string, f func(*Tx) error) error {
	begun := time.Now()
	for attempt := 0; time.Since(begun) < retryFor; attempt++ {
		err := s.Update(ctx, f)
		if !errors.Is(err, errMoved) {
			return err
		}
		if err := backOff(ctx, attempt); err != nil {
			return err
		}
	}
	return tool.Errorf(tool.Busy, "%q is being changed by many at once", path).Try("try again in a second")
}

// PutMemory makes a document what a change says, and keeps the version before.
// When it is so already, nothing changes and unchanged is true. A version other
// than the one expected is a conflict.
func (s *Store) PutMemory(ctx context.Context, c memory.Change) (d memory.Document, unchanged bool, err error) {
	err = s.changeMemory(ctx, c.Path, func(t *Tx) error {
		old, found, err := t.memoryRow(c.Owner, c.Path)
		if err != nil {
			return err
		}
		now, err := t.Now()
		if err != nil {
			return err
		}
		has := int64(0)
		if found && old.live {
			has = old.Version
		}
		if c.Expect != nil && *c.Expect != has {
			return tool.Errorf(tool.Conflict, "%q has changed since", c.Path).Try("read it again, then change it")
		}
		next := putOver(old, has > 0, c, now)
		if has > 0 && same(old, next) {
			d, unchanged = old.document(), true
			return nil
		}
		unchanged = false
		action := "write"
		if found && !old.live {
			action = "expire"
		}
		d, err = t.replaceMemory(old, found, next, action, c.By)
		return err
	})
	return d, unchanged, err
}

// putOver is the row that a change makes of a document that is there or not.
func putOver(old memoryRow, live bool, c memory.Change, now int64) memoryRow {
	n := memoryRow{created: now, updated: now, live: true}
	n.ID, n.Owner, n.Path, n.Text, n.Digest = NewID(), c.Owner, c.Path, c.Text, c.Digest
	n.Category, n.Author, n.Session = memory.Core, c.By.Author, c.By.Session
	if live {
		n.created, n.Category, n.tags, n.expires = old.created, old.Category, old.tags, old.expires
	}
	if c.Category != "" {
		n.Category = c.Category
	}
	if c.Tags != nil {
		n.tags = tagsText(c.Tags)
	}
	if e := c.Expires; e != nil {
		if n.expires = Millis(e.At); e.After > 0 {
			n.expires = now + e.After.Milliseconds()
		}
	}
	if !c.Created.IsZero() {
		n.created = c.Created.UnixMilli()
	}
	if !c.Updated.IsZero() {
		n.updated = c.Updated.UnixMilli()
	}
	return n
}

// same reports whether two rows say the same; an expiry within a minute counts
// as the same, or else each «30 days from now» would be another version.
func same(a, b memoryRow) bool {
	near := a.expires == b.expires || a.expires > 0 && b.expires > 0 && max(a.expires-b.expires, b.expires-a.expires) < time.Minute.Milliseconds()
	return a.Text == b.Text && a.Category == b.Category && a.tags == b.tags && near
}

// replaceMemory puts next in the place of old, which is kept.
func (t *Tx) replaceMemory(old memoryRow, found bool, next memoryRow, action string, by memory.Hand) (memory.Document, error) {
	if found {
		next.ID, next.Version = old.ID, old.Version+1
		n, err := t.Exec(`UPDATE memory SET content = $3, category = $4, tags = $5, version = version + 1, created = $6, updated = $7, expires = $8,
			author = $9, session = $10, digest = $11 WHERE id = $1 AND version = $2`,
			old.ID, old.Version, next.Text, next.Category, next.tags, next.created, next.updated, next.expires, next.Author, next.Session, next.Digest)
		if err != nil || n == 0 {
			return memory.Document{}, moved(n, err)
		}
		if err := errors.Join(t.keepMemory(old, action, by), t.countMemory(next.Owner, 0, int64(len(next.Text)-len(old.Text)))); err != nil {
			return memory.Document{}, err
		}
	} else {
		past, err := t.memoryPast(next.Owner, next.Path, 1)
		if err != nil {
			return memory.Document{}, err
		}
		next.Version = 1
		if len(past) > 0 {
			next.Version = past[0].Version + 1
		}
		n, err := t.Exec("INSERT INTO memory ("+memoryColumns+`) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)
			ON CONFLICT (agent, usr, path) DO NOTHING`, next.values()...)
		if err != nil || n == 0 {
			return memory.Document{}, moved(n, err)
		}
		if err := t.countMemory(next.Owner, 1, int64(len(next.Text))); err != nil {
			return memory.Document{}, err
		}
	}
	return next.document(), t.Changed(next.topic(), next.ID)
}

// moved is the error of a statement that changed n rows of the one it was for.
func moved(n int64, err error) error {
	if err == nil && n == 0 {
		return errMoved
	}
	return err
}

func (r *memoryRow) values() []any {
	return []any{r.ID, r.Owner.Agent, r.Owner.User, r.Path, r.Text, r.Category, r.tags, r.Version,
		r.created, r.updated, r.expires, r.Author, r.Session, r.Digest}
}

// keepMemory writes down a version that is over.
func (t *Tx) keepMemory(r memoryRow, action string, by memory.Hand) error {
	_, err := t.Exec("INSERT INTO memory_past ("+memoryColumns+`, action, ended_by, ended_during, ended)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, {{now}})`,
		append(r.values(), action, by.Author, by.Session)...)
	return err
}

// DropMemory removes an owner's document and keeps it as a former version. What
// is not there, or has expired, is not found.
func (s *Store) DropMemory(ctx context.Context, o memory.Owner, path string, by memory.Hand) (d memory.Document, found bool, err error) {
	err = s.changeMemory(ctx, path, func(t *Tx) error {
		row, there, err := t.memoryRow(o, path)
		if found = there && row.live; err != nil || !found {
			return err
		}
		d = row.document()
		return t.dropMemory(row, "forget", by)
	})
	return d, found, err
}

func (t *Tx) dropMemory(r memoryRow, action string, by memory.Hand) error {
	n, err := t.Exec("DELETE FROM memory WHERE id = $1 AND version = $2", r.ID, r.Version)
	if err != nil || n == 0 {
		return moved(n, err)
	}
	return errors.Join(t.keepMemory(r, action, by), t.countMemory(r.Owner, -1, -int64(len(r.Text))), t.Changed(r.topic(), r.ID))
}

// UndoMemory makes the last former version of an owner's document the present
// one, so that undoing twice changes nothing but the version. Without one, found
// is false.
func (s *Store) UndoMemory(ctx context.Context, o memory.Owner, path string, by memory.Hand) (d memory.Document, found bool, err error) {
	err = s.changeMemory(ctx, path, func(t *Tx) error {
		old, there, err := t.memoryRow(o, path)
		if err != nil {
			return err
		}
		if there && !old.live { // which is a change, and the last one
			there = false
			if err := t.dropMemory(old, "expire", memory.Hand{}); err != nil {
				return err
			}
		}
		past, err := t.memoryPast(o, path, 1)
		if found = len(past) > 0; err != nil || !found {
			return err
		}
		now, err := t.Now()
		if err != nil {
			return err
		}
		next := memoryRow{Document: past[0].Document, tags: tagsText(past[0].Tags), created: Millis(past[0].Created), updated: now, expires: Millis(past[0].Expires)}
		if next.expires > 0 && next.expires <= now {
			next.expires = 0 // it would be gone at once
		}
		next.Author, next.Session = by.Author, by.Session
		d, err = t.replaceMemory(old, there, next, "undo", by)
		return err
	})
	return d, found, err
}

// Limits of what is kept of former versions.
const (
	pastVersions = 20
	pastAge      = 90 * 24 * time.Hour
	sweepAtOnce  = 200
)

// SweepMemory removes documents that have expired, and forgets former versions
// that are too old or too many, and vectors of what is gone. It does so in small
// steps, and says how many documents it removed.
func (s *Store) SweepMemory(ctx context.Context) (expired int, err error) {
	for {
		n, err := s.expireMemories(ctx)
		expired += n
		if err != nil || n < sweepAtOnce {
			return expired, errors.Join(err, s.prunePast(ctx, pastVersions, pastAge), s.sweepVectors(ctx))
		}
	}
}

func (s *Store) expireMemories(ctx context.Context) (n int, err error) {
	err = s.Update(ctx, func(t *Tx) error {
		var rows []memoryRow
		text := "SELECT " + memoryColumns + " FROM memory WHERE expires > 0 AND expires <= {{now}} ORDER BY expires LIMIT $1 {{skip}}"
		err := t.Each(text, []any{sweepAtOnce}, func(scan func(...any) error) error {
			var r memoryRow
			if err := scan(r.into()...); err != nil {
				return err
			}
			rows = append(rows, r)
			return nil
		})
		for r := range slices.Values(rows) {
			if err == nil {
				err = t.dropMemory(r, "expire", memory.Hand{})
			}
		}
		n = len(rows)
		return err
	})
	return n, err
}

func (s *Store) prunePast(ctx context.Context, versions int, age time.Duration) error {
	return s.Update(ctx, func(t *Tx) error {
		if _, err := t.Exec("DELETE FROM memory_past WHERE ended < {{now}} - $1", age.Milliseconds()); err != nil {
			return err
		}
		_, err := t.Exec(`DELETE FROM memory_past WHERE (agent, usr, path, version) IN (
			SELECT agent, usr, path, version FROM (
				SELECT agent, usr, path, version, row_number() OVER (PARTITION BY agent, usr, path ORDER BY version DESC) AS place FROM memory_past
			) ranked WHERE place > $1)`, versions)
		return err
	})
}
