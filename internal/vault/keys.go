package vault

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/store"
)

// ErrNone means that the vault has no key yet: nothing was ever sealed.
var ErrNone = errors.New("the vault has no key yet")

// ErrLocked means that this process cannot get the key-encryption key of the vault.
var ErrLocked = errors.New("the key of the vault is not available here")

// Keys are the data keys that a process has unwrapped. Several Vaults of one store may
// share them, so that a key command does not run for each secret.
type Keys struct {
	mu      sync.Mutex
	open    map[string]*key
	current string // id of the key that seals
	asked   time.Time

	unwrapping sync.Mutex // guards these
	failure    error
	failed     time.Time
}

const (
	// currentFor is the time for which a process seals with an old data key after a rotation or a reset by another
	// process. After a rotation the sealed bytes can be opened, because data keys stay. After a reset they are lost.
	currentFor = time.Second
	// awayFor is the time for which a process seals with the last data key while the store is not available.
	awayFor = time.Minute

	// retryAfter is the wait before another look for an unavailable key.
	retryAfter = 5 * time.Second
)

// A keyRow is a data key in the store.
type keyRow struct {
	ID      string
	KEK     string
	Place   KeyStore
	Wrapped []byte
	Current bool
}

const keyColumns = "id, kek, place, wrapped, current"

func scanKey(scan store.Scan) (r keyRow, err error) {
	current := 0
	err = scan(&r.ID, &r.KEK, (*string)(&r.Place), &r.Wrapped, &current)
	r.Current = current != 0
	return r, err
}

// keyRows returns all data keys, the current one first.
func keyRows(ctx context.Context, s *store.Store) ([]keyRow, error) {
	return store.Select(ctx, s, "SELECT "+keyColumns+" FROM vault_key ORDER BY current DESC, id", nil, scanKey)
}

// unwrapped returns a data key. The error is ErrLocked if the key-encryption key is missing.
func (v *Vault) unwrapped(ctx context.Context, r keyRow) (*key, error) {
	c := v.config.Keys
	if k := c.known(r.ID); k != nil {
		return k, nil
	}
	c.unwrapping.Lock()
	defer c.unwrapping.Unlock()
	if k := c.known(r.ID); k != nil {
		return k, nil
	}
	if v.keyStore() == Command && c.failure != nil && time.Since(c.failed) < retryAfter {
		return nil, c.failure
	}
	k, err := v.wrapperOf(v.keyStore()).unwrap(ctx, r)
	if err == nil && k.id() != r.ID {
		err = fmt.Errorf("%w: the data key %s was changed or damaged; restore the store from a backup", ErrLocked, r.ID)
	}
	if err != nil {
		if ctx.Err() == nil {
			c.failure, c.failed = err, time.Now()
		}
		return nil, err
	}
	c.failure = nil
	c.learn(k)
	return k, nil
}

// known returns an unwrapped data key, nil if it is to be read from the store.
func (k *Keys) known(id string) *key {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.open[id]
}

// keyNamed returns a data key. A rotation in between wraps all keys again, so the row is read again.
func (v *Vault) keyNamed(ctx context.Context, s *store.Store, id string) (*key, error) {
	if k := v.config.Keys.known(id); k != nil {
		return k, nil
	}
	var last string
	for {
		list, err := store.Select(ctx, s, "SELECT "+keyColumns+" FROM vault_key WHERE id = $1", []any{id}, scanKey)
		if err != nil {
			return nil, err
		}
		if len(list) == 0 {
			return nil, fmt.Errorf("%w: the store does not have the data key %s", ErrLocked, id)
		}
		k, err := v.unwrapped(ctx, list[0])
		if err == nil || !errors.Is(err, ErrLocked) || list[0].KEK == last {
			return k, err
		}
		last = list[0].KEK
	}
}

// currentKey returns the data key that seals. The error is ErrNone if there is none.
func (v *Vault) currentKey(ctx context.Context, s *store.Store) (*key, error) {
	c := v.config.Keys
	c.mu.Lock()
	k, age := c.open[c.current], time.Since(c.asked)
	c.mu.Unlock()
	if k != nil && age < currentFor {
		return k, nil
	}
	list, err := store.Select(ctx, s, "SELECT "+keyColumns+" FROM vault_key WHERE current = 1", nil, scanKey)
	if err != nil && k != nil && age < awayFor {
		return k, nil
	}
	if err != nil {
		return nil, err
	}
	if len(list) == 0 {
		return nil, ErrNone
	}
	if k, err = v.keyNamed(ctx, s, list[0].ID); err != nil {
		return nil, err
	}
	v.config.Keys.seals(list[0].ID)
	return k, nil
}

// learn adds an unwrapped data key.
func (k *Keys) learn(next *key) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.open == nil {
		k.open = map[string]*key{}
	}
	k.open[next.id()] = next
}

// seals records the id of the data key that seals.
func (k *Keys) seals(id string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.current, k.asked = id, time.Now()
}

// Sealed bytes begin with the version and the id of the data key.
const (
	sealedVersion = 1
	sealedHead    = 1 + 16
)

// Overhead is the number of bytes that sealing adds.
const Overhead = sealedHead + overhead

// Seal encrypts bytes of another package with the current data key. They open only together with bound: it
// names the place of the bytes, their table and row. The error is ErrNone if the vault has no key and the
// operator has given none: [Vault.Prepare] makes one; and ErrLocked if this process lacks the key.
func (v *Vault) Seal(ctx context.Context, bound string, plain []byte) (sealed []byte, err error) {
	err = v.with(ctx, false, func(s *store.Store) error {
		k, err := v.currentKey(ctx, s)
		if errors.Is(err, ErrNone) && v.given() {
			if err = v.Prepare(ctx); err == nil {
				k, err = v.currentKey(ctx, s)
			}
		}
		if err != nil {
			return err
		}
		a, err := k.aead()
		if err != nil {
			return err
		}
		sealed = make([]byte, 0, Overhead+len(plain))
		sealed = append(append(sealed, sealedVersion), k.id()...)
		sealed = a.Seal(sealed, nil, plain, sealedBound(k.id(), bound))
		return nil
	})
	return sealed, err
}

// Open decrypts bytes from Seal with the same bound. The error is ErrLocked if this process lacks the
// key.
func (v *Vault) Open(ctx context.Context, bound string, sealed []byte) (plain []byte, err error) {
	if len(sealed) < Overhead || sealed[0] != sealedVersion || !validKeyID(string(sealed[1:sealedHead])) {
		return nil, errors.New("these bytes were not sealed by the vault")
	}
	id := string(sealed[1:sealedHead])
	k := v.config.Keys.known(id)
	if k == nil {
		err = v.with(ctx, false, func(s *store.Store) error {
			k, err = v.keyNamed(ctx, s, id)
			return err
		})
		if errors.Is(err, ErrNone) {
			err = fmt.Errorf("%w: the store does not have the data key %s", ErrLocked, id)
		}
		if err != nil {
			return nil, err
		}
	}
	a, err := k.aead()
	if err == nil {
		plain, err = a.Open(nil, nil, sealed[sealedHead:], sealedBound(id, bound))
	}
	if err != nil {
		return nil, fmt.Errorf("cannot decrypt %q: it was changed, moved or damaged", bound)
	}
	return plain, nil
}

func sealedBound(id, bound string) []byte {
	return []byte("mcp-tools sealed 1\x00" + id + "\x00" + bound)
}

// given reports whether the operator chose where the key is, so that using it leaves no file.
func (v *Vault) given() bool {
	p := v.keyStore()
	return p == Env || p == Command || p == File && v.config.KeyFile != ""
}

// Available returns an error if the vault has a key and this process cannot get it: ErrLocked, or an error of the
// store.
func (v *Vault) Available(ctx context.Context) error {
	err := v.with(ctx, false, func(s *store.Store) error {
		_, err := v.currentKey(ctx, s)
		return err
	})
	if errors.Is(err, ErrNone) {
		return nil
	}
	return err
}

// Prepare makes the key of the vault, if there is none, so that Seal works.
func (v *Vault) Prepare(ctx context.Context) error {
	err := v.with(ctx, true, func(s *store.Store) error {
		_, err := v.currentKey(ctx, s)
		return err
	})
	if !errors.Is(err, ErrNone) {
		return err
	}
	return v.change(ctx, func(*store.Tx, *key) error { return nil })
}
