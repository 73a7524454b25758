// Package vault stores secrets encrypted in the store. The store without the key
// shows only the names and dates of the secrets.
//
// A data key seals the secrets with AES-256-GCM, each together with its name and its dates, so
// that one cannot replace another. The data key is a row too, wrapped by the key-encryption
// key. That key is never in the store. It is in one of four places ([KeyStore]): a file, an
// environment variable, the system keyring, or behind a program of the operator, such as the
// client of a KMS. Rotation wraps the data keys with a new key, and seals the secrets with a
// new data key; the older data keys stay for data that other packages sealed with them
// ([Vault.Seal]).
//
// Versions before kept the secrets in a file in the data directory: takeover.go
// moves them.
//
// The package knows neither the purpose and the users of a secret, nor how it is kept out of
// results. It protects against a stolen backup or disk, against readers of the database, and
// against tools that read files, but not against code that runs as the server's user.
//
// Begin with Vault.Get, then Vault.change.
package vault

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/private"
	"github.com/mcp-tools/mcp-tools/internal/store"
)

const (
	fileName = "secrets.json" // of versions before
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
	// Store returns the store. If there is none it makes one, or returns nil without create. done ends its use.
	Store func(ctx context.Context, create bool) (s *store.Store, done func() error, err error)

	Dir     string   // directory of the key file and the lock; need not exist
	Key     KeyStore // where the key is if EnvKey is not set; "" means File
	KeyFile string   // file of the operator with keys, one a line; "": Dir has the file
	Command []string // wraps and unwraps data keys for the key store Command

	// EnvKey is the name of the variable with the key, and EnvNext of the one
	// with the next key for a rotation. Without Getenv no variable is read.
	EnvKey, EnvNext string
	Getenv          func(name string) string

	// File names the file of a SQLite store in a way that changes when another takes its place; "" for other stores. nil: "".
	File func() string

	Keys *Keys // unwrapped data keys; nil: this Vault has its own

	// Needed reports whether the vault of another store needs the key-encryption key, so that a rotation
	// leaves it. nil: none does.
	Needed func(ctx context.Context, id string) (bool, error)

	// Only are the secrets to take over from a file of earlier versions, nil: all; Except are the secrets not to take
	// over.
	Only, Except []string
	// Shared leaves a file of versions before as it is, for other stores.
	Shared bool
}

// A Vault is the secrets of one store. It is safe for concurrent use, and so are
// several Vaults of the same store. It keeps no secret in memory.
type Vault struct {
	config Config
}

// New returns the vault that c describes. It reads and writes nothing: the
// vault is created when the first secret is set.
func New(c Config) *Vault {
	if c.Getenv == nil {
		c.Getenv = func(string) string { return "" }
	}
	if c.Keys == nil {
		c.Keys = new(Keys)
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

// with passes the store to use. The error is ErrNone if there is none and create is not set.
func (v *Vault) with(ctx context.Context, create bool, use func(*store.Store) error) error {
	s, done, err := v.config.Store(ctx, create)
	if err != nil {
		return err
	}
	if s == nil {
		return ErrNone
	}
	return errors.Join(use(s), done())
}

// Get returns the value of a secret. The caller should clear it after use. If there is no such
// secret the error is ErrUnknown, and ErrLocked if this process cannot get the key.
func (v *Vault) Get(ctx context.Context, name string) (value []byte, err error) {
	if err := v.takeOver(ctx); err != nil {
		return nil, err
	}
	if value, found := v.copied().get(ctx, v, name); found {
		return value, nil
	}
	err = v.with(ctx, false, func(s *store.Store) error {
		list, err := store.Select(ctx, s, "SELECT "+secretColumns+" FROM secret WHERE name = $1", []any{name}, scanSecret)
		if err != nil {
			return err
		}
		if len(list) == 0 {
			return ErrUnknown
		}
		k, err := v.keyNamed(ctx, s, list[0].DataKey)
		if err == nil {
			value, err = k.openRow(list[0])
		}
		return err
	})
	switch {
	case errors.Is(err, ErrUnknown), errors.Is(err, ErrNone):
		return nil, unknown(name)
	case errors.Is(err, ErrLocked):
		return nil, fmt.Errorf("the secret %q cannot be read on this server: %w", name, err)
	}
	return value, err
}

func unknown(name string) error {
	return fmt.Errorf("%q: %w; mcp-tools secrets list prints the names", name, ErrUnknown)
}

// List returns the entries in order of their names. It does not need the key.
func (v *Vault) List(ctx context.Context) ([]Entry, error) {
	if err := v.takeOver(ctx); err != nil {
		return nil, err
	}
	entries := []Entry{}
	err := v.with(ctx, false, func(s *store.Store) error {
		rows, err := store.Select(ctx, s, "SELECT "+secretColumns+" FROM secret", nil, scanSecret)
		for _, r := range rows {
			entries = append(entries, r.Entry)
		}
		return err
	})
	if errors.Is(err, ErrNone) {
		err = nil
	}
	slices.SortFunc(entries, func(x, y Entry) int { return strings.Compare(x.Name, y.Name) })
	return entries, err
}

// damaged adds advice to an error about a damaged vault of versions before.
func (v *Vault) damaged(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w: %s was changed or damaged; restore it from a backup, or set the secret again with "+
		"mcp-tools secrets set", err, v.path())
}

// lock excludes other processes that change the vault or its key on this machine.
func (v *Vault) lock(ctx context.Context) (unlock func(), err error) {
	if err := private.MakeDir(v.config.Dir); err != nil {
		return nil, fmt.Errorf("creating the vault: %w", err)
	}
	unlock, err = private.Lock(ctx, filepath.Join(v.config.Dir, lockName), lockTimeout)
	if err != nil {
		return nil, fmt.Errorf("locking the vault: %w", err)
	}
	return unlock, nil
}
