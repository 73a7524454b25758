package vault

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/room"
	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/terminal"
	"github.com/mcp-tools/mcp-tools/internal/text"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// Dependents are the data that one package has sealed with the vault, for a reset of the vault.
type Dependents struct {
	// Lost describes the data lost in a reset, with its number; "" for nothing.
	Lost func(ctx context.Context, s *store.Store) (string, error)
	// Forget removes the rows that cannot be opened any more. nil: they stay, and the package says so.
	Forget func(*store.Tx) error
}

// A Loss lists the data that a reset removes.
type Loss struct {
	Key     string   `json:"key"`     // id of the missing key
	Secrets []string `json:"secrets"` // names
	Others  []string `json:"others"`  // in words
}

var (
	errNoReset = errors.New("the vault has no key that could be lost")
	errUsable  = errors.New("the key of the vault is here")
)

// lost returns the data that a reset would remove. It is an error if the vault has no key, or a key that this
// process can get.
func (v *Vault) lost(ctx context.Context, others []Dependents) (l Loss, err error) {
	if err := v.takeOver(ctx); err != nil {
		return l, fmt.Errorf("%w; move %s away if its key is lost", err, v.path())
	}
	err = v.with(ctx, false, func(s *store.Store) error {
		keys, err := keyRows(ctx, s)
		if err == nil && len(keys) == 0 {
			err = ErrNone
		}
		if err != nil {
			return err
		}
		l.Key = keys[0].KEK
		for _, k := range keys {
			if _, err := v.unwrapped(ctx, k); err == nil {
				return errUsable
			} else if !errors.Is(err, ErrLocked) {
				return err
			}
		}
		if l.Secrets, err = store.Select(ctx, s, "SELECT name FROM secret ORDER BY name", nil, store.One[string]); err != nil {
			return err
		}
		for _, o := range others {
			words, err := o.Lost(ctx, s)
			if err != nil {
				return err
			}
			if words != "" {
				l.Others = append(l.Others, words)
			}
		}
		return nil
	})
	if errors.Is(err, ErrNone) {
		err = errNoReset
	}
	return l, err
}

// reset removes the keys and the secrets of a vault whose key-encryption key has the id kek, and the dependent data.
func (v *Vault) reset(ctx context.Context, kek string, others []Dependents) error {
	unlock, err := v.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	return v.with(ctx, false, func(s *store.Store) error {
		if err := v.dropCopy(); err != nil {
			return err
		}
		err := s.Update(ctx, func(t *store.Tx) error {
			other := 0
			err := t.Row("SELECT count(*) FROM vault_key WHERE kek <> $1", []any{kek}, &other)
			if err == nil && other > 0 {
				err = errAgain // somebody has found the key, and rotated it
			}
			for _, statement := range []string{"DELETE FROM secret", "DELETE FROM vault_key"} {
				if err == nil {
					_, err = t.Exec(statement)
				}
			}
			for _, o := range others {
				if err == nil && o.Forget != nil {
					err = o.Forget(t)
				}
			}
			return err
		})
		if err != nil {
			return err
		}
		return s.Flush(ctx)
	})
}

func (o *operator) resetVerb() room.Verb {
	return room.Prepare(room.Verb{
		Name: "reset", Title: "Remove all secrets of a vault whose key is lost", Risk: tool.Destroys,
		Doc: `reset is for a vault whose key is lost: nothing that is encrypted with it can ever be
read. It lists the lost data, asks, and removes them. The next mcp-tools secrets set
makes a new key. Restart the servers afterwards.

If another machine or a backup has the key, copy the key instead. reset refuses while
this machine can get it.`,
		Example: "  mcp-tools secrets reset",
	}, o.prepareReset)
}

const shownNames = 20

func (o *operator) prepareReset(ctx context.Context, _ struct{}) (plan tool.Plan, err error) {
	lost, err := o.lost(ctx, o.others)
	switch {
	case errors.Is(err, errNoReset):
		return plan, tool.Errorf(tool.Conflict, "%w", err).Try("mcp-tools secrets set NAME stores a secret")
	case errors.Is(err, errUsable):
		return plan, tool.Errorf(tool.Conflict, "%w", err).
			Try("remove single secrets with mcp-tools secrets remove, or encrypt all with a new key with rotate")
	case err != nil:
		return plan, err
	}
	var all []string
	if n := len(lost.Secrets); n > 0 {
		names := strings.Join(lost.Secrets[:min(n, shownNames)], ", ")
		if n > shownNames {
			names += ", ..."
		}
		all = append(all, text.Plural(n, "secret")+" ("+terminal.OneLine(names)+")")
	}
	all = append(all, lost.Others...)
	if len(all) == 0 {
		all = []string{"nothing but the key itself"}
	}
	plan.Ask = fmt.Sprintf("The key %s of the vault is not on this machine. If it is lost, so are: %s. This removes them for "+
		"all servers on the store. If another machine or a backup has the key, copy it from there instead.", lost.Key,
		strings.Join(all, "; "))
	plan.Run = func(ctx context.Context) (tool.Result, error) {
		if err := o.reset(ctx, lost.Key, o.others); err != nil {
			return tool.Result{}, err
		}
		return room.Said(lost, "Removed: %s. Restart the servers; mcp-tools secrets set NAME makes a new key.",
			strings.Join(all, "; ")), nil
	}
	return plan, nil
}
