package vault

import (
	"context"
	"errors"
	"io/fs"

	"github.com/mcp-tools/mcp-tools/internal/private"
	"github.com/mcp-tools/mcp-tools/internal/store"
)

// A Report describes the state of a vault.
type Report struct {
	Exists   bool
	Secrets  int
	KeyStore KeyStore
	Key      string // where the key is, to be shown
	OldKeys  int    // unused keys that could not be removed
}

// Check checks the permissions of the files, that the key exists, and that it
// opens every secret. It changes nothing.
func (v *Vault) Check(ctx context.Context) (Report, error) {
	p := v.keyStore()
	r := Report{KeyStore: p, Key: v.wrapperOf(p).String()}
	if err := private.CheckDir(v.config.Dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return r, err
	}
	if err := v.checkFile(&r); err != nil {
		return r, err
	}
	err := v.with(ctx, false, func(s *store.Store) error {
		keys, err := keyRows(ctx, s)
		if err != nil {
			return err
		}
		list, err := store.Select(ctx, s, "SELECT "+secretColumns+" FROM secret", nil, scanSecret)
		if err != nil {
			return err
		}
		r.Exists, r.Secrets = r.Exists || len(keys) > 0, r.Secrets+len(list)
		if err := s.Row(ctx, "SELECT count(*) FROM vault_old_key WHERE id NOT IN (SELECT kek FROM vault_key)", nil,
			&r.OldKeys); err != nil {
			return err
		}
		for _, k := range keys {
			if _, err := v.unwrapped(ctx, k); err != nil {
				return err
			}
		}
		var broken []error
		for _, secret := range list {
			k, err := v.keyNamed(ctx, s, secret.DataKey)
			if err == nil {
				var value []byte
				value, err = k.openRow(secret)
				clear(value)
			}
			broken = append(broken, err)
		}
		return errors.Join(broken...)
	})
	if errors.Is(err, ErrNone) {
		err = nil
	}
	if err == nil && !r.Exists && p == Env {
		if _, err = (envKeys{v.config}).read(v.config.EnvKey); errors.Is(err, errNoKey) {
			err = nil
		}
	}
	return r, err
}

// checkFile checks the file of versions before, if its secrets were not taken over yet.
func (v *Vault) checkFile(r *Report) error {
	d, err := v.load()
	if err != nil || d == nil || len(d.Secrets) == 0 {
		return err
	}
	r.Exists, r.Secrets = true, len(d.Secrets)
	k, err := v.keyOf(d)
	if err != nil {
		return err
	}
	defer k.clear()
	var broken []error
	for _, s := range d.Secrets {
		value, err := k.open(s)
		clear(value)
		broken = append(broken, err)
	}
	return v.damaged(errors.Join(broken...))
}

// Uses reports whether a data key of a store is wrapped by the key-encryption key with an id.
func Uses(ctx context.Context, s *store.Store, id string) (bool, error) {
	n := 0
	err := s.Row(ctx, "SELECT count(*) FROM vault_key WHERE kek = $1", []any{id}, &n)
	return n > 0, err
}
