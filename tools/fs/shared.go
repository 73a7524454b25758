package fs

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"sync/atomic"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/store"
)

// A SharedSeen keeps in the store the version of each file that a session knows, for all replicas that serve the
// session. If the store is not available, each replica goes by what it knows itself.
type SharedSeen struct {
	Store *store.Store

	swept atomic.Int64 // when old rows were last removed, in Unix seconds
}

const (
	sharedTimeout = 2 * time.Second
	sharedAge     = 24 * time.Hour
)

// rowOf returns the key of the row of a session and a file. The key is a digest and shows
// neither.
func rowOf(k seenKey) string {
	sum := sha256.Sum256([]byte(k.session + "\x00" + k.name))
	return hex.EncodeToString(sum[:16])
}

func (s *SharedSeen) note(k seenKey, version string) {
	ctx, cancel := context.WithTimeout(context.Background(), sharedTimeout)
	defer cancel()
	now := time.Now().Unix()
	last := s.swept.Load()
	sweep := now-last > 3600 && s.swept.CompareAndSwap(last, now)
	_ = s.Store.Update(ctx, func(t *store.Tx) error {
		if sweep {
			if _, err := t.Exec("DELETE FROM file_seen WHERE at < {{now}} - $1", sharedAge.Milliseconds()); err != nil {
				return err
			}
		}
		_, err := t.Exec(`INSERT INTO file_seen (id, version, at) VALUES ($1, $2, {{now}})
			ON CONFLICT (id) DO UPDATE SET version = excluded.version, at = excluded.at`, rowOf(k), version)
		return err
	})
}

// version returns the version that the session knows, "" for none. It is not known if the store does not answer.
func (s *SharedSeen) version(k seenKey) (version string, known bool) {
	ctx, cancel := context.WithTimeout(context.Background(), sharedTimeout)
	defer cancel()
	err := s.Store.Row(ctx, "SELECT version FROM file_seen WHERE id = $1", []any{rowOf(k)}, &version)
	return version, err == nil || errors.Is(err, store.ErrNotFound)
}
