package audit

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/store"
)

// A Vault seals the key of the log, so that it can be a row of the store that replicas share. Its errors mean that a
// key of this machine alone has to do.
type Vault interface {
	Seal(ctx context.Context, bound string, plain []byte) ([]byte, error)
	Open(ctx context.Context, bound string, sealed []byte) ([]byte, error)
}

// sharedTimeout limits how long the first record waits for the key in the store.
const sharedTimeout = 3 * time.Second

func keyBound(id string) string { return "audit_key " + id }

// shared returns the oldest key in the store that opens. If the store has none it gets a new one, so that machines
// which start at the same time have the same.
func (db *DB) shared(ctx context.Context, v Vault) (k key, err error) {
	ctx, cancel := context.WithTimeout(ctx, sharedTimeout)
	defer cancel()
	if db.store == nil || db.store.Missing() {
		return key{}, errors.New("there is no store yet")
	}
	if k, err = db.oldest(ctx, v); !errors.Is(err, store.ErrNotFound) {
		return k, err
	}
	_, _ = rand.Read(k[:]) // never fails
	if err := db.share(ctx, v, k); err != nil {
		return key{}, err
	}
	return db.oldest(ctx, v)
}

// oldest returns the oldest key in the store that opens. Without a key in the store the error is ErrNotFound.
func (db *DB) oldest(ctx context.Context, v Vault) (key, error) {
	type row struct {
		id     string
		sealed []byte
	}
	rows, err := store.Select(ctx, db.store, "SELECT id, sealed FROM audit_key ORDER BY created, id", nil,
		func(scan store.Scan) (r row, err error) { return r, scan(&r.id, &r.sealed) })
	if err != nil {
		return key{}, err
	}
	for _, r := range rows {
		raw, err := v.Open(ctx, keyBound(r.id), r.sealed)
		if err == nil && len(raw) == len(key{}) && key(raw).id() == r.id {
			return key(raw), nil
		}
	}
	if len(rows) == 0 {
		return key{}, store.ErrNotFound
	}
	return key{}, errors.New("no key of the audit log in the store opens here")
}

// share adds a key to the store, sealed, unless it is there.
func (db *DB) share(ctx context.Context, v Vault, k key) error {
	there := 0
	err := db.store.Row(ctx, "SELECT count(*) FROM audit_key WHERE id = $1", []any{k.id()}, &there)
	if err != nil || there > 0 {
		return err
	}
	sealed, err := v.Seal(ctx, keyBound(k.id()), k[:])
	if err != nil {
		return fmt.Errorf("sealing the key of the audit log: %w", err)
	}
	return db.store.Update(ctx, func(t *store.Tx) error {
		_, err := t.Exec("INSERT INTO audit_key (id, sealed, created) VALUES ($1, $2, {{now}}) ON CONFLICT (id) DO NOTHING",
			k.id(), sealed)
		return err
	})
}
