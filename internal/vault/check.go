package vault

import (
	"errors"
	"io/fs"

	"github.com/mcp-tools/mcp-tools/internal/private"
)

// A Report describes the state of a vault.
type Report struct {
	Exists   bool
	Secrets  int
	KeyStore KeyStore
	Key      string // where the key is, to be shown
	OldKeys  int    // unused keys that could not be removed
}

// Check checks the permissions of the files, that the key exists, and that it
// opens every secret. It changes nothing.
func (v *Vault) Check() (Report, error) {
	p := v.keyStore()
	r := Report{KeyStore: p, Key: v.keeper(p).String()}
	if err := private.CheckDir(v.config.Dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return r, err
	}
	d, err := v.load()
	if err != nil {
		return r, err
	}
	r.Exists, r.Secrets, r.OldKeys = d.Key != "", len(d.Secrets), len(d.Retired)
	if !r.Exists && p == Env {
		_, err := envKeys{v.config}.read(v.config.EnvKey)
		return r, unlessMissing(err)
	}
	if len(d.Secrets) == 0 {
		return r, nil
	}
	k, err := v.keyOf(d)
	if err != nil {
		return r, err
	}
	defer k.clear()
	var broken []error
	for _, s := range d.Secrets {
		value, err := k.open(s)
		clear(value)
		broken = append(broken, err)
	}
	return r, v.damaged(errors.Join(broken...))
}

// unlessMissing returns err, or nil if err is errNoKey.
func unlessMissing(err error) error {
	if errors.Is(err, errNoKey) {
		return nil
	}
	return err
}
