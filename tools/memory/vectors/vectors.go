// Package vectors stores the embeddings of memories: the vectors of the parts of a memory, and the progress in
// each space. Vectors of one space come from one encoder, so they can be compared. The making and comparing of
// vectors is in the embeddings package.
//
// Begin with [New].
package vectors

import (
	"context"
	"errors"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/tools/memory"
	"github.com/mcp-tools/mcp-tools/tools/memory/indexer/embeddings"
)

// Topic is the topic of the change feed for vectors; keys are ids of memories.
const Topic = "memory.vector"

// Vectors are the vectors of one space. They are the rows of [embeddings.Embeddings].
type Vectors struct {
	*memory.Rows // the texts
	store        *store.Store
	space        string
}

// New returns the vectors of a space. space must not be empty.
func New(s *store.Store, rows *memory.Rows, space string) Vectors { return Vectors{rows, s, space} }

// Topics returns the topics for memories and for their vectors.
func (v Vectors) Topics() (documents, vectors string) { return memory.Topic, Topic }

// Cursor returns how far in the feed memories have vectors, "" for a new space. It notes once a day that the
// space is in use.
func (v Vectors) Cursor(ctx context.Context) (cursor string, err error) {
	stale := false
	err = v.store.View(ctx, func(t *store.Tx) error {
		err := t.Row("SELECT place, seen < {{now}} - $2 FROM vector_space WHERE space = $1",
			[]any{v.space, seenEvery.Milliseconds()}, &cursor, &stale)
		if errors.Is(err, store.ErrNotFound) {
			stale = true
			return nil
		}
		return err
	})
	if err != nil || !stale {
		return cursor, err
	}
	return cursor, v.store.Update(ctx, func(t *store.Tx) error {
		_, err := t.Exec(`INSERT INTO vector_space (space, place, holder, until, seen) VALUES ($1, '', '', 0, {{now}})
			ON CONFLICT (space) DO UPDATE SET seen = {{now}}`, v.space)
		return err
	})
}

// Hold leases the space to a worker, and returns the cursor. While another
// worker holds it, wait is the time until it expires.
func (v Vectors) Hold(ctx context.Context, worker string, lease time.Duration) (cursor string, wait time.Duration,
	err error) {
	err = v.store.Update(ctx, func(t *store.Tx) error {
		wait = 0
		err := t.Row(`UPDATE vector_space SET holder = $2, until = {{now}} + $3, seen = {{now}}
			WHERE space = $1 AND (holder = $2 OR until <= {{now}}) RETURNING place`,
			[]any{v.space, worker, lease.Milliseconds()}, &cursor)
		if !errors.Is(err, store.ErrNotFound) {
			return err
		}
		var ms int64
		if err := t.Row("SELECT until - {{now}} FROM vector_space WHERE space = $1", []any{v.space}, &ms); err != nil {
			return err
		}
		wait = time.Duration(max(ms, 1)) * time.Millisecond
		return nil
	})
	return cursor, wait, err
}

// ErrLost means that another worker has the lease.
var ErrLost = errors.New("the lease has expired")

// Keep renews the lease. It fails with [ErrLost] if another worker has it.
func (v Vectors) Keep(ctx context.Context, worker string, lease time.Duration) error {
	return v.held(ctx, "UPDATE vector_space SET until = {{now}} + $3 WHERE space = $1 AND holder = $2 AND until > 0",
		v.space, worker, lease.Milliseconds())
}

// Reach stores that memories have vectors up to a cursor.
func (v Vectors) Reach(ctx context.Context, worker, cursor string) error {
	return v.held(ctx, "UPDATE vector_space SET place = $3 WHERE space = $1 AND holder = $2 AND until > 0",
		v.space, worker, cursor)
}

// Release ends the lease.
func (v Vectors) Release(ctx context.Context, worker string) error {
	return v.held(ctx, "UPDATE vector_space SET until = 0, holder = '' WHERE space = $1 AND holder = $2", v.space,
		worker)
}

func (v Vectors) held(ctx context.Context, text string, args ...any) error {
	return v.store.Update(ctx, func(t *store.Tx) error {
		n, err := t.Exec(text, args...)
		if err == nil && n == 0 {
			err = ErrLost
		}
		return err
	})
}

// Missing lists memories without vectors of the present version, in the order of ids: the memories in ids,
// or, without ids, all memories after an id.
func (v Vectors) Missing(ctx context.Context, ids []string, after string, limit int) (missing []string, err error) {
	text, args := `SELECT m.id FROM memory m 
		WHERE m.id > $2 AND m.category <> '`+memory.Context+`' AND `+memory.Live+` AND NOT EXISTS (
		SELECT 1 FROM memory_vector p WHERE p.memory = m.id AND p.space = $1 AND p.n = 0 AND p.version = m.version)`,
		[]any{v.space, after, limit}
	if len(ids) > 0 {
		text += " AND m.id IN (" + store.In(&args, ids) + ")"
	}
	return store.Select(ctx, v.store, text+" ORDER BY m.id LIMIT $3", args, store.One[string])
}

// Known returns the digests that have vectors. Such vectors are not removed for a while.
func (v Vectors) Known(ctx context.Context, digests []string) (known map[string]bool, err error) {
	err = v.store.Update(ctx, func(t *store.Tx) error {
		known = map[string]bool{}
		var args []any
		text := "UPDATE vector SET made = {{now}} WHERE digest IN (" + store.In(&args, digests) + ") RETURNING digest"
		list, err := store.List(t, text, args, store.One[string])
		for _, digest := range list {
			known[digest] = true
		}
		return err
	})
	return known, err
}

// Add stores vectors.
func (v Vectors) Add(ctx context.Context, list []embeddings.Vector) error {
	return v.store.Update(ctx, func(t *store.Tx) error {
		for _, one := range list {
			_, err := t.Exec(`INSERT INTO vector (digest, made, data) VALUES ($1, {{now}}, $2)
				ON CONFLICT (digest) DO UPDATE SET made = {{now}}`, one.Digest, one.Data)
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// Set stores the digests of the parts of a version of a memory, if that is still the present version.
func (v Vectors) Set(ctx context.Context, id string, version int64, digests []string) error {
	return v.store.Update(ctx, func(t *store.Tx) error {
		if _, err := t.Exec("DELETE FROM memory_vector WHERE memory = $1 AND space = $2", id, v.space); err != nil {
			return err
		}
		for n, digest := range digests {
			_, err := t.Exec(`INSERT INTO memory_vector (space, memory, n, version, digest)
				SELECT $1, id, $2, version, $3 FROM memory WHERE id = $4 AND version = $5`,
				v.space, n, digest, id, version)
			if err != nil {
				return err
			}
		}
		return t.Changed(Topic, id)
	})
}

const selectParts = `SELECT m.id, m.version, p.n, m.agent, m.usr, m.path, m.category, m.updated, m.expires, v.data
	FROM memory m JOIN memory_vector p ON p.memory = m.id AND p.space = $1 AND p.version = m.version
	JOIN vector v ON v.digest = p.digest
	WHERE ` + memory.Live + " AND "

// OfScope reads the parts of the memories of one owner, the latest memories first, until each returns false.
func (v Vectors) OfScope(ctx context.Context, scope string, each func(embeddings.Part) bool) error {
	o := memory.OwnerOf(scope)
	err := v.store.View(ctx, func(t *store.Tx) error {
		return t.Each(selectParts+"m.agent = $2 AND m.usr = $3 ORDER BY m.updated DESC, m.id, p.n",
			[]any{v.space, o.Agent, o.User},
			func(scan store.Scan) error {
				p, err := scanPart(scan)
				if err == nil && !each(p) {
					err = errStop
				}
				return err
			})
	})
	if errors.Is(err, errStop) {
		return nil
	}
	return err
}

var errStop = errors.New("stop reading")

// OfDocuments returns the parts of the memories with these ids that belong to one owner.
func (v Vectors) OfDocuments(ctx context.Context, ids []string, scope string) (parts []embeddings.Part, err error) {
	o := memory.OwnerOf(scope)
	args := []any{v.space, o.Agent, o.User}
	// With coalesce SQLite uses the index of ids and not the index of owners: see
	// memory.Rows.Readable.
	text := selectParts + "m.id IN (" + store.In(&args, ids) +
		") AND coalesce(m.agent, '') = $2 AND coalesce(m.usr, '') = $3 ORDER BY m.id, p.n"
	return store.Select(ctx, v.store, text, args, scanPart)
}

func scanPart(scan store.Scan) (p embeddings.Part, err error) {
	var o tool.Owner
	var updated, expires int64
	err = scan(&p.Document, &p.Version, &p.N, &o.Agent, &o.User, &p.Path, &p.Category, &updated, &expires, &p.Vector)
	p.Scope, p.Updated, p.Expires = memory.Scope(o), store.FromMillis(updated), store.FromMillis(expires)
	return p, err
}

// How long unused vectors are kept.
const (
	seenEvery = 24 * time.Hour     // between notes that a space is in use
	spaceAge  = 7 * 24 * time.Hour // of a space that is not in use
	vectorAge = time.Hour          // of a vector that no part has, or not yet
)

// Sweep removes spaces that no server uses, and vectors that no memory has.
func Sweep(ctx context.Context, s *store.Store) error {
	return s.Update(ctx, func(t *store.Tx) error {
		_,
			err := t.Exec(`DELETE FROM memory_vector
			WHERE space IN (SELECT space FROM vector_space WHERE seen < {{now}} - $1)`,
			spaceAge.Milliseconds())
		if err != nil {
			return err
		}
		if _, err := t.Exec("DELETE FROM vector_space WHERE seen < {{now}} - $1", spaceAge.Milliseconds()); err != nil {
			return err
		}
		_, err = t.Exec(`DELETE FROM vector WHERE digest IN (SELECT v.digest FROM vector v WHERE v.made < {{now}} - $1
			AND NOT EXISTS (SELECT 1 FROM memory_vector p WHERE p.digest = v.digest))`, vectorAge.Milliseconds())
		return err
	})
}
