package tokens

import (
	"context"
	"crypto/subtle"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/store"
)

// A Client is a machine that gets secrets for calls by itself, with the client credentials grant of OAuth. Its id is that
// of a granted token, which says what it may do: the token is listed, revoked and recorded as every other.
type Client struct {
	Token
	Keys   string // JSON Web Key Set of a client that authenticates with a key; "" if it has a secret
	secret string // hash
}

// clientPrefix begins the secrets of clients, so that people and scrubbers recognise them. They are no tokens.
const clientPrefix = "mcps_"

// CreateClient adds a client. Without keys it returns a secret, which cannot be shown again.
func (t *Table) CreateClient(ctx context.Context, req Token, keys string) (plain Secret, kept Token, err error) {
	hash := ""
	if keys == "" {
		text := clientPrefix + generate().Reveal()[len(prefix):]
		plain, hash = Secret{&text}, hashOf(text)
	}
	err = t.DB.Update(ctx, func(tx *store.Tx) error {
		if _, kept, err = Grant(tx, req); err == nil {
			_, err = tx.Exec("INSERT INTO token_client (token, secret, keys) VALUES ($1, $2, $3)", kept.ID, hash, keys)
		}
		return err
	})
	return plain, kept, err
}

// ClientOf returns the client with an id. The error is [store.ErrNotFound] if there is none whose token is valid.
func ClientOf(ctx context.Context, s *store.Store, id string) (c Client, err error) {
	var ms int64
	c.Token, err = scanToken(func(into ...any) error {
		return s.Row(ctx, "SELECT "+tokenColumns+`, {{now}}, (SELECT secret FROM token_client c WHERE c.token = token.id),
			(SELECT keys FROM token_client c WHERE c.token = token.id) FROM token
			WHERE id = $1 AND EXISTS (SELECT 1 FROM token_client c WHERE c.token = token.id)`, []any{id}, into...)
	}, &ms, &c.secret, &c.Keys)
	if err == nil && c.State(store.FromMillis(ms)) != "active" {
		err = store.ErrNotFound
	}
	return c, err
}

// HasSecret reports whether a text is the secret of the client.
func (c Client) HasSecret(plain string) bool {
	return c.secret != "" && subtle.ConstantTimeCompare([]byte(c.secret), []byte(hashOf(plain))) == 1
}

// Access adds a secret for calls, and returns how long it can be used.
func (c Client) Access(tx *store.Tx) (Secret, time.Duration, error) {
	now, err := tx.Now()
	if err != nil {
		return Secret{}, 0, err
	}
	lasts := AccessAge
	if !c.Expires.IsZero() {
		lasts = min(lasts, c.Expires.Sub(store.FromMillis(now)))
	}
	secret, err := renew(tx, c.ID, maxClientAccess)
	return secret, lasts, err
}

// Forget removes a secret for calls in a transaction. It counts everywhere after [Settle].
func (c Client) Forget(tx *store.Tx, plain string) error {
	_, err := tx.Exec("DELETE FROM token_access WHERE token = $1 AND hash = $2", c.ID, hashOf(plain))
	return err
}
