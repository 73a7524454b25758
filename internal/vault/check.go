package vault

import (
	"errors"
	"io/fs"

	"github.com/mcp-tools/mcp-tools/internal/private"
)

// A Report is how a vault stands.
type Report struct {
	Exists  bool
	Secrets int
	Place   Place
	Key     string // where the key is, for people
	OldKeys int    // keys that seal nothing any more and could not be removed
}

// Check looks at everything: who may use the files, whether the key is there
// and whether it opens each secret. It changes nothing.
func (v *Vault) Check() (Report, error) {
	p := v.place()
	r := Report{Place: p, Key: v.keeper(p).String()}
	if err := private.CheckDir(v.config.Dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return r, err
	}
	d, err := v.load()
	if err != nil {
		return r, err
	}
	r.Exists, r.Secrets, r.OldKeys = d.Key != "", len(d.Secrets), len(d.Retired)
	if !r.Exists && p == Env {
		_, err := variables{v.config}.read(v.config.EnvKey)
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

// unlessMissing is err, unless that only says that there is no key yet.
func unlessMissing(err error) error {
	if errors.Is(err, errNoKey) {
		return nil
	}
	return err
}
