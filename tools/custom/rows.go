package custom

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/mcp-tools/mcp-tools/internal/store"
)

// Topic is the topic of definitions in the change feed. Keys are names.
const Topic = "custom_tool"

// Rows are the definitions in a store. All servers on the store have them.
type Rows struct{ Store *store.Store }

// markFile is in the data directory if this machine has added definitions to the store.
// Without it the store is not opened for them at the start.
const markFile = "custom-tools"

// Mark remembers that the store has definitions.
func Mark(data string) error {
	return errors.Join(os.MkdirAll(data, 0o700), os.WriteFile(filepath.Join(data, markFile), nil, 0o600))
}

// Marked reports whether the store can have definitions.
func Marked(data string) bool {
	_, err := os.Stat(filepath.Join(data, markFile))
	return err == nil
}

// ErrUnknown is returned for a name that no row has.
var ErrUnknown = errors.New("there is no such tool in the store")

// Put adds a definition, or replaces the one of the same name.
func (r Rows) Put(ctx context.Context, d Definition) error {
	if err := d.check(); err != nil {
		return err
	}
	text, err := d.YAML()
	if err != nil {
		return err
	}
	return r.Store.Update(ctx, func(t *store.Tx) error {
		if _, err := t.Exec(`INSERT INTO custom_tool (name, definition, changed) VALUES ($1, $2, {{now}})
			ON CONFLICT (name) DO UPDATE SET definition = excluded.definition, changed = excluded.changed`,
			d.Name, text); err != nil {
			return err
		}
		return t.Changed(Topic, d.Name)
	})
}

// Remove removes a definition.
func (r Rows) Remove(ctx context.Context, name string) error {
	return r.Store.Update(ctx, func(t *store.Tx) error {
		n, err := t.Exec("DELETE FROM custom_tool WHERE name = $1", name)
		if err != nil {
			return err
		}
		if n == 0 {
			return ErrUnknown
		}
		return t.Changed(Topic, name)
	})
}

// List returns all definitions by name. It returns the readable ones also with an error.
func (r Rows) List(ctx context.Context) (all []Definition, err error) {
	var texts []string
	texts, err = store.Select(ctx, r.Store, "SELECT definition FROM custom_tool ORDER BY name", nil, store.One[string])
	if err != nil {
		return nil, err
	}
	var problems []error
	for _, text := range texts {
		d, err := Parse([]byte(text))
		if err != nil {
			problems = append(problems, fmt.Errorf("tool %q of the store: %w", d.Name, err))
			continue
		}
		all = append(all, d)
	}
	return all, errors.Join(problems...)
}

// Get returns one definition, or ErrUnknown.
func (r Rows) Get(ctx context.Context, name string) (Definition, error) {
	texts, err := store.Select(ctx, r.Store, "SELECT definition FROM custom_tool WHERE name = $1", []any{name},
		store.One[string])
	if err != nil {
		return Definition{}, err
	}
	if len(texts) == 0 {
		return Definition{}, ErrUnknown
	}
	d, err := Parse([]byte(texts[0]))
	if err != nil {
		return Definition{}, fmt.Errorf("tool %q of the store: %w", name, err)
	}
	return d, nil
}
