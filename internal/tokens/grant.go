package tokens

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/clock"
	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/policy"
)

// AccessAge is how long a secret of a granted token can be used for calls.
const AccessAge = time.Hour

// maxAccess is the maximum number of secrets of one granted token that are valid at a time, and maxClientAccess that of a
// [Client], which may be many processes.
const (
	maxAccess       = 5
	maxClientAccess = 100
)

// A granted token is issued by a login. It has an id, a name, profiles and an end as every token,
// and it is listed, revoked and recorded under this id while it lasts. Its secrets are short-lived:
// the client gets a new one with [Renew].

// Grant adds a granted token in a transaction, and returns its first secret.
func Grant(tx *store.Tx, req Token) (Secret, Token, error) {
	now, err := tx.Now()
	if err != nil {
		return Secret{}, Token{}, err
	}
	if err := req.check(store.FromMillis(now)); err != nil {
		return Secret{}, Token{}, err
	}
	_, kept := issue(req) // no client gets this secret
	switch n, err := insert(tx, kept, now); {
	case err != nil:
		return Secret{}, Token{}, err
	case n == 0: // the id exists
		return Secret{}, Token{}, store.ErrConflict
	}
	kept.Created = store.FromMillis(now).UTC()
	secret, err := Renew(tx, kept.ID)
	return secret, kept, err
}

// Renew adds a secret for calls to a granted token in a transaction. The token must be valid. The
// former secrets are valid until they expire, at most [AccessAge].
func Renew(tx *store.Tx, id string) (Secret, error) { return renew(tx, id, maxAccess) }

func renew(tx *store.Tx, id string, most int) (Secret, error) {
	plain := generate()
	_, err := tx.Exec("INSERT INTO token_access (hash, token, expires) VALUES ($1, $2, {{now}} + $3)",
		hashOf(plain.Reveal()), id, AccessAge.Milliseconds())
	if err != nil {
		return Secret{}, err
	}
	_, err = tx.Exec(`DELETE FROM token_access WHERE token = $1 AND (expires <= {{now}} OR hash NOT IN (SELECT hash FROM
		token_access WHERE token = $1 ORDER BY expires DESC, hash LIMIT $2))`, id, most)
	return plain, err
}

// Narrow limits a granted token to some of its profiles, in a transaction. Without any it is revoked.
func Narrow(tx *store.Tx, id string, profiles []string) error {
	if len(profiles) == 0 {
		return RevokeIn(tx, id)
	}
	text, err := store.ToJSON(profiles, false)
	if err != nil {
		return err
	}
	_, err = tx.Exec("UPDATE token SET profiles = $2 WHERE id = $1 AND profiles <> $2", id, text)
	return err
}

// Amend gives a granted token another workspace and agent, and takes profiles from it that are not among others, in a
// transaction. It reports whether any are left; otherwise the token is revoked.
func Amend(tx *store.Tx, id string, others []string, workspace, agent string) (left bool, err error) {
	var text string
	var had []string
	err = tx.Row("SELECT profiles FROM token WHERE id = $1", []any{id}, &text)
	if err == nil {
		err = store.FromJSON(text, &had)
	}
	if err != nil {
		return false, err
	}
	profiles := Within(had, others, policy.AnyProfile)
	if err := Narrow(tx, id, profiles); err != nil {
		return false, err
	}
	_, err = tx.Exec("UPDATE token SET workspace = $2, agent = $3 WHERE id = $1", id, workspace, agent)
	return len(profiles) > 0, err
}

// RevokeIn revokes a token in a transaction. It counts everywhere after [Settle].
func RevokeIn(tx *store.Tx, id string) error {
	_, err := tx.Exec("UPDATE token SET revoked = {{now}} WHERE id = $1 AND revoked = 0", id)
	return err
}

// Settle waits until no process accepts a token that was revoked before.
func Settle(ctx context.Context) error { return clock.Sleep(ctx, revokeWait) }

// Holder returns the id of the valid granted token that has a secret for calls, in a transaction.
// The error is [store.ErrNotFound] if there is none.
func Holder(tx *store.Tx, plain string) (id string, err error) {
	if Check(plain) != nil {
		return "", store.ErrNotFound
	}
	err = tx.Row("SELECT token FROM token_access WHERE hash = $1", []any{hashOf(plain)}, &id)
	return id, err
}

// grantedByHash returns the granted token of a secret that has not expired.
func (s storeRows) grantedByHash(ctx context.Context, hash string) (r Token, now time.Time, err error) {
	var ms int64
	columns := "token." + strings.Join(strings.Split(tokenColumns, ", "), ", token.")
	r, err = scanToken(func(into ...any) error {
		return s.store.Row(ctx, "SELECT "+columns+", {{now}} FROM token_access a JOIN token ON token.id = a.token "+
			"WHERE a.hash = $1 AND a.expires > {{now}}", []any{hash}, into...)
	}, &ms)
	r.Hash = hash
	return r, store.FromMillis(ms), err
}

// Within returns the profiles that are among others. any, policy.AnyProfile, stands for all
// profiles.
func Within(profiles, others []string, any string) []string {
	if slices.Contains(others, any) {
		return profiles
	}
	if slices.Contains(profiles, any) {
		return slices.Clone(others)
	}
	return slices.DeleteFunc(slices.Clone(profiles), func(p string) bool { return !slices.Contains(others, p) })
}
