package vault

import (
	"context"
	"path/filepath"

	"github.com/go-json-experiment/json"

	"github.com/mcp-tools/mcp-tools/internal/private"
	"github.com/mcp-tools/mcp-tools/internal/store"
)

// copyName is the name of a file beside the key with the sealed rows of a SQLite store. Opening SQLite takes a new process
// ten times as long as reading the file, and the start of a server may need a secret.
//
// The file is never older than the store: each change of the vault removes it before it commits, and writes it again
// afterwards, under the lock. It is of one database file; if another takes its place, it does not count.
const copyName = "copy.json"

// A rowsCopy is the content of the file.
type rowsCopy struct {
	Of      string // the file of the store, see Config.File
	Keys    []keyRow
	Secrets []row
}

func (v *Vault) copyPath() string { return filepath.Join(v.config.Dir, copyName) }

// copied returns the rows of the store from the copy, nil if there is no valid one.
func (v *Vault) copied() *rowsCopy {
	of := v.file()
	if of == "" {
		return nil
	}
	text, err := private.Read(v.copyPath(), maxFile)
	if err != nil {
		return nil
	}
	c := new(rowsCopy)
	if json.Unmarshal(text, c) != nil || c.Of != of {
		return nil
	}
	return c
}

func (v *Vault) file() string {
	if v.config.File == nil {
		return ""
	}
	return v.config.File()
}

// get returns a secret of the copy. The store decides about missing secrets.
func (c *rowsCopy) get(ctx context.Context, v *Vault, name string) ([]byte, bool) {
	if c == nil {
		return nil, false
	}
	for _, r := range c.Secrets {
		if r.Name != name {
			continue
		}
		for _, k := range c.Keys {
			if k.ID != r.DataKey {
				continue
			}
			dek, err := v.unwrapped(ctx, k)
			if err != nil {
				return nil, false
			}
			value, err := dek.openRow(r)
			return value, err == nil
		}
	}
	return nil, false
}

// dropCopy removes the copy. The caller holds the lock.
func (v *Vault) dropCopy() error { return private.Remove(v.copyPath()) }

// writeCopy copies the rows of the store. The caller holds the lock. Without a copy everything works, more slowly.
func (v *Vault) writeCopy(ctx context.Context, s *store.Store) {
	c := rowsCopy{Of: v.file()}
	if c.Of == "" {
		return
	}
	var err error
	if c.Keys, err = keyRows(ctx, s); err != nil {
		return
	}
	if c.Secrets, err = store.Select(ctx, s, "SELECT "+secretColumns+" FROM secret", nil, scanSecret); err != nil {
		return
	}
	if text, err := json.Marshal(c); err == nil && len(text) <= maxFile {
		_ = private.Replace(v.copyPath(), text)
	}
}

// ForgetCopy must be called before the rows of a store in use are replaced by other means than a Vault. dir is the
// directory of the key.
func ForgetCopy(dir string) error { return private.Remove(filepath.Join(dir, copyName)) }
