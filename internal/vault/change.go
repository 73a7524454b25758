package vault

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/store"
)

// errNotRemoved means that the change was made, but an old key still exists.
var errNotRemoved = errors.New("an old key could not be removed")

var errEmpty = errors.New("the vault is empty; mcp-tools secrets set NAME stores a secret")

// Set stores a secret and replaces one of the same name. The first Set creates
// the vault and its key. The caller should clear the value after use.
func (v *Vault) Set(ctx context.Context, name string, value []byte) (e Entry, replaced bool, err error) {
	if err := checkSecret(name, value); err != nil {
		return Entry{}, false, err
	}
	err = v.change(ctx, func(t *store.Tx, k *key) error {
		now := time.Now().UTC().Truncate(time.Second)
		e, replaced = Entry{Name: name, Created: now, Changed: now}, false
		was, err := secretRow(t, name)
		if err == nil {
			e.Created, replaced = was.Created, true
		} else if !errors.Is(err, store.ErrNotFound) {
			return err
		}
		return putSecret(t, k, e, value)
	})
	return e, replaced, unlessDone(err)
}

// unlessDone returns err, or nil if err is errNotRemoved. Rotate and Check
// report that one.
func unlessDone(err error) error {
	if errors.Is(err, errNotRemoved) {
		return nil
	}
	return err
}

func checkSecret(name string, value []byte) error {
	if err := CheckName(name); err != nil {
		return err
	}
	switch {
	case len(value) == 0:
		return errors.New("the secret is empty; nothing was stored")
	case len(value) > MaxSecret:
		return fmt.Errorf("the secret is longer than %d bytes; is it the right one?", MaxSecret)
	case bytes.IndexByte(value, 0) >= 0:
		return errors.New("the secret has a zero byte, which cannot be passed to programs; store it in base64")
	}
	return nil
}

// Remove removes a secret. It does not need the key. If there is no such secret
// the error is ErrUnknown.
func (v *Vault) Remove(ctx context.Context, name string) error {
	if err := v.takeOver(ctx); err != nil {
		return err
	}
	one := 0
	err := v.with(ctx, false, func(s *store.Store) error { // before a lock file is created
		return s.Row(ctx, "SELECT 1 FROM secret WHERE name = $1", []any{name}, &one)
	})
	if errors.Is(err, ErrNone) || errors.Is(err, store.ErrNotFound) {
		return unknown(name)
	}
	if err != nil {
		return err
	}
	unlock, err := v.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	err = v.with(ctx, false, func(s *store.Store) error {
		if err := v.dropCopy(); err != nil {
			return err
		}
		defer func() { v.writeCopy(ctx, s) }()
		err := s.Update(ctx, func(t *store.Tx) error {
			n, err := t.Exec("DELETE FROM secret WHERE name = $1", name)
			if err == nil && n == 0 {
				err = ErrNone
			}
			return err
		})
		if err != nil {
			return err
		}
		return s.Flush(ctx)
	})
	if errors.Is(err, ErrNone) {
		return unknown(name)
	}
	return err
}

// A Rotation is the result of Rotate.
type Rotation struct {
	Secrets  int      `json:"secrets"` // sealed with the new key
	KeyStore KeyStore `json:"place"`
	Key      string   `json:"key"` // where the new key is, to be shown
}

// Rotate wraps all data keys with a new key-encryption key, seals all secrets with
// a new data key, and removes the old key-encryption key. If from is set, the old
// key is read from there; this moves a key from one store to another. The program
// may be killed at any time: the new key is stored before anything is wrapped with
// it, and the old one is removed after nothing is.
func (v *Vault) Rotate(ctx context.Context, from KeyStore) (Rotation, error) {
	source, target := cmp.Or(from, v.keyStore()), v.keyStore()
	if from == Env { // the variable is set, so configuration names the target
		target = cmp.Or(v.config.Key, File)
	}
	r := Rotation{KeyStore: target, Key: v.wrapperOf(target).String()}
	if err := v.takeOver(ctx); err != nil {
		return r, err
	}
	empty := v.with(ctx, false, func(s *store.Store) error {
		rows, err := keyRows(ctx, s)
		if err == nil && len(rows) == 0 {
			err = ErrNone
		}
		return err
	})
	if errors.Is(empty, ErrNone) {
		return r, errEmpty // before a lock file is created
	}
	if empty != nil {
		return r, empty
	}
	unlock, err := v.lock(ctx)
	if err != nil {
		return r, err
	}
	defer unlock()
	err = v.with(ctx, false, func(s *store.Store) error {
		if err := v.dropCopy(); err != nil {
			return err
		}
		defer func() { v.writeCopy(ctx, s) }()
		err := errAgain
		for range maxTries {
			if r.Secrets, err = v.rotate(ctx, s, source, target); !errors.Is(err, errAgain) {
				break
			}
		}
		if err == nil {
			err = s.Flush(ctx)
		}
		return err
	})
	if err != nil {
		return r, err
	}
	return r, v.removeOldKeys(ctx)
}

// rotate returns the number of secrets that it has sealed with a new data key.
func (v *Vault) rotate(ctx context.Context, s *store.Store, source, target KeyStore) (sealed int, err error) {
	rows, err := keyRows(ctx, s)
	if err != nil {
		return 0, err
	}
	next := newKey()
	keys := []*key{next}
	known := map[string]*key{}
	for _, r := range rows {
		k, err := v.wrapperOf(source).unwrap(ctx, r)
		if errors.Is(err, ErrLocked) {
			return 0, fmt.Errorf("%w; --from names the place of the old key: file, env, keyring or command", err)
		}
		if err != nil {
			return 0, err
		}
		keys, known[r.ID] = append(keys, k), k
	}
	plan := func(id string) error { // removed with the next change if this process dies before the new key is used
		return s.Update(ctx, func(t *store.Tx) error { return retire(t, id, target) })
	}
	kek, wrapped, err := v.wrapperOf(target).wrap(ctx, rows[0].KEK, plan, keys...)
	if err != nil {
		return 0, err
	}
	err = s.Update(ctx, func(t *store.Tx) error {
		if now, err := currentIn(t); err != nil || now != rows[0].ID {
			return cmp.Or(err, errAgain)
		}
		if _, err := t.Exec("UPDATE vault_key SET current = 0"); err != nil {
			return err
		}
		for i, r := range rows {
			if _, err := t.Exec("UPDATE vault_key SET kek = $1, place = $2, wrapped = $3 WHERE id = $4", kek, string(target),
				wrapped[i+1], r.ID); err != nil {
				return err
			}
		}
		first := keyRow{ID: next.id(), KEK: kek, Place: target, Wrapped: wrapped[0], Current: true}
		if err := first.insert(t); err != nil {
			return err
		}
		if sealed, err = sealAgain(t, known, next); err != nil {
			return err
		}
		if _, err := t.Exec("DELETE FROM vault_old_key WHERE id = $1", kek); err != nil {
			return err
		}
		if rows[0].KEK == kek {
			return nil // of a program: the program rotates its key by itself
		}
		return retire(t, rows[0].KEK, source)
	})
	if err == nil {
		v.config.Keys.learn(next)
		v.config.Keys.seals(next.id())
	}
	return sealed, err
}

// sealAgain seals all secrets with the next data key, and returns their number.
func sealAgain(t *store.Tx, known map[string]*key, next *key) (int, error) {
	list, err := store.List(t, "SELECT "+secretColumns+" FROM secret", nil, scanSecret)
	if err != nil {
		return 0, err
	}
	for _, r := range list {
		k := known[r.DataKey]
		if k == nil {
			return 0, fmt.Errorf("cannot decrypt the secret %q: the store does not have its key", r.Name)
		}
		value, err := k.openRow(r)
		if err == nil {
			err = putSecret(t, next, r.Entry, value)
		}
		clear(value)
		if err != nil {
			return 0, err
		}
	}
	return len(list), nil
}
