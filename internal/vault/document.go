package vault

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

const (
	version = 1

	// movedVersion marks a file whose secrets were moved to the store.
	movedVersion = 2

	// MaxSecret is the maximum size of a secret in bytes.
	MaxSecret = 64 << 10

	maxFile    = 16 << 20
	maxRetired = 64
)

// A document is the file of secrets of earlier versions of the program.
type document struct {
	Version int      `json:"version"`
	Key     string   `json:"key"` // id of the key that all secrets are sealed with
	Retired []oldKey `json:"retired,omitempty"`
	Secrets []sealed `json:"secrets"` // in order of their names
}

// An oldKey names a key that no secret is sealed with and that may still be
// stored somewhere.
type oldKey struct {
	Key      string   `json:"key"`
	KeyStore KeyStore `json:"place"`
}

// A sealed secret can only be read with the key.
type sealed struct {
	Entry
	Sealed []byte `json:"sealed"` // nonce, secret and tag
}

func encode(d *document) ([]byte, error) {
	text, err := json.Marshal(d, jsontext.WithIndent("  "))
	return append(text, '\n'), err
}

// decode reads a vault. It fails on unknown, missing and duplicate fields,
// because the next change would lose them.
func decode(text []byte) (*document, error) {
	if len(bytes.TrimSpace(text)) == 0 {
		return nil, errors.New("the file is empty")
	}
	d := new(document)
	if err := json.Unmarshal(text, d, json.RejectUnknownMembers(true)); err != nil {
		return nil, fmt.Errorf("the file is damaged: %w", err)
	}
	if d.Version != version {
		return nil, fmt.Errorf("the file has version %d, this program knows version %d", d.Version, version)
	}
	return d, d.check()
}

func (d *document) check() error {
	if !validKeyID(d.Key) {
		return errors.New("the file does not name its key")
	}
	if len(d.Retired) > maxRetired {
		return fmt.Errorf("the file names %d old keys, the maximum is %d", len(d.Retired), maxRetired)
	}
	for _, old := range d.Retired {
		if !validKeyID(old.Key) || old.Key == d.Key || !slices.Contains(keyStores(), old.KeyStore) {
			return errors.New("the file names an invalid old key")
		}
	}
	last := ""
	for i, s := range d.Secrets {
		if err := s.check(); err != nil {
			return fmt.Errorf("secret %d of %d: %w", i+1, len(d.Secrets), err)
		}
		if s.Name <= last {
			return fmt.Errorf("the secrets %q and %q are not in order", last, s.Name)
		}
		last = s.Name
	}
	return nil
}

func (s sealed) check() error {
	switch {
	case !validName(s.Name):
		return errors.New("its name is invalid")
	case !whole(s.Created), !whole(s.Changed):
		return fmt.Errorf("%q has no valid date", s.Name)
	case len(s.Sealed) <= overhead, len(s.Sealed) > overhead+MaxSecret:
		return fmt.Errorf("%q has an invalid size of %d bytes", s.Name, len(s.Sealed))
	}
	return nil
}

// whole reports whether t has whole seconds and is not zero.
func whole(t time.Time) bool { return !t.IsZero() && t.Nanosecond() == 0 }

// validName reports whether name may name a secret. It does not use a regular
// expression, because compiling one would slow down every start.
func validName(name string) bool {
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
	return name != "" && len(name) <= 64 && strings.Contains(letters, name[:1]) && only(name, letters+"._@-")
}

func only(text, of string) bool {
	return strings.IndexFunc(text, func(r rune) bool { return !strings.ContainsRune(of, r) }) < 0
}

// CheckName returns an error if name is not a valid name of a secret.
func CheckName(name string) error {
	if !validName(name) {
		return fmt.Errorf("%q cannot be the name of a secret; use up to 64 letters, digits, and . _ - @",
			name[:min(len(name), 64)])
	}
	return nil
}
