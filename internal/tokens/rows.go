package tokens

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/store"
)

// tokenRows reads and writes the table of tokens, shared by all processes and machines on the
// same store. Tests make it fail.
type tokenRows interface {
	// Unused reports that there is certainly no store yet. Reading must not
	// create one.
	Unused() bool
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

func (s storeRows) Unused() bool { return s.store.Unused() }

const tokenColumns = "hash, id, name, profiles, approve, agent, usr, workspace, created, expires, used, revoked, " +
	"provider, chat, peer_kind, topic, structured"

// scanToken reads a row with tokenColumns, and more columns into others.
func scanToken(scan store.Scan, others ...any) (r Token, err error) {
	var profiles string
	var created, expires, used, revoked int64
	err = scan(append([]any{&r.Hash, &r.ID, &r.Name, &profiles, &r.Approve, &r.Agent, &r.User, &r.Workspace,
		&created, &expires, &used, &revoked, &r.Provider, &r.Chat, &r.PeerKind, &r.Topic, &r.Structured},
		others...)...)
	if err != nil {
		return r, err
	}
	r.Created, r.Expires = store.FromMillis(created).UTC(), store.FromMillis(expires).UTC()
	r.LastUsed, r.Revoked = store.FromMillis(used).UTC(), store.FromMillis(revoked).UTC()
	return r, store.FromJSON(profiles, &r.Profiles)
}

func (s storeRows) ByHash(ctx context.Context, hash string) (r Token, now time.Time, found bool, err error) {
	var ms int64
	r, err = scanToken(func(into ...any) error {
		return s.store.Row(ctx, "SELECT "+tokenColumns+", {{now}} FROM token WHERE hash = $1", []any{hash}, into...)
	}, &ms)
	if errors.Is(err, store.ErrNotFound) {
		r, now, err = s.grantedByHash(ctx, hash)
		if errors.Is(err, store.ErrNotFound) {
			return Token{}, now, false, nil
		}
		return r, now, err == nil, err
	}
	return r, store.FromMillis(ms), err == nil, err
}

func (s storeRows) All(ctx context.Context) (list []Token, err error) {
	return store.Select(ctx, s.store, "SELECT "+tokenColumns+" FROM token ORDER BY created, id", nil,
		func(scan store.Scan) (Token, error) { return scanToken(scan) })
}

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
		n, err := insert(t, r, now)
		added, created = n > 0, store.FromMillis(now).UTC()
		return err
	})
	return added, created, err
}

// insert inserts the row of a token, unless there is one with its hash or id. now is its creation.
func insert(t *store.Tx, r Token, now int64) (n int64, err error) {
	profiles, err := store.ToJSON(r.Profiles, len(r.Profiles) == 0)
	if err != nil {
		return 0, err
	}
	return t.Exec(`INSERT INTO token (hash, id, name, profiles, approve, agent, usr, workspace, created, expires,
		provider, chat, peer_kind, topic, structured)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15) ON CONFLICT DO NOTHING`,
		r.Hash, r.ID, r.Name, profiles, r.Approve, r.Agent, r.User, r.Workspace, now, store.Millis(r.Expires),
		r.Provider, r.Chat, r.PeerKind, r.Topic, r.Structured)
}

func (s storeRows) Revoke(ctx context.Context, id string) error {
	return s.store.Update(ctx, func(t *store.Tx) error {
		_, err := t.Exec("UPDATE token SET revoked = {{now}} WHERE id = $1 AND revoked = 0", id)
		return err
	})
}

func (s storeRows) Used(ctx context.Context, ago map[string]time.Duration) error {
	return s.store.Update(ctx, func(t *store.Tx) error {
		for _, id := range slices.Sorted(maps.Keys(ago)) { // in the same order everywhere, to avoid deadlocks
			_, err := t.Exec("UPDATE token SET used = {{max}}(used, {{now}} - $2) WHERE id = $1", id,
				ago[id].Milliseconds())
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// Revoked returns the reason why the token with an id is no longer valid, such as "was
// revoked", or "" if it is valid. It reads the store, so it sees the changes of all processes
// at once.
func Revoked(ctx context.Context, s *store.Store, id string) (reason string, err error) {
	var revoked, expired bool
	err = s.Row(ctx, "SELECT revoked > 0, expires > 0 AND expires <= {{now}} FROM token WHERE id = $1", []any{id},
		&revoked, &expired)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return "was removed", nil
	case err != nil:
		return "", err
	case revoked:
		return "was revoked", nil
	case expired:
		return "has expired", nil
	}
	return "", nil
}
