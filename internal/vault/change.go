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

// errNotForgotten says that everything was done, but an old key lies about.
var errNotForgotten = errors.New("an old key could not be removed")

var errEmpty = errors.New("there is no secret in the vault; mcp-tools secrets set NAME keeps one")

// Set keeps a secret, in the place of one that has the name. The first makes
// the vault, and its key. The caller clears the value.
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

// unlessDone is err, unless that only says that an old key lies about: whoever
// rotated the vault was told, and Check tells it again.
func unlessDone(err error) error {
	if errors.Is(err, errNotForgotten) {
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
		return errors.New("the secret is empty; nothing was kept")
	case len(value) > Longest:
		return fmt.Errorf("the secret is longer than %d bytes; is it the right one?", Longest)
	case bytes.IndexByte(value, 0) >= 0:
		return errors.New("the secret has a zero byte, which nothing can be given; keep it in base64")
	}
	return nil
}

// keyFor returns the key to seal with, and sees to it that the vault has one.
func (v *Vault) keyFor(d *document) (*key, error) {
	if d.Key != "" {
		k, err := v.keyOf(d)
		if len(d.Secrets) > 0 || !errors.Is(err, errNoKey) {
			return k, err
		}
	}
	k, err := v.keeper(v.place()).fresh("") // an empty vault opens with any key
	if err != nil {
		return nil, err
	}
	d.use(k)
	return k, nil
}

// use makes k the key that everything is sealed with.
func (d *document) use(k *key) {
	d.Key = k.id()
	d.Retired = slices.DeleteFunc(d.Retired, func(old oldKey) bool { return old.Key == d.Key })
}

// Remove forgets a secret. It needs no key. The error may be ErrUnknown.
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
		return Entry{}, fmt.Errorf("%q: %w; mcp-tools secrets list shows what there is", name, ErrUnknown)
	}
	return d.Secrets[i].Entry, nil
}

// A Rotation is what became of a vault.
type Rotation struct {
	Secrets int    `json:"secrets"` // sealed anew
	Place   Place  `json:"place"`
	Key     string `json:"key"` // where the new key is, for people
}

// Rotate seals all secrets under a new key and removes the old one. With from,
// the old key is taken from there: this is how a key moves from one place to
// another. Whenever the program is killed, the vault opens: the new key lasts
// before anything is sealed with it, and the old one until nothing is.
func (v *Vault) Rotate(ctx context.Context, from Place) (Rotation, error) {
	d, err := v.load()
	if err != nil {
		return Rotation{}, err
	}
	if len(d.Secrets) == 0 {
		return Rotation{}, errEmpty // before a lock is made for it
	}
	source, target := cmp.Or(from, v.place()), v.place()
	if from == Env { // so the variable is set, and does not say where the key goes to
		target = cmp.Or(v.config.Key, File)
	}
	r := Rotation{Place: target, Key: v.keeper(target).String()}
	err = v.change(ctx, func(d *document) error {
		if r.Secrets = len(d.Secrets); r.Secrets == 0 {
			return errEmpty
		}
		return v.reseal(d, source, target)
	})
	return r, err
}

// reseal seals the secrets of d under the next key.
func (v *Vault) reseal(d *document, source, target Place) error {
	old, err := v.keeper(source).find(d.Key)
	if errors.Is(err, errNoKey) {
		return fmt.Errorf("%w: the vault %s was sealed with one (%s) that is not in %s; say with --from where it is: file, env or keyring",
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
	if source != Env && len(d.Retired) < mostRetired {
		d.Retired = append(d.Retired, oldKey{d.Key, source})
	}
	d.use(next)
	return nil
}

// forgetRetired removes the keys that seal nothing any more, and then their
// names from the vault.
func (v *Vault) forgetRetired(d *document) error {
	if len(d.Retired) == 0 {
		return nil
	}
	for _, old := range d.Retired {
		if err := v.keeper(old.Place).forget(old.Key); err != nil {
			return err
		}
	}
	d.Retired = nil
	return v.store(d)
}
