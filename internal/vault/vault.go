// Package vault keeps secrets at rest: who has a copy of the data directory
// without its key has names and dates, and nothing else.
//
// All secrets are in one private file, secrets.json in the vault's directory.
// Each is sealed on its own with AES-256-GCM, together with its name, its
// dates and the id of the key, so that none can stand in for another. The key
// lies in one of three places (Place): a file beside the vault, a variable of
// the environment, or the keyring of the system. Any number of processes may
// use a vault at once; changes are made under a file lock and replace the whole
// file. What cannot be read is an error, and never written over.
//
// It does not know what a secret is for, who may use it, or how it is kept out
// of results. It protects against a stolen backup or disk, and against a tool
// that reads files; not against whoever can run code as the server's user.
//
// Begin with Vault.Get, then Vault.change.
package vault

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/private"
)

const (
	fileName = "secrets.json"
	keyName  = "key"
	lockName = "lock"

	// lockPatience is how long a change waits for those of other processes,
	// each of which takes milliseconds.
	lockPatience = 30 * time.Second
)

// ErrUnknown says that the vault has no secret of that name.
var ErrUnknown = errors.New("there is no such secret in the vault")

// A Config says where a vault is, and where its key.
type Config struct {
	Dir string // of the vault; need not exist
	Key Place  // where the key is while the variable is not set; "" is File

	// The variable that holds the key, and the one that holds the next when
	// the key is to be replaced. A vault that may not ask has no Getenv.
	EnvKey, EnvNext string
	Getenv          func(name string) string
}

// A Vault is the secrets in one directory. It is safe for concurrent use, and
// so are several Vaults of the same directory. It holds nothing open and no
// secret in memory.
type Vault struct {
	config Config
}

// New returns the vault that c describes. It looks at nothing: there may be no
// vault yet, and there is none until the first secret is set.
func New(c Config) *Vault {
	if c.Getenv == nil {
		c.Getenv = func(string) string { return "" }
	}
	return &Vault{c}
}

// An Entry is what may be known of a secret. Times are in UTC, to the second.
type Entry struct {
	Name    string    `json:"name"`
	Created time.Time `json:"created"`
	Changed time.Time `json:"changed"`
}

// tries is how often a secret is looked for when its vault is sealed anew at
// that very moment.
const tries = 5

// Get returns a secret. The caller clears it when done. The error is
// ErrUnknown, or says why the vault does not open.
func (v *Vault) Get(name string) ([]byte, error) {
	var sealedWith string
	for range tries {
		d, err := v.load()
		if err != nil {
			return nil, err
		}
		i, known := d.find(name)
		if !known {
			return nil, fmt.Errorf("%q: %w; mcp-tools secrets list shows what there is", name, ErrUnknown)
		}
		k, err := v.keyOf(d)
		if errors.Is(err, errNoKey) && d.Key != sealedWith { // removed since we looked: look again
			sealedWith = d.Key
			continue
		}
		if err != nil {
			return nil, err
		}
		value, err := k.open(d.Secrets[i])
		k.clear()
		return value, v.damaged(err)
	}
	return nil, fmt.Errorf("the vault %s is sealed anew all the time; try again", v.path())
}

// List returns the entries in the order of their names. It needs no key.
func (v *Vault) List() ([]Entry, error) {
	d, err := v.load()
	if err != nil {
		return nil, err
	}
	entries := make([]Entry, 0, len(d.Secrets))
	for _, s := range d.Secrets {
		entries = append(entries, s.Entry)
	}
	return entries, nil
}

// damaged adds to an error what can be done about it.
func (v *Vault) damaged(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w: %s was changed or damaged; restore it from a backup, or set the secret anew with mcp-tools secrets set", err, v.path())
}

func (v *Vault) path() string { return filepath.Join(v.config.Dir, fileName) }

// change changes the vault: do gets it as it is at this moment, and nobody else
// changes it meanwhile. When do fails, nothing is written.
func (v *Vault) change(ctx context.Context, do func(*document) error) error {
	if err := private.MakeDir(v.config.Dir); err != nil {
		return fmt.Errorf("making the vault: %w", err)
	}
	unlock, err := private.Lock(ctx, filepath.Join(v.config.Dir, lockName), lockPatience)
	if err != nil {
		return fmt.Errorf("locking the vault: %w", err)
	}
	defer unlock()
	d, err := v.load()
	if err != nil {
		return err
	}
	if err := do(d); err != nil {
		return err
	}
	if err := v.store(d); err != nil {
		return err
	}
	if err := v.forgetRetired(d); err != nil {
		return fmt.Errorf("%w: %w; whatever changes the vault next tries again", errNotForgotten, err)
	}
	return nil
}
