package vault

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/go-json-experiment/json"

	"github.com/mcp-tools/mcp-tools/internal/private"
	"github.com/mcp-tools/mcp-tools/internal/store"
)

// takeOver moves the secrets of a file of versions before to the store. It may be killed at any time, and run by any
// number of processes: each secret is taken over once, also if several machines have copies of the file. The file is
// replaced when the store has everything, by one without secrets that versions before refuse.
func (v *Vault) takeOver(ctx context.Context) error {
	d, err := v.load()
	if err != nil || d == nil || v.leavesFile() && !v.untaken(ctx, d) {
		return err
	}
	unlock, err := v.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	return v.takeOverLocked(ctx)
}

func (v *Vault) takeOverLocked(ctx context.Context) error {
	d, err := v.load()
	if err != nil || d == nil {
		return err
	}
	if len(d.Secrets) > 0 {
		old, err := v.keyOf(d)
		if err != nil {
			return err
		}
		defer old.clear()
		values := make([][]byte, len(d.Secrets))
		for i, s := range d.Secrets {
			if values[i], err = old.open(s); err != nil {
				return v.damaged(err)
			}
			defer clear(values[i])
		}
		err = v.changeLocked(ctx, func(t *store.Tx, k *key) error {
			for i, s := range d.Secrets {
				if !v.takes(s.Name) {
					continue
				}
				if err := takeSecret(t, k, s, values[i]); err != nil {
					return err
				}
			}
			for _, old := range d.Retired {
				if err := retire(t, old.Key, old.KeyStore); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return fmt.Errorf("moving the secrets of %s to the store: %w", v.path(), err)
		}
	}
	if v.leavesFile() {
		return nil
	}
	text, err := encode(&document{Version: movedVersion, Key: d.Key, Secrets: []sealed{}})
	if err == nil {
		err = private.Replace(v.path(), text)
	}
	return err
}

// takeSecret writes a secret of a file to the store, unless it was taken before or the store has a later one.
func takeSecret(t *store.Tx, k *key, s sealed, value []byte) error {
	n, err := t.Exec("INSERT INTO vault_taken (digest) VALUES ($1) ON CONFLICT (digest) DO NOTHING",
		s.digest())
	if err != nil || n == 0 {
		return err
	}
	now, err := secretRow(t, s.Name)
	if errors.Is(err, store.ErrNotFound) || err == nil && now.Changed.Before(s.Changed) {
		return putSecret(t, k, s.Entry, value)
	}
	return err
}

// load reads the file of versions before. It returns nil if there is none, or none with secrets to take over; a file
// that cannot be decoded is an error.
func (v *Vault) load() (*document, error) {
	text, err := private.Read(v.path(), maxFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the vault: %w", err)
	}
	var head struct {
		Version int `json:"version"`
	}
	if json.Unmarshal(text, &head) == nil && head.Version == movedVersion {
		return nil, nil
	}
	d, err := decode(text)
	if err != nil {
		return nil, fmt.Errorf("the vault %s: %w; restore it from a backup, or move it away and set the secrets again",
			v.path(), err)
	}
	return d, nil
}

func (v *Vault) path() string { return filepath.Join(v.config.Dir, fileName) }

// leavesFile reports whether the file stays: because another vault takes some of its secrets, or because the operator
// chose its directory. Several stores may use such a directory.
func (v *Vault) leavesFile() bool { return v.config.Only != nil || v.config.Shared }

func (v *Vault) takes(name string) bool {
	return !slices.Contains(v.config.Except, name) && (v.config.Only == nil || slices.Contains(v.config.Only, name))
}

// untaken reports whether the file has a secret that was not taken over.
func (v *Vault) untaken(ctx context.Context, d *document) bool {
	taken := map[string]bool{}
	err := v.with(ctx, false, func(s *store.Store) error {
		list, err := store.Select(ctx, s, "SELECT digest FROM vault_taken", nil, store.One[string])
		for _, digest := range list {
			taken[digest] = true
		}
		return err
	})
	return err != nil || slices.ContainsFunc(d.Secrets, func(s sealed) bool { return v.takes(s.Name) && !taken[s.digest()] })
}

// digest names a secret of a file: also one that was set again has another.
func (s sealed) digest() string {
	sum := sha256.Sum256(append([]byte(s.Name+"\x00"), s.Sealed...))
	return hex.EncodeToString(sum[:])
}
