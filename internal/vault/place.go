package vault

import (
	"bytes"
	"context"
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
	Command KeyStore = "command" // a program that wraps and unwraps, and keeps its key to itself
)

// keyStores returns the places for the key of a secrets file of earlier versions.
func keyStores() []KeyStore { return []KeyStore{File, Env, Keyring} }

// errNoKey means that a key store does not have the wanted key.
var errNoKey = errors.New("wrong key")

// A keeper reads and writes the keys of one key store.
type keeper interface {
	// find returns the key with this id, or errNoKey.
	find(id string) (*key, error)

	// fresh returns a stored key that is not the one with the id now. now is ""
	// for a vault without a key. It calls plan with the id of a key before it
	// stores it.
	fresh(now string, plan func(id string) error) (*key, error)

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
	switch {
	case p == Env:
		return envKeys{v.config}
	case p == Keyring:
		return systemKeyring{}
	case v.config.KeyFile != "":
		return keyFile{v.config.KeyFile, true}
	}
	return keyFile{filepath.Join(v.config.Dir, keyName), false}
}

// A wrapper encrypts data keys with the key-encryption key.
type wrapper interface {
	// wrap wraps keys with a key that is not the one with the id now, and returns its id.
	wrap(ctx context.Context, now string, plan func(id string) error, keys ...*key) (kek string, wrapped [][]byte,
		err error)
	// unwrap returns a data key. The error is ErrLocked if the key-encryption key is missing.
	unwrap(ctx context.Context, r keyRow) (*key, error)
	String() string
}

func (v *Vault) wrapperOf(p KeyStore) wrapper {
	if p == Command {
		return keyCommand{v.config.Command}
	}
	return kept{v.keeper(p), p}
}

// kept wraps with a key of a key store.
type kept struct {
	keeper
	place KeyStore
}

func wrapBound(kek, id string) []byte { return []byte("mcp-tools data key 1\x00" + kek + "\x00" + id) }

func (w kept) wrap(_ context.Context, now string, plan func(string) error, keys ...*key) (string, [][]byte, error) {
	kek, err := w.fresh(now, plan)
	if err != nil {
		return "", nil, err
	}
	defer kek.clear()
	a, err := kek.aead()
	if err != nil {
		return "", nil, err
	}
	var wrapped [][]byte
	for _, k := range keys {
		wrapped = append(wrapped, a.Seal(nil, nil, k[:], wrapBound(kek.id(), k.id())))
	}
	return kek.id(), wrapped, nil
}

func (w kept) unwrap(_ context.Context, r keyRow) (*key, error) {
	if r.Place == Command {
		return nil, locked(r, w)
	}
	kek, err := w.find(r.KEK)
	if errors.Is(err, errNoKey) {
		return nil, locked(r, w)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrLocked, err)
	}
	defer kek.clear()
	a, err := kek.aead()
	if err != nil {
		return nil, err
	}
	raw, err := a.Open(nil, nil, r.Wrapped, wrapBound(r.KEK, r.ID))
	if err != nil || len(raw) != keySize {
		return nil, fmt.Errorf("cannot decrypt the data key %s of the vault: it was changed or damaged; restore the "+
			"store from a backup", r.ID)
	}
	return (*key)(raw), nil
}

// locked returns the error for a data key whose key-encryption key is not at a place.
func locked(r keyRow, at wrapper) error {
	advice := "copy the key from the machine or the backup that has it, or set vault.key_from to where it is"
	if w, ok := at.(kept); ok && w.place == Env {
		advice = "set the variable to the right key, or unset it if the key is elsewhere"
	}
	which := "the key " + r.KEK
	if r.Place == Command {
		which = "the key of vault.key_command"
	}
	return fmt.Errorf("%w: it is %s, which is not in %s; %s", ErrLocked, which, at, advice)
}

// keyOf returns the key that the file of versions before is sealed with. If the key store has
// only other keys the error is ErrLocked, with advice.
func (v *Vault) keyOf(d *document) (*key, error) {
	p := v.keyStore()
	if p == Command {
		p = File // the file is from before
	}
	k, err := v.keeper(p).find(d.Key)
	if errors.Is(err, errNoKey) && p == File && v.config.KeyFile != "" {
		k, err = keyFile{filepath.Join(v.config.Dir, keyName), false}.find(d.Key)
	}
	if errors.Is(err, errNoKey) {
		err = fmt.Errorf("the secrets in %s: %w", v.path(), locked(keyRow{KEK: d.Key}, kept{v.keeper(p), p}))
	}
	return k, err
}

// keyFile is a file with a key in each line. It has one key, or two during a
// rotation.
type keyFile struct {
	path  string
	given bool // by the operator: read only
}

const (
	maxKeyFile    = 64 << 10
	keyFileAdvice = "restore it from a backup; without it the secrets cannot be read"
)

func (f keyFile) String() string { return "the file " + f.path }

// keys returns the keys in the file, or none if there is no file.
func (f keyFile) keys() ([]*key, error) {
	text, err := f.read()
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

// read returns the file. A file of the operator may be readable for the group, as files of Kubernetes
// are.
func (f keyFile) read() ([]byte, error) {
	if !f.given {
		return private.Read(f.path, maxKeyFile)
	}
	return private.ReadShared(f.path, maxKeyFile)
}

// fresh returns an existing key if the vault has none: a vault that is restored
// from a backup later may need it. In a file of the operator the next key is the last.
func (f keyFile) fresh(now string, plan func(string) error) (*key, error) {
	keys, err := f.keys()
	switch {
	case err != nil:
		return nil, err
	case f.given && len(keys) == 0:
		return nil, fmt.Errorf("%s, which vault.key_file names, does not exist; openssl rand -base64 32 prints a key",
			f)
	case f.given && now != "" && keys[len(keys)-1].id() == now:
		return nil, fmt.Errorf("add the next key to %s as its last line, as openssl rand -base64 32 prints it, on all "+
			"machines", f)
	case f.given:
		return keys[len(keys)-1], nil
	case now == "" && len(keys) > 0:
		return keys[0], nil
	}
	k := newKey()
	if err := plan(k.id()); err != nil {
		return nil, err
	}
	return k, f.write(append(keys, k))
}

func (f keyFile) remove(id string) error {
	if f.given {
		return nil
	}
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
func (e envKeys) fresh(now string, _ func(string) error) (*key, error) {
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
