package vault

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/mcp-tools/mcp-tools/internal/private"
)

// A KeyStore is a way to store the key of a vault.
type KeyStore string

// The key stores.
const (
	File    KeyStore = "file"    // a private file beside the vault
	Env     KeyStore = "env"     // an environment variable
	Keyring KeyStore = "keyring" // the system keyring
)

func keyStores() []KeyStore { return []KeyStore{File, Env, Keyring} }

// errNoKey means that a key store does not have the wanted key.
var errNoKey = errors.New("wrong key")

// A keeper reads and writes the keys of one key store.
type keeper interface {
	// find returns the key with this id, or errNoKey.
	find(id string) (*key, error)

	// fresh returns a stored key that is not the one with the id now. now is ""
	// for a vault without a key.
	fresh(now string) (*key, error)

	// remove removes a key. A missing key is not an error.
	remove(id string) error

	// String returns the name of the key store, to be shown.
	String() string
}

// keyStore returns the key store to use: the variable if it is set, else the
// configured one.
func (v *Vault) keyStore() KeyStore {
	switch {
	case v.config.Getenv(v.config.EnvKey) != "":
		return Env
	case v.config.Key == "":
		return File
	}
	return v.config.Key
}

func (v *Vault) keeper(p KeyStore) keeper {
	switch p {
	case Env:
		return envKeys{v.config}
	case Keyring:
		return systemKeyring{}
	}
	return keyFile{filepath.Join(v.config.Dir, keyName)}
}

// keyOf returns the key that the document is sealed with. If the key store has
// only other keys the error is errNoKey, with advice.
func (v *Vault) keyOf(d *document) (*key, error) {
	p := v.keyStore()
	at := v.keeper(p)
	k, err := at.find(d.Key)
	if !errors.Is(err, errNoKey) {
		return k, err
	}
	advice := "restore the key from a backup, or set vault.key_from to where it is"
	if p == Env {
		advice = "set the variable to the right key, or unset it if the key is elsewhere"
	}
	return nil, fmt.Errorf("%w: the key %[3]s of the vault %[2]s is not in %[4]s; %[5]s", errNoKey, v.path(), d.Key,
		at, advice)
}

// keyFile is a file with a key in each line. It has one key, or two during a
// rotation.
type keyFile struct{ path string }

const (
	maxKeyFile    = 64 << 10
	keyFileAdvice = "restore it from a backup; without it the secrets cannot be read"
)

func (f keyFile) String() string { return "the file " + f.path }

// keys returns the keys in the file, or none if there is no file.
func (f keyFile) keys() ([]*key, error) {
	text, err := private.Read(f.path, maxKeyFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the key of the vault: %w", err)
	}
	defer clear(text)
	var keys []*key
	for line := range bytes.Lines(text) {
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		k, err := parseKey(line)
		if err != nil {
			return nil, fmt.Errorf("the key of the vault in %s is damaged: %w; %s", f.path, err, keyFileAdvice)
		}
		keys = append(keys, k)
	}
	if keys == nil {
		return nil, fmt.Errorf("the key file %s of the vault is empty; %s", f.path, keyFileAdvice)
	}
	return keys, nil
}

func (f keyFile) find(id string) (*key, error) {
	keys, err := f.keys()
	if err != nil {
		return nil, err
	}
	for _, k := range keys {
		if k.id() == id {
			return k, nil
		}
	}
	return nil, errNoKey
}

// fresh returns an existing key if the vault has none: a vault that is restored
// from a backup later may need it.
func (f keyFile) fresh(now string) (*key, error) {
	keys, err := f.keys()
	if err != nil {
		return nil, err
	}
	if now == "" && len(keys) > 0 {
		return keys[0], nil
	}
	keys = slices.DeleteFunc(keys, func(k *key) bool { return k.id() != now }) // left by a crash
	k := newKey()
	return k, f.write(append(keys, k))
}

func (f keyFile) remove(id string) error {
	keys, err := f.keys()
	if err != nil {
		return err
	}
	left := slices.DeleteFunc(slices.Clone(keys), func(k *key) bool { return k.id() == id })
	switch {
	case len(left) == len(keys):
		return nil
	case len(left) == 0:
		return private.Remove(f.path)
	}
	return f.write(left)
}

func (f keyFile) write(keys []*key) error {
	var text []byte
	for _, k := range keys {
		text = append(hex.AppendEncode(text, k[:]), '\n')
	}
	defer clear(text)
	if err := private.Replace(f.path, text); err != nil {
		return fmt.Errorf("writing the key of the vault: %w", err)
	}
	return nil
}

// envKeys are two environment variables: for the key and for the next key.
type envKeys struct{ Config }

func (e envKeys) String() string { return "the variable " + e.EnvKey }

// read returns the key in a variable, or errNoKey if it is not set.
func (e envKeys) read(name string) (*key, error) {
	text := e.Getenv(name)
	if text == "" {
		return nil, errNoKey
	}
	k, err := parseKey([]byte(text))
	if err != nil {
		return nil, fmt.Errorf("the variable %s: %w", name, err)
	}
	return k, nil
}

func (e envKeys) find(id string) (*key, error) {
	for _, name := range []string{e.EnvKey, e.EnvNext} {
		k, err := e.read(name)
		if err != nil && !errors.Is(err, errNoKey) {
			return nil, err
		}
		if err == nil && k.id() == id {
			return k, nil
		}
	}
	return nil, errNoKey
}

// fresh returns the key in the first variable, or in the second if the first is
// in use. Only the operator can change them.
func (e envKeys) fresh(now string) (*key, error) {
	k, err := e.read(e.EnvKey)
	if errors.Is(err, errNoKey) {
		return nil, fmt.Errorf("the variable %s is not set; set it to a key, as openssl rand -base64 32 prints",
			e.EnvKey)
	}
	if err != nil {
		return nil, err
	}
	next, err := e.read(e.EnvNext)
	switch {
	case err == nil && *next == *k && next.id() == now:
		return nil, fmt.Errorf("%s and %s hold the same key; set %[2]s to another one, as openssl rand -base64 32 "+
			"prints", e.EnvKey, e.EnvNext)
	case err == nil && next.id() == now:
		return nil, fmt.Errorf("the vault is already sealed with the key in %[1]s; move it to %[2]s and unset %[1]s",
			e.EnvNext, e.EnvKey)
	case k.id() != now:
		return k, nil
	case errors.Is(err, errNoKey):
		return nil, fmt.Errorf("set %s to the next key, as openssl rand -base64 32 prints", e.EnvNext)
	}
	return next, err
}

func (envKeys) remove(string) error { return nil }
