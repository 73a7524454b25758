package vault

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
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
	err = v.change(ctx, func(d *document) error {
		k, err := v.keyFor(d)
		if err != nil {
			return err
		}
		defer k.clear()
		now := time.Now().UTC().Truncate(time.Second)
		e = Entry{Name: name, Created: now, Changed: now}
		var i int
		if i, replaced = d.find(name); replaced {
			e.Created = d.Secrets[i].Created
		}
		s, err := k.seal(e, value)
		if err != nil {
			return err
		}
		if replaced {
			d.Secrets[i] = s
		} else {
			d.Secrets = slices.Insert(d.Secrets, i, s)
		}
		return nil
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

// keyFor returns the key to seal with. It creates one if the vault has none.
func (v *Vault) keyFor(d *document) (*key, error) {
	if d.Key != "" {
		k, err := v.keyOf(d)
		if len(d.Secrets) > 0 || !errors.Is(err, errNoKey) {
			return k, err
		}
	}
	k, err := v.keeper(v.keyStore()).fresh("") // an empty vault may get any key
	if err != nil {
		return nil, err
	}
	d.use(k)
	return k, nil
}

// use records k as the key of all secrets.
func (d *document) use(k *key) {
	d.Key = k.id()
	d.Retired = slices.DeleteFunc(d.Retired, func(old oldKey) bool { return old.Key == d.Key })
}

// Remove removes a secret. It does not need the key. If there is no such secret
// the error is ErrUnknown.
func (v *Vault) Remove(ctx context.Context, name string) error {
	if _, err := v.entry(name); err != nil {
		return err
	}
	return unlessDone(v.change(ctx, func(d *document) error {
		if i, known := d.find(name); known {
			d.Secrets = slices.Delete(d.Secrets, i, i+1)
		}
		return nil
	}))
}

func (v *Vault) entry(name string) (Entry, error) {
	d, err := v.load()
	if err != nil {
		return Entry{}, err
	}
	i, known := d.find(name)
	if !known {
		return Entry{}, fmt.Errorf("%q: %w; mcp-tools secrets list prints the names", name, ErrUnknown)
	}
	return d.Secrets[i].Entry, nil
}

// A Rotation is the result of Rotate.
type Rotation struct {
	Secrets  int      `json:"secrets"` // sealed with the new key
	KeyStore KeyStore `json:"place"`
	Key      string   `json:"key"` // where the new key is, to be shown
}

// Rotate seals all secrets with a new key and removes the old one. If from is
// set, the old key is read from there; this moves a key from one store to
// another. The program may be killed at any time: the new key is stored before
// anything is sealed with it, and the old one is removed after nothing is.
func (v *Vault) Rotate(ctx context.Context, from KeyStore) (Rotation, error) {
	d, err := v.load()
	if err != nil {
		return Rotation{}, err
	}
	if len(d.Secrets) == 0 {
		return Rotation{}, errEmpty // before change creates a lock file
	}
	source, target := cmp.Or(from, v.keyStore()), v.keyStore()
	if from == Env { // the variable is set, so configuration names the target
		target = cmp.Or(v.config.Key, File)
	}
	r := Rotation{KeyStore: target, Key: v.keeper(target).String()}
	err = v.change(ctx, func(d *document) error {
		if r.Secrets = len(d.Secrets); r.Secrets == 0 {
			return errEmpty
		}
		return v.reseal(d, source, target)
	})
	return r, err
}

// reseal seals the secrets of d with a new key of target.
func (v *Vault) reseal(d *document, source, target KeyStore) error {
	old, err := v.keeper(source).find(d.Key)
	if errors.Is(err, errNoKey) {
		return fmt.Errorf("%w: the key %[3]s of the vault %[2]s is not in %[4]s; name its place with --from: "+
			"file, env or keyring",
			errNoKey, v.path(), d.Key, v.keeper(source))
	}
	if err != nil {
		return err
	}
	defer old.clear()
	next, err := v.keeper(target).fresh(d.Key)
	if err != nil {
		return err
	}
	defer next.clear()
	for i, s := range d.Secrets {
		value, err := old.open(s)
		if err != nil {
			return v.damaged(err)
		}
		d.Secrets[i], err = next.seal(s.Entry, value)
		clear(value)
		if err != nil {
			return err
		}
	}
	if source != Env && len(d.Retired) < maxRetired {
		d.Retired = append(d.Retired, oldKey{d.Key, source})
	}
	d.use(next)
	return nil
}

// removeRetired removes the keys that no secret is sealed with, then their ids
// from the vault.
func (v *Vault) removeRetired(d *document) error {
	if len(d.Retired) == 0 {
		return nil
	}
	for _, old := range d.Retired {
		if err := v.keeper(old.KeyStore).remove(old.Key); err != nil {
			return err
		}
	}
	d.Retired = nil
	return v.store(d)
}
