package vault

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/store"
)

// A row is a secret in the store.
type row struct {
	Entry
	DataKey string
	Sealed  []byte
}

const secretColumns = "name, data_key, created, changed, sealed"

func scanSecret(scan store.Scan) (r row, err error) {
	var created, changed int64
	err = scan(&r.Name, &r.DataKey, &created, &changed, &r.Sealed)
	r.Created, r.Changed = store.FromMillis(created).UTC(), store.FromMillis(changed).UTC()
	return r, err
}

func secretRow(t *store.Tx, name string) (r row, err error) {
	list, err := store.List(t, "SELECT "+secretColumns+" FROM secret WHERE name = $1", []any{name}, scanSecret)
	if err == nil && len(list) == 0 {
		err = store.ErrNotFound
	}
	if err != nil {
		return row{}, err
	}
	return list[0], nil
}

// putSecret seals a secret, and writes its row.
func putSecret(t *store.Tx, k *key, e Entry, value []byte) error {
	a, err := k.aead()
	if err != nil {
		return err
	}
	return row{e, k.id(), a.Seal(nil, nil, value, rowBound(k.id(), e))}.write(t)
}

func (r row) write(t *store.Tx) error {
	_, err := t.Exec(`INSERT INTO secret (name, data_key, created, changed, sealed) VALUES ($1, $2, $3, $4, $5)
		ON CONFLICT (name) DO UPDATE SET data_key = excluded.data_key, created = excluded.created,
		changed = excluded.changed, sealed = excluded.sealed`,
		r.Name, r.DataKey, store.Millis(r.Created), store.Millis(r.Changed), r.Sealed)
	return err
}

// openRow returns the value of a secret. It fails if the row was changed.
func (k *key) openRow(r row) ([]byte, error) {
	a, err := k.aead()
	if err == nil {
		var value []byte
		if value, err = a.Open(nil, nil, r.Sealed, rowBound(k.id(), r.Entry)); err == nil {
			return value, nil
		}
	}
	return nil, fmt.Errorf("cannot decrypt the secret %q: its row in the store was changed or damaged; restore the store "+
		"from a backup, or set the secret again with mcp-tools secrets set", r.Name)
}

// rowBound returns the data that is authenticated with a secret. Zero bytes separate its parts; no part can contain
// one.
func rowBound(id string, e Entry) []byte {
	return []byte(strings.Join([]string{
		"mcp-tools secret 2", id, e.Name, e.Created.UTC().Format(time.RFC3339), e.Changed.UTC().Format(time.RFC3339),
	}, "\x00"))
}

// errAgain means that another process has changed the keys meanwhile.
var errAgain = errors.New("the keys of the vault were changed meanwhile; try again")

// maxTries is the max number of attempts while other processes change the keys.
const maxTries = 5

// change runs do in a transaction, with the data key that seals. The vault gets its first key if it has none.
func (v *Vault) change(ctx context.Context, do func(*store.Tx, *key) error) error {
	unlock, err := v.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	if err := v.takeOverLocked(ctx); err != nil {
		return err
	}
	if err := v.changeLocked(ctx, do); err != nil {
		return err
	}
	return v.removeOldKeys(ctx)
}

func (v *Vault) changeLocked(ctx context.Context, do func(*store.Tx, *key) error) error {
	return v.with(ctx, true, func(s *store.Store) error {
		if err := v.dropCopy(); err != nil {
			return err
		}
		err := errAgain
		for range maxTries {
			if err = v.try(ctx, s, do); !errors.Is(err, errAgain) {
				break
			}
		}
		if err == nil {
			err = s.Flush(ctx)
		}
		v.writeCopy(ctx, s)
		return err
	})
}

func (v *Vault) try(ctx context.Context, s *store.Store, do func(*store.Tx, *key) error) error {
	rows, err := keyRows(ctx, s)
	if err != nil {
		return err
	}
	var k *key
	var first *keyRow // to be added
	if len(rows) > 0 {
		if k, err = v.unwrapped(ctx, rows[0]); err != nil {
			return err
		}
	} else if k, first, err = v.firstKey(ctx); err != nil {
		return err
	}
	err = s.Update(ctx, func(t *store.Tx) error {
		now, err := currentIn(t)
		switch {
		case err != nil:
			return err
		case first != nil && now == "":
			if err := first.insert(t); err != nil {
				return err
			}
		case now != k.id():
			return errAgain
		}
		return do(t, k)
	})
	if err == nil {
		v.config.Keys.learn(k)
		v.config.Keys.seals(k.id())
	}
	return err
}

// currentIn returns the id of the data key that seals, "" if there is none, and locks the keys until the transaction ends.
func currentIn(t *store.Tx) (id string, err error) {
	if err := t.Lock("vault"); err != nil {
		return "", err
	}
	list, err := store.List(t, "SELECT id FROM vault_key WHERE current = 1", nil, store.One[string])
	if len(list) > 0 {
		id = list[0]
	}
	return id, err
}

// firstKey returns a data key for a vault without one.
func (v *Vault) firstKey(ctx context.Context) (*key, *keyRow, error) {
	k, p := newKey(), v.keyStore()
	kek, wrapped, err := v.wrapperOf(p).wrap(ctx, "", func(string) error { return nil }, k)
	if err != nil {
		return nil, nil, err
	}
	return k, &keyRow{ID: k.id(), KEK: kek, Place: p, Wrapped: wrapped[0], Current: true}, nil
}

func (r keyRow) insert(t *store.Tx) error {
	_, err := t.Exec("INSERT INTO vault_key (id, kek, place, wrapped, current, created) VALUES ($1, $2, $3, $4, $5, {{now}})",
		r.ID, r.KEK, string(r.Place), r.Wrapped, map[bool]int{true: 1}[r.Current])
	return err
}

// retire writes down that a key-encryption key is to be removed.
func retire(t *store.Tx, id string, place KeyStore) error {
	if place == Env || place == Command {
		return nil
	}
	_, err := t.Exec("INSERT INTO vault_old_key (id, place) VALUES ($1, $2) ON CONFLICT (id) DO NOTHING", id, string(place))
	return err
}

// removeOldKeys removes the key-encryption keys that wrap nothing, then their rows.
func (v *Vault) removeOldKeys(ctx context.Context) error {
	err := v.with(ctx, false, func(s *store.Store) error {
		type old struct {
			id    string
			place KeyStore
		}
		list, err := store.Select(ctx, s, `SELECT id, place FROM vault_old_key WHERE id NOT IN (SELECT kek FROM vault_key)`,
			nil, func(scan store.Scan) (o old, err error) { return o, scan(&o.id, (*string)(&o.place)) })
		if err != nil {
			return err
		}
		for _, o := range list {
			if v.config.Needed != nil {
				if needed, err := v.config.Needed(ctx, o.id); err != nil || needed {
					continue // it stays, and the next change looks again
				}
			}
			if err := v.keeper(o.place).remove(o.id); err != nil {
				return err
			}
			if err := s.Update(ctx, func(t *store.Tx) error {
				_, err := t.Exec("DELETE FROM vault_old_key WHERE id = $1", o.id)
				return err
			}); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("%w: %w; the next change of the vault tries again", errNotRemoved, err)
	}
	return nil
}

// Copy copies the secrets and the wrapped data keys of a store to another store without any.
func Copy(ctx context.Context, from, to *store.Store) error {
	keys, err := keyRows(ctx, from)
	if err != nil {
		return err
	}
	secrets, err := store.Select(ctx, from, "SELECT "+secretColumns+" FROM secret", nil, scanSecret)
	if err != nil {
		return err
	}
	return to.Update(ctx, func(t *store.Tx) error {
		for _, k := range keys {
			if err := k.insert(t); err != nil {
				return err
			}
		}
		for _, s := range secrets {
			if err := s.write(t); err != nil {
				return err
			}
		}
		return nil
	})
}
