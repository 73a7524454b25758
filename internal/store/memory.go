package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/mcp-tools/mcp-tools/tools/memory"
)

// MemoryTopic is the topic of changes of memories. Keys are their ids.
const MemoryTopic = "memory"

const (
	memoryColumns = "id, agent, usr, path, content, category, tags, version, created, updated, expires, author, session, digest"
	// memoryLive leaves out what has expired and was not yet swept away.
	memoryLive = "(expires = 0 OR expires > {{now}})"
)

// A memoryRow is a document as the tables have it.
type memoryRow struct {
	memory.Document
	tags                      string
	created, updated, expires int64
	live                      bool
}

func (r *memoryRow) into() []any {
	return []any{&r.ID, &r.Owner.Agent, &r.Owner.User, &r.Path, &r.Text, &r.Category, &r.tags, &r.Version,
		&r.created, &r.updated, &r.expires, &r.Author, &r.Session, &r.Digest}
}

func (r *memoryRow) document() memory.Document {
	d := r.Document
	d.Created, d.Updated, d.Expires = FromMillis(r.created), FromMillis(r.updated), FromMillis(r.expires)
	d.Tags = tagsOf(r.tags)
	return d
}

func tagsOf(text string) (tags []string) {
	if text != "" && json.Unmarshal([]byte(text), &tags) != nil {
		return nil
	}
	return tags
}

func tagsText(tags []string) string {
	if len(tags) == 0 {
		return ""
	}
	text, err := json.Marshal(tags)
	if err != nil { // strings always marshal
		return ""
	}
	return string(text)
}

// memoryWhere reads documents that live.
func (s *Store) memoryWhere(ctx context.Context, where string, args ...any) (list []memory.Document, err error) {
	err = s.View(ctx, func(t *Tx) error {
		list = nil
		return t.Each("SELECT "+memoryColumns+" FROM memory WHERE "+memoryLive+" AND "+where, args, func(scan func(...any) error) error {
			var r memoryRow
			if err := scan(r.into()...); err != nil {
				return err
			}
			list = append(list, r.document())
			return nil
		})
	})
	return list, err
}

// Memory returns the document of a path: the owner's, or else the shared one.
func (s *Store) Memory(ctx context.Context, o memory.Owner, path string) (memory.Document, bool, error) {
	list, err := s.memoryWhere(ctx, "agent = $1 AND usr IN ($2, '') AND path = $3 ORDER BY usr DESC LIMIT 1", o.Agent, o.User, path)
	if err != nil || len(list) == 0 {
		return memory.Document{}, false, err
	}
	return list[0], true, nil
}

// MemoryByID returns the document of an id, whoever owns it: it is for the
// index. What has expired is not found.
func (s *Store) MemoryByID(ctx context.Context, id string) (memory.Document, bool, error) {
	list, err := s.memoryWhere(ctx, notContext+" AND id = $1", id)
	if err != nil || len(list) == 0 {
		return memory.Document{}, false, err
	}
	return list[0], true, nil
}

// MemoryIDs lists the ids of all memories, for the index.
func (s *Store) MemoryIDs(ctx context.Context, after string, limit int) (ids []string, err error) {
	err = s.View(ctx, func(t *Tx) error {
		ids = nil
		return t.Each("SELECT id FROM memory WHERE id > $1 AND "+notContext+" ORDER BY id LIMIT $2", []any{after, limit}, func(scan func(...any) error) error {
			var id string
			if err := scan(&id); err != nil {
				return err
			}
			ids = append(ids, id)
			return nil
		})
	})
	return ids, err
}

// MemoriesByID returns those of some documents that an owner may read.
func (s *Store) MemoriesByID(ctx context.Context, o memory.Owner, ids []string) ([]memory.Document, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	args, marks := []any{o.Agent, o.User}, make([]string, len(ids))
	for i, id := range ids {
		args = append(args, id)
		marks[i] = fmt.Sprintf("$%d", i+3)
	}
	// Ids are the shorter way: without coalesce, SQLite goes through all of the owner's.
	return s.memoryWhere(ctx, notContext+" AND coalesce(agent, '') = $1 AND coalesce(usr, '') IN ($2, '') AND id IN ("+strings.Join(marks, ", ")+")", args...)
}

// Memories lists what memories an owner reads, the shared documents of paths that the
// owner has as well left out, and the latest first.
func (s *Store) Memories(ctx context.Context, o memory.Owner, limit int) (list []memory.Entry, err error) {
	return s.memoryEntries(ctx, `m
			WHERE agent = $1 AND usr IN ($2, '') AND `+notContext+` AND `+memoryLive+` AND (usr = $2 OR NOT EXISTS (
				SELECT 1 FROM memory own WHERE own.agent = $1 AND own.usr = $2 AND own.path = m.path AND (own.expires = 0 OR own.expires > {{now}})))
			ORDER BY updated DESC, path LIMIT $3`, o.Agent, o.User, limit)
}

// memoryEntries lists documents without their texts.
func (s *Store) memoryEntries(ctx context.Context, where string, args ...any) (list []memory.Entry, err error) {
	err = s.View(ctx, func(t *Tx) error {
		list = nil
		return t.Each("SELECT id, agent, usr, path, category, tags, octet_length(content), updated FROM memory "+where, args, func(scan func(...any) error) error {
			var e memory.Entry
			var tags string
			var updated int64
			if err := scan(&e.ID, &e.Owner.Agent, &e.Owner.User, &e.Path, &e.Category, &tags, &e.Size, &updated); err != nil {
				return err
			}
			e.Tags, e.Updated = tagsOf(tags), FromMillis(updated)
			list = append(list, e)
			return nil
		})
	})
	return list, err
}

// MemoriesAlike lists the paths of documents that an owner may read, other than
// one, whose digest is the same.
func (s *Store) MemoriesAlike(ctx context.Context, o memory.Owner, digest, other string) (paths []string, err error) {
	err = s.View(ctx, func(t *Tx) error {
		paths = nil
		return t.Each("SELECT DISTINCT path FROM memory WHERE agent = $1 AND usr IN ($2, '') AND digest = $3 AND path <> $4 AND "+notContext+" AND "+memoryLive+" ORDER BY path LIMIT 3",
			[]any{o.Agent, o.User, digest, other}, func(scan func(...any) error) error {
				var path string
				if err := scan(&path); err != nil {
					return err
				}
				paths = append(paths, path)
				return nil
			})
	})
	return paths, err
}

// MemoryPast lists former versions of an owner's document, the latest first.
func (s *Store) MemoryPast(ctx context.Context, o memory.Owner, path string, limit int) (list []memory.Past, err error) {
	err = s.View(ctx, func(t *Tx) error {
		list, err = t.memoryPast(o, path, limit)
		return err
	})
	return list, err
}

func (t *Tx) memoryPast(o memory.Owner, path string, limit int) (list []memory.Past, err error) {
	text := "SELECT " + memoryColumns + ", action, ended_by, ended_during, ended FROM memory_past WHERE agent = $1 AND usr = $2 AND path = $3 ORDER BY version DESC LIMIT $4"
	err = t.Each(text, []any{o.Agent, o.User, path, limit}, func(scan func(...any) error) error {
		var r memoryRow
		var p memory.Past
		var ended int64
		if err := scan(append(r.into(), &p.Action, &p.By, &p.During, &ended)...); err != nil {
			return err
		}
		p.Document, p.Ended = r.document(), FromMillis(ended)
		list = append(list, p)
		return nil
	})
	return list, err
}

// memoryRow reads a document for a change, also one that has expired. Whoever
// else would change it waits until this change is made.
func (t *Tx) memoryRow(o memory.Owner, path string) (r memoryRow, found bool, err error) {
	err = t.Row("SELECT "+memoryColumns+", "+memoryLive+" FROM memory WHERE agent = $1 AND usr = $2 AND path = $3 {{lock}}",
		[]any{o.Agent, o.User, path}, append(r.into(), &r.live)...)
	if errors.Is(err, ErrNotFound) {
		return r, false, nil
	}
	return r, err == nil, err
}
