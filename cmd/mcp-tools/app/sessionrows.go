package app

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/server"
)

// sessionRows keep sessions of clients in the store, by hash of their id: a reader of the store cannot use them.
type sessionRows struct{ store *store.Store }

// sessionAge is the time until a session is removed if no replica looks it up.
const sessionAge = 7 * 24 * time.Hour

func (a *App) sessionRows() server.SessionRows {
	if !a.replicated() {
		return nil
	}
	return sessionRows{a.store}
}

func hashOf(id string) string {
	sum := sha256.Sum256([]byte("client session\x00" + id))
	return hex.EncodeToString(sum[:])
}

func (r sessionRows) Save(ctx context.Context, id string, body []byte) error {
	return r.store.Update(ctx, func(t *store.Tx) error {
		if _, err := t.Exec("DELETE FROM client_session WHERE used < {{now}} - $1", sessionAge.Milliseconds()); err != nil {
			return err
		}
		_, err := t.Exec(`INSERT INTO client_session (id, body, used) VALUES ($1, $2, {{now}})
			ON CONFLICT (id) DO UPDATE SET body = excluded.body, used = excluded.used`, hashOf(id), string(body))
		return err
	})
}

func (r sessionRows) Load(ctx context.Context, id string) ([]byte, error) {
	list, err := store.Select(ctx, r.store, "SELECT body FROM client_session WHERE id = $1 AND used > {{now}} - $2",
		[]any{hashOf(id), sessionAge.Milliseconds()}, store.One[string])
	if err != nil || len(list) == 0 {
		return nil, err
	}
	return []byte(list[0]), nil
}

func (r sessionRows) Remove(ctx context.Context, id string) error {
	return r.store.Update(ctx, func(t *store.Tx) error {
		_, err := t.Exec("DELETE FROM client_session WHERE id = $1", hashOf(id))
		return err
	})
}
