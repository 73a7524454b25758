package store

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"
)

// Tokens are the rows of bearer tokens. What a token is they do not know.
type Tokens struct{ store *Store }

// Tokens gives access to the table of tokens.
func (s *Store) Tokens() Tokens { return Tokens{s} }

// A Token is the row of one token. It has no name of its own, so that whoever
// declares the same fields has the same type.
type Token = struct {
	Hash      string // of the token, hexadecimal
	ID        string
	Name      string
	Profiles  []string
	Approve   bool
	Agent     string
	User      string
	Workspace string
	Created   time.Time
	Expires   time.Time // like the rest: zero for never
	Used      time.Time
	Revoked   time.Time
}

const tokenColumns = "hash, id, name, profiles, approve, agent, usr, workspace, created, expires, used, revoked"

// tokenInto is where a row is read into, and done what completes it.
func tokenInto(r *Token) (into []any, done func() error) {
	var profiles string
	var created, expires, used, revoked int64
	into = []any{&r.Hash, &r.ID, &r.Name, &profiles, &r.Approve, &r.Agent, &r.User, &r.Workspace, &created, &expires, &used, &revoked}
	return into, func() error {
		r.Created, r.Expires, r.Used, r.Revoked = FromMillis(created), FromMillis(expires), FromMillis(used), FromMillis(revoked)
		return FromJSON(profiles, &r.Profiles)
	}
}

// ByHash returns the token with a hash, and what time it is.
func (s Tokens) ByHash(ctx context.Context, hash string) (r Token, now time.Time, found bool, err error) {
	into, done := tokenInto(&r)
	var ms int64
	err = s.store.Row(ctx, "SELECT "+tokenColumns+", {{now}} FROM token WHERE hash = $1", []any{hash}, append(into, &ms)...)
	if errors.Is(err, ErrNotFound) {
		return Token{}, now, false, nil
	}
	if err == nil {
		err = done()
	}
	return r, FromMillis(ms), err == nil, err
}

// All returns all tokens, the oldest first.
func (s Tokens) All(ctx context.Context) (list []Token, err error) {
	err = s.store.View(ctx, func(t *Tx) error {
		list = nil
		return t.Each("SELECT "+tokenColumns+" FROM token ORDER BY created, id", nil, func(scan func(...any) error) error {
			var r Token
			into, done := tokenInto(&r)
			if err := scan(into...); err != nil {
				return err
			}
			err := done()
			list = append(list, r)
			return err
		})
	})
	return list, err
}

// Add adds a token that was created now, unless there is one with its id or
// hash. The first of all is only added when there never was one.
func (s Tokens) Add(ctx context.Context, r Token, first bool) (added bool, created time.Time, err error) {
	err = s.store.Update(ctx, func(t *Tx) error {
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
		profiles, err := ToJSON(r.Profiles, len(r.Profiles) == 0)
		if err != nil {
			return err
		}
		n, err := t.Exec(`INSERT INTO token (hash, id, name, profiles, approve, agent, usr, workspace, created, expires)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) ON CONFLICT DO NOTHING`,
			r.Hash, r.ID, r.Name, profiles, r.Approve, r.Agent, r.User, r.Workspace, now, Millis(r.Expires))
		added, created = n > 0, FromMillis(now)
		return err
	})
	return added, created, err
}

// Revoke ends a token, unless it has ended.
func (s Tokens) Revoke(ctx context.Context, id string) error {
	return s.store.Update(ctx, func(t *Tx) error {
		_, err := t.Exec("UPDATE token SET revoked = {{now}} WHERE id = $1 AND revoked = 0", id)
		return err
	})
}

// Used writes down how long ago tokens were used, by id.
func (s Tokens) Used(ctx context.Context, ago map[string]time.Duration) error {
	return s.store.Update(ctx, func(t *Tx) error {
		for _, id := range slices.Sorted(maps.Keys(ago)) { // or two might wait for each other
			_, err := t.Exec("UPDATE token SET used = {{max}}(used, {{now}} - $2) WHERE id = $1", id, ago[id].Milliseconds())
			if err != nil {
				return err
			}
		}
		return nil
	})
}
