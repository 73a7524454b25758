package vault

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcp-tools/mcp-tools/internal/private"
)

const (
	version = 1

	// Longest is the most bytes of one secret.
	Longest = 64 << 10

	longestFile = 16 << 20
	mostRetired = 64
)

// A document is the vault's file.
type document struct {
	Version int      `json:"version"`
	Key     string   `json:"key"` // id of the key that everything is sealed with
	Retired []oldKey `json:"retired,omitempty"`
	Secrets []sealed `json:"secrets"` // in the order of their names
}

// An oldKey is one that seals nothing any more, and may still lie about.
type oldKey struct {
	Key   string `json:"key"`
	Place Place  `json:"place"`
}

// A sealed secret is one that only the key opens.
type sealed struct {
	Entry
	Sealed []byte `json:"sealed"` // nonce, secret and tag
}

// find returns where the secret is.
func (d *document) find(name string) (int, bool) {
	return slices.BinarySearchFunc(d.Secrets, name, func(s sealed, name string) int { return cmp.Compare(s.Name, name) })
}

// load reads the vault. A missing file is a vault without secrets; a file that
// is there and cannot be understood is an error.
func (v *Vault) load() (*document, error) {
	text, err := private.Read(v.path(), longestFile)
	if errors.Is(err, fs.ErrNotExist) {
		return &document{Version: version}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the vault: %w", err)
	}
	d, err := decode(text)
	if err != nil {
		return nil, fmt.Errorf("the vault %s: %w; restore it from a backup, or move it away and set the secrets anew", v.path(), err)
	}
	return d, nil
}

func (v *Vault) store(d *document) error {
	text, err := encode(d)
	if err == nil && len(text) > longestFile {
		err = fmt.Errorf("it would have %d bytes, the most is %d; remove a secret first", len(text), longestFile)
	}
	if err == nil {
		err = private.Replace(v.path(), text)
	}
	if err != nil {
		return fmt.Errorf("writing the vault: %w", err)
	}
	return nil
}

func encode(d *document) ([]byte, error) {
	text, err := json.Marshal(d, jsontext.WithIndent("  "))
	return append(text, '\n'), err
}

// decode is strict: what is unknown, missing or twice there was not written by
// us, and the next change would make it worse.
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
	if !keyID(d.Key) {
		return errors.New("the file does not name its key")
	}
	if len(d.Retired) > mostRetired {
		return fmt.Errorf("the file names %d old keys, the most is %d", len(d.Retired), mostRetired)
	}
	for _, old := range d.Retired {
		if !keyID(old.Key) || old.Key == d.Key || !slices.Contains(places(), old.Place) {
			return errors.New("the file names an old key that cannot be one")
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
	case !plainName(s.Name):
		return errors.New("it has no name that a secret can have")
	case !whole(s.Created), !whole(s.Changed):
		return fmt.Errorf("%q does not say when it was set", s.Name)
	case len(s.Sealed) <= overhead, len(s.Sealed) > overhead+Longest:
		return fmt.Errorf("%q has %d bytes, which cannot be", s.Name, len(s.Sealed))
	}
	return nil
}

// whole says whether t is a time of the kind that entries have.
func whole(t time.Time) bool { return !t.IsZero() && t.Nanosecond() == 0 }

// plainName reports whether a secret may be called so. Settings name them so
// too. It is no regular expression because compiling one would cost every start.
func plainName(name string) bool {
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
	return name != "" && len(name) <= 64 && strings.Contains(letters, name[:1]) && only(name, letters+"._@-")
}

func only(text, of string) bool {
	return strings.IndexFunc(text, func(r rune) bool { return !strings.ContainsRune(of, r) }) < 0
}

// CheckName refuses what a secret cannot be called.
func CheckName(name string) error {
	if !plainName(name) {
		return fmt.Errorf("%q cannot be the name of a secret; use up to 64 letters, digits, and . _ - @", name[:min(len(name), 64)])
	}
	return nil
}
