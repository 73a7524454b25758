package audit

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/vault"
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
// that start at the same time have the same key.
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
	rows, err := db.sealedKeys(ctx)
	if err != nil {
		return key{}, err
	}
	for _, r := range rows {
		if k, ok := r.open(ctx, v); ok {
			return k, nil
		}
	}
	if len(rows) == 0 {
		return key{}, store.ErrNotFound
	}
	return key{}, errors.New("no key of the audit log in the store opens here")
}

// keys returns the keys in the store that open, the oldest first.
func (db *DB) keys(ctx context.Context, v Vault) (list []key, err error) {
	if v == nil || db.store == nil || db.store.Missing() {
		return nil, nil
	}
	rows, err := db.sealedKeys(ctx)
	for _, r := range rows {
		if k, ok := r.open(ctx, v); ok {
			list = append(list, k)
		}
	}
	return list, err
}

// A sealedKey is a key in the store.
type sealedKey struct {
	id     string
	sealed []byte
}

func (db *DB) sealedKeys(ctx context.Context) ([]sealedKey, error) {
	return store.Select(ctx, db.store, "SELECT id, sealed FROM audit_key ORDER BY created, id", nil,
		func(scan store.Scan) (r sealedKey, err error) { return r, scan(&r.id, &r.sealed) })
}

func (r sealedKey) open(ctx context.Context, v Vault) (k key, ok bool) {
	raw, err := v.Open(ctx, keyBound(r.id), r.sealed)
	if err != nil || len(raw) != len(k) || key(raw).id() != r.id {
		return k, false
	}
	return key(raw), true
}

// SealedKeys returns the part of a reset of the vault that removes the keys in the store: each machine keeps its own, and puts it
// there again.
func SealedKeys() vault.Dependents {
	return vault.Dependents{
		Lost: func(context.Context, *store.Store) (string, error) { return "", nil },
		Forget: func(t *store.Tx) error {
			_, err := t.Exec("DELETE FROM audit_key")
			return err
		},
	}
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
