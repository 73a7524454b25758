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

// A Place is where the key of a vault lies.
type Place string

// The places.
const (
	File    Place = "file"    // beside the vault, for its owner only
	Env     Place = "env"     // in a variable of the environment
	Keyring Place = "keyring" // in the keyring of the system
)

func places() []Place { return []Place{File, Env, Keyring} }

// errNoKey says that a place does not have the key that is looked for.
var errNoKey = errors.New("wrong key")

// A keeper is a place at work.
type keeper interface {
	// find returns the key with this id, or errNoKey.
	find(id string) (*key, error)

	// fresh returns a key to seal with from now on, which is not the one with
	// the id now and outlasts the process. now is "" for a vault without a key.
	fresh(now string) (*key, error)

	// forget removes a key. One that is not there is no error.
	forget(id string) error

	// String says where the place is, for people.
	String() string
}

// place is where the key has to be: in the variable if it is set, else where
// the configuration says.
func (v *Vault) place() Place {
	switch {
	case v.config.Getenv(v.config.EnvKey) != "":
		return Env
	case v.config.Key == "":
		return File
	}
	return v.config.Key
}

func (v *Vault) keeper(p Place) keeper {
	switch p {
	case Env:
		return variables{v.config}
	case Keyring:
		return ring{}
	}
	return keyFile{filepath.Join(v.config.Dir, keyName)}
}

// keyOf finds the key of a vault that has one. Where there is only another, the
// error is errNoKey and says what to do.
func (v *Vault) keyOf(d *document) (*key, error) {
	p := v.place()
	at := v.keeper(p)
	k, err := at.find(d.Key)
	if !errors.Is(err, errNoKey) {
		return k, err
	}
	advice := "bring that back from a backup, or say with vault.key_from where else it is"
	if p == Env {
		advice = "set that to the right key, or unset it if the key is elsewhere"
	}
	return nil, fmt.Errorf("%w: the vault %s was sealed with one (%s) that is not in %s; %s", errNoKey, v.path(), d.Key, at, advice)
}

// keyFile is a file with a key in each line: one, except while a vault is
// being sealed anew.
type keyFile struct{ path string }

const (
	longestKeyFile = 64 << 10
	keyFileAdvice  = "restore it from a backup; without it the secrets cannot be read"
)

func (f keyFile) String() string { return "the file " + f.path }

// keys returns those that are in the file; none when there is no file.
func (f keyFile) keys() ([]*key, error) {
	text, err := private.Read(f.path, longestKeyFile)
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
		return nil, fmt.Errorf("the key of the vault in %s is gone, the file is empty; %s", f.path, keyFileAdvice)
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

// fresh takes over a key that nothing is sealed with as far as we can see: a
// vault that is restored from a backup may be.
func (f keyFile) fresh(now string) (*key, error) {
	keys, err := f.keys()
	if err != nil {
		return nil, err
	}
	if now == "" && len(keys) > 0 {
		return keys[0], nil
	}
	keys = slices.DeleteFunc(keys, func(k *key) bool { return k.id() != now }) // what a crash has left
	k := newKey()
	return k, f.write(append(keys, k))
}

func (f keyFile) forget(id string) error {
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

// variables are the environment's: one for the key, and one for the next.
type variables struct{ Config }

func (e variables) String() string { return "the variable " + e.EnvKey }

// read returns the key in a variable; errNoKey when it is not set.
func (e variables) read(name string) (*key, error) {
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

func (e variables) find(id string) (*key, error) {
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

// fresh returns the key in the first variable, unless that is in use: then the
// one in the second. Nobody but the operator can change either.
func (e variables) fresh(now string) (*key, error) {
	k, err := e.read(e.EnvKey)
	if errors.Is(err, errNoKey) {
		return nil, fmt.Errorf("the variable %s is not set; set it to a key, as openssl rand -base64 32 makes one", e.EnvKey)
	}
	if err != nil {
		return nil, err
	}
	next, err := e.read(e.EnvNext)
	switch {
	case err == nil && *next == *k && next.id() == now:
		return nil, fmt.Errorf("%s and %s hold the same key; set %[2]s to another, as openssl rand -base64 32 makes one", e.EnvKey, e.EnvNext)
	case err == nil && next.id() == now:
		return nil, fmt.Errorf("the vault is sealed with the key in %[1]s already; put that into %[2]s, and unset %[1]s", e.EnvNext, e.EnvKey)
	case k.id() != now:
		return k, nil
	case errors.Is(err, errNoKey):
		return nil, fmt.Errorf("set %s to the next key, as openssl rand -base64 32 makes one", e.EnvNext)
	}
	return next, err
}

func (variables) forget(string) error { return nil }
