package tokens

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/store"
)

// tokenRows reads and writes the table of tokens, which all processes and
// machines with the same store share. Tests make it fail.
type tokenRows interface {
	// ByHash returns the token with a hash, and the time by the store's clock.
	ByHash(ctx context.Context, hash string) (r Token, now time.Time, found bool, err error)
	// All returns all tokens, the oldest first.
	All(ctx context.Context) ([]Token, error)
	// Add adds a token that was created now, unless there is one with its id or
	// hash. If first is set it adds the token only to a table that is empty.
	Add(ctx context.Context, r Token, first bool) (added bool, created time.Time, err error)
	// Revoke revokes a token that is not revoked.
	Revoke(ctx context.Context, id string) error
	// Used records how long ago tokens were used, by id.
	Used(ctx context.Context, ago map[string]time.Duration) error
}

// storeRows are the rows of a store.
type storeRows struct{ store *store.Store }

const tokenColumns = "hash, id, name, profiles, approve, agent, usr, workspace, created, expires, used, revoked"

// tokenInto is where a row is read into, and done what completes it.
func tokenInto(r *Token) (into []any, done func() error) {
	var profiles string
	var created, expires, used, revoked int64
	into = []any{&r.Hash, &r.ID, &r.Name, &profiles, &r.Approve, &r.Agent, &r.User, &r.Workspace, &created, &expires, &used, &revoked}
	return into, func() error {
		r.Created, r.Expires = store.FromMillis(created).UTC(), store.FromMillis(expires).UTC()
		r.LastUsed, r.Revoked = store.FromMillis(used).UTC(), store.FromMillis(revoked).UTC()
		return store.FromJSON(profiles, &r.Profiles)
	}
}

// ByHash returns the token with a hash, and what time it is.
func (s storeRows) ByHash(ctx context.Context, hash string) (r Token, now time.Time, found bool, err error) {
	into, done := tokenInto(&r)
	var ms int64
	err = s.store.Row(ctx, "SELECT "+tokenColumns+", {{now}} FROM token WHERE hash = $1", []any{hash}, append(into, &ms)...)
	if errors.Is(err, store.ErrNotFound) {
		return Token{}, now, false, nil
	}
	if err == nil {
		err = done()
	}
	return r, store.FromMillis(ms), err == nil, err
}

// All returns all tokens, the oldest first.
func (s storeRows) All(ctx context.Context) (list []Token, err error) {
	err = s.store.View(ctx, func(t *store.Tx) error {
		list, err = store.List(t, "SELECT "+tokenColumns+" FROM token ORDER BY created, id", nil, func(scan store.Scan) (r Token, err error) {
			into, done := tokenInto(&r)
			if err := scan(into...); err != nil {
				return r, err
			}
			return r, done()
		})
		return err
	})
	return list, err
}

// Add adds a token that was created now, unless there is one with its id or
// hash. The first of all is only added when there never was one.
func (s storeRows) Add(ctx context.Context, r Token, first bool) (added bool, created time.Time, err error) {
	err = s.store.Update(ctx, func(t *store.Tx) error {
		added = false
		if err := t.Lock("tokens"); err != nil {
			return err
		}
		if first {
			var some bool
			if err := t.Row("SELECT EXISTS (SELECT 1 FROM token)", nil, &some); err != nil || some {
				return err
			}
		}
		now, err := t.Now()
		if err != nil {
			return err
		}
		profiles, err := store.ToJSON(r.Profiles, len(r.Profiles) == 0)
		if err != nil {
			return err
		}
		n, err := t.Exec(`INSERT INTO token (hash, id, name, profiles, approve, agent, usr, workspace, created, expires)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) ON CONFLICT DO NOTHING`,
			r.Hash, r.ID, r.Name, profiles, r.Approve, r.Agent, r.User, r.Workspace, now, store.Millis(r.Expires))
		added, created = n > 0, store.FromMillis(now).UTC()
		return err
	})
	return added, created, err
}

// Revoke ends a token, unless it has ended.
func (s storeRows) Revoke(ctx context.Context, id string) error {
	return s.store.Update(ctx, func(t *store.Tx) error {
		_, err := t.Exec("UPDATE token SET revoked = {{now}} WHERE id = $1 AND revoked = 0", id)
		return err
	})
}

// Used writes down how long ago tokens were used, by id.
func (s storeRows) Used(ctx context.Context, ago map[string]time.Duration) error {
	return s.store.Update(ctx, func(t *store.Tx) error {
		for _, id := range slices.Sorted(maps.Keys(ago)) { // or two might wait for each other
			_, err := t.Exec("UPDATE token SET used = {{max}}(used, {{now}} - $2) WHERE id = $1", id, ago[id].Milliseconds())
			if err != nil {
				return err
			}
		}
		return nil
	})
}
