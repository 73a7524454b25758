// Package vault stores secrets encrypted. A copy of the data directory without
// the key shows only the names and dates of the secrets.
//
// All secrets are in one private file, secrets.json in the vault's directory.
// Each one is sealed with AES-256-GCM together with its name, its dates and the
// id of the key, so that one cannot replace another. The key is stored in one of
// three ways ([KeyStore]): in a file beside the vault, in an environment
// variable, or in the system keyring. Any number of processes may use a vault at
// the same time; changes are made under a file lock and replace the whole file.
// A file that cannot be read is an error and is never overwritten.
//
// The package does not know what a secret is for, who may use it, or how it is
// kept out of results. It protects against a stolen backup or disk and against
// tools that read files, but not against code that runs as the server's user.
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

	// lockTimeout is the max time that a change waits for other processes. Each
	// of their changes takes milliseconds.
	lockTimeout = 30 * time.Second
)

// ErrUnknown means that the vault has no secret of that name.
var ErrUnknown = errors.New("the vault has no such secret")

// A Config describes where a vault and its key are.
type Config struct {
	Dir string   // directory of the vault; need not exist
	Key KeyStore // where the key is if EnvKey is not set; "" means File

	// EnvKey is the name of the variable with the key, and EnvNext of the one
	// with the next key for a rotation. Without Getenv no variable is read.
	EnvKey, EnvNext string
	Getenv          func(name string) string
}

// A Vault is the secrets in one directory. It is safe for concurrent use, and
// so are several Vaults of the same directory. It keeps no file open and no
// secret in memory.
type Vault struct {
	config Config
}

// New returns the vault that c describes. It reads and writes nothing: the
// vault is created when the first secret is set.
func New(c Config) *Vault {
	if c.Getenv == nil {
		c.Getenv = func(string) string { return "" }
	}
	return &Vault{c}
}

// An Entry describes a secret without its value. Times are in UTC and have
// whole seconds.
type Entry struct {
	Name    string    `json:"name"`
	Created time.Time `json:"created"`
	Changed time.Time `json:"changed"`
}

// maxTries is the max number of reads of the vault by Get while rotations
// replace the key.
const maxTries = 5

// Get returns the value of a secret, which the caller should clear after use.
// If there is no such secret the error is ErrUnknown.
func (v *Vault) Get(name string) ([]byte, error) {
	var sealedWith string
	for range maxTries {
		d, err := v.load()
		if err != nil {
			return nil, err
		}
		i, known := d.find(name)
		if !known {
			return nil, fmt.Errorf("%q: %w; mcp-tools secrets list prints the names", name, ErrUnknown)
		}
		k, err := v.keyOf(d)
		if errors.Is(err, errNoKey) && d.Key != sealedWith { // the key was rotated after load: read again
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
	return nil, fmt.Errorf("the vault %s is being rotated all the time; try again", v.path())
}

// List returns the entries in order of their names. It does not need the key.
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

// damaged adds advice to an error about a damaged vault.
func (v *Vault) damaged(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w: %s was changed or damaged; restore it from a backup, or set the secret again with "+
		"mcp-tools secrets set", err, v.path())
}

func (v *Vault) path() string { return filepath.Join(v.config.Dir, fileName) }

// change runs do with the content of the vault, under the lock, and writes the
// result. If do fails, nothing is written.
func (v *Vault) change(ctx context.Context, do func(*document) error) error {
	if err := private.MakeDir(v.config.Dir); err != nil {
		return fmt.Errorf("creating the vault: %w", err)
	}
	unlock, err := private.Lock(ctx, filepath.Join(v.config.Dir, lockName), lockTimeout)
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
	if err := v.removeRetired(d); err != nil {
		return fmt.Errorf("%w: %w; the next change of the vault tries again", errNotRemoved, err)
	}
	return nil
}
