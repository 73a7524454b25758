package store

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/mcp-tools/mcp-tools/tools/memory"
)

// VectorTopic is the topic of changes of the vectors of memories. Keys are the
// ids of the memories.
const VectorTopic = "memory.vector"

// Vectors are the vectors of one space: those that can be compared.
type Vectors struct {
	store *Store
	space string
}

// Vectors gives access to a space, which has to have a name.
func (s *Store) Vectors(space string) Vectors { return Vectors{s, space} }

// Location is how far the feed was followed by whoever fills the space. A space
// that is new has none; one that is known is seen to be in use.
func (v Vectors) Place(ctx context.Context) (place string, err error) {
	stale := false
	err = v.store.View(ctx, func(t *Tx) error {
		err := t.Row("SELECT place, seen < {{now}} - $2 FROM vector_space WHERE space = $1", []any{v.space, seenEvery.Milliseconds()}, &place, &stale)
		if errors.Is(err, ErrNotFound) {
			stale = true
			return nil
		}
		return err
	})
	if err != nil || !stale {
		return place, err
	}
	return place, v.store.Update(ctx, func(t *Tx) error {
		_, err := t.Exec(`INSERT INTO vector_space (space, place, holder, until, seen) VALUES ($1, '', '', 0, {{now}})
			ON CONFLICT (space) DO UPDATE SET seen = {{now}}`, v.space)
		return err
	})
}

// Hold gives the space to one who fills it, until the lease is over. When it is
// somebody else's, wait says how long that one holds it.
func (v Vectors) Hold(ctx context.Context, holder string, lease time.Duration) (place string, wait time.Duration, err error) {
	err = v.store.Update(ctx, func(t *Tx) error {
		wait = 0
		err := t.Row(`UPDATE vector_space SET holder = $2, until = {{now}} + $3, seen = {{now}}
			WHERE space = $1 AND (holder = $2 OR until <= {{now}}) RETURNING place`, []any{v.space, holder, lease.Milliseconds()}, &place)
		if !errors.Is(err, ErrNotFound) {
			return err
		}
		var ms int64
		if err := t.Row("SELECT until - {{now}} FROM vector_space WHERE space = $1", []any{v.space}, &ms); err != nil {
			return err
		}
		wait = time.Duration(max(ms, 1)) * time.Millisecond
		return nil
	})
	return place, wait, err
}

// Keep goes on holding the space. It fails with [ErrLost] when that is somebody
// else's by now.
func (v Vectors) Keep(ctx context.Context, holder string, lease time.Duration) error {
	return v.held(ctx, "UPDATE vector_space SET until = {{now}} + $3 WHERE space = $1 AND holder = $2 AND until > 0", v.space, holder, lease.Milliseconds())
}

// Reach notes that everything up to a place in the feed is done.
func (v Vectors) Reach(ctx context.Context, holder, place string) error {
	return v.held(ctx, "UPDATE vector_space SET place = $3 WHERE space = $1 AND holder = $2 AND until > 0", v.space, holder, place)
}

// Release gives the space to whoever wants it.
func (v Vectors) Release(ctx context.Context, holder string) error {
	return v.held(ctx, "UPDATE vector_space SET until = 0, holder = '' WHERE space = $1 AND holder = $2", v.space, holder)
}

func (v Vectors) held(ctx context.Context, text string, args ...any) error {
	return v.store.Update(ctx, func(t *Tx) error {
		n, err := t.Exec(text, args...)
		if err == nil && n == 0 {
			err = ErrLost
		}
		return err
	})
}

// vectorMissing are memories whose present version has no pieces.
const vectorMissing = memoryLive + ` AND NOT EXISTS (
	SELECT 1 FROM memory_vector p WHERE p.memory = m.id AND p.space = $1 AND p.n = 0 AND p.version = m.version)`

// Missing lists memories whose present version is not done, by their ids: those
// of keys, or without keys all, from the one after another.
func (v Vectors) Missing(ctx context.Context, keys []string, after string, limit int) (ids []string, err error) {
	text, args := "SELECT m.id FROM memory m WHERE m.id > $2 AND "+vectorMissing, []any{v.space, after, limit}
	if len(keys) > 0 {
		text += " AND m.id IN (" + Params(&args, keys...) + ")"
	}
	err = v.store.View(ctx, func(t *Tx) error {
		ids = nil
		return t.Each(text+" ORDER BY m.id LIMIT $3", args, func(scan func(...any) error) error {
			var id string
			err := scan(&id)
			ids = append(ids, id)
			return err
		})
	})
	return ids, err
}

// Known are those of some digests that have vectors, which then are not
// forgotten for a while.
func (v Vectors) Known(ctx context.Context, digests []string) (known map[string]bool, err error) {
	err = v.store.Update(ctx, func(t *Tx) error {
		known = map[string]bool{}
		for rest := digests; len(rest) > 0; {
			some := rest[:min(len(rest), 256)]
			rest = rest[len(some):]
			var args []any
			text := "UPDATE vector SET made = {{now}} WHERE digest IN (" + Params(&args, some...) + ") RETURNING digest"
			err := t.Each(text, args, func(scan func(...any) error) error {
				var digest string
				err := scan(&digest)
				known[digest] = true
				return err
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
	return known, err
}

// Add keeps vectors.
func (v Vectors) Add(ctx context.Context, list []memory.Vector) error {
	return v.store.Update(ctx, func(t *Tx) error {
		for _, one := range list {
			_, err := t.Exec("INSERT INTO vector (digest, made, data) VALUES ($1, {{now}}, $2) ON CONFLICT (digest) DO UPDATE SET made = {{now}}", one.Digest, one.Data)
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// Set says which vectors the pieces of a version of a memory have, unless there
// is no such version any more.
func (v Vectors) Set(ctx context.Context, id string, version int64, digests []string) error {
	return v.store.Update(ctx, func(t *Tx) error {
		if _, err := t.Exec("DELETE FROM memory_vector WHERE memory = $1 AND space = $2", id, v.space); err != nil {
			return err
		}
		for n, digest := range digests {
			_, err := t.Exec(`INSERT INTO memory_vector (space, memory, n, version, digest)
				SELECT $1, id, $2, version, $3 FROM memory WHERE id = $4 AND version = $5`, v.space, n, digest, id, version)
			if err != nil {
				return err
			}
		}
		return t.Changed(VectorTopic, id)
	})
}

const pieceText = `SELECT m.id, m.version, p.n, m.agent, m.usr, m.path, m.category, m.updated, m.expires, v.data
	FROM memory m JOIN memory_vector p ON p.memory = m.id AND p.space = $1 AND p.version = m.version JOIN vector v ON v.digest = p.digest
	WHERE ` + memoryLive + " AND "

// Of reads the pieces of an owner's memories, and not of those that are shared,
// the latest memories first, until there are no more or each returns false.
func (v Vectors) Of(ctx context.Context, o memory.Owner, each func(memory.Piece) bool) error {
	return v.pieces(ctx, pieceText+"m.agent = $2 AND m.usr = $3 ORDER BY m.updated DESC, m.id, p.n", []any{v.space, o.Agent, o.User}, each)
}

// OfDocuments reads the pieces of some documents of some owners.
func (v Vectors) OfDocuments(ctx context.Context, ids []string, owners []memory.Owner, each func(memory.Piece) bool) error {
	args := []any{v.space}
	documents := Params(&args, ids...)
	pairs := make([]string, len(owners))
	for i, o := range owners {
		pairs[i] = "(" + Params(&args, []string{o.Agent, o.User}...) + ")"
	}
	// Ids are the shorter way: see MemoriesByID.
	return v.pieces(ctx, pieceText+"m.id IN ("+documents+") AND (coalesce(m.agent, ''), coalesce(m.usr, '')) IN (VALUES "+strings.Join(pairs, ", ")+") ORDER BY m.id, p.n", args, each)
}

var errEnough = errors.New("enough was read")

func (v Vectors) pieces(ctx context.Context, text string, args []any, each func(memory.Piece) bool) error {
	err := v.store.View(ctx, func(t *Tx) error {
		return t.Each(text, args, func(scan func(...any) error) error {
			var p memory.Piece
			var updated, expires int64
			err := scan(&p.Document, &p.Version, &p.N, &p.Owner.Agent, &p.Owner.User, &p.Path, &p.Category, &updated, &expires, &p.Vector)
			if err != nil {
				return err
			}
			p.Updated, p.Expires = FromMillis(updated), FromMillis(expires)
			if !each(p) {
				return errEnough
			}
			return nil
		})
	})
	if errors.Is(err, errEnough) {
		return nil
	}
	return err
}

// How long vectors are kept that nothing needs.
const (
	seenEvery  = 24 * time.Hour     // that a space is in use is written down
	spaceAge   = 7 * 24 * time.Hour // of a space that nobody uses
	vectorRest = time.Hour          // between a vector and the piece that it is for
)

// sweepVectors forgets spaces that nobody uses any more, and vectors of what is
// not remembered any more.
func (s *Store) sweepVectors(ctx context.Context) error {
	return s.Update(ctx, func(t *Tx) error {
		_, err := t.Exec("DELETE FROM memory_vector WHERE space IN (SELECT space FROM vector_space WHERE seen < {{now}} - $1)", spaceAge.Milliseconds())
		if err != nil {
			return err
		}
		if _, err := t.Exec("DELETE FROM vector_space WHERE seen < {{now}} - $1", spaceAge.Milliseconds()); err != nil {
			return err
		}
		_, err = t.Exec(`DELETE FROM vector WHERE digest IN (SELECT v.digest FROM vector v WHERE v.made < {{now}} - $1
			AND NOT EXISTS (SELECT 1 FROM memory_vector p WHERE p.digest = v.digest))`, vectorRest.Milliseconds())
		return err
	})
}
