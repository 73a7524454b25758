package knowledge

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/mcp-tools/mcp-tools/index"
	"github.com/mcp-tools/mcp-tools/tools/knowledge/graph"
)

// topic is under which changes of entities are told, and the kind of their
// documents, by which searches tell them from other shelves'.
const topic = "knowledge"

// A Shelf makes documents of entities, whosever they are.
type Shelf struct {
	view func(context.Context, func(Tx) error) error
}

// NewShelf is the shelf of some rows.
func NewShelf[T Tx](rows Rows[T]) Shelf {
	return Shelf{func(ctx context.Context, f func(Tx) error) error {
		return rows.View(ctx, func(t T) error { return f(t) })
	}}
}

// Topic is what the shelf's changes are told under.
func (Shelf) Topic() string { return topic }

// Load returns the document of an entity; none when it is gone.
func (s Shelf) Load(ctx context.Context, key string) (list []index.Document, err error) {
	err = s.view(ctx, func(tx Tx) error {
		found, err := tx.Any(key)
		list = list[:0]
		for _, e := range found {
			list = append(list, document(e))
		}
		return err
	})
	return list, err
}

// Keys returns the keys after one, in their order.
func (s Shelf) Keys(ctx context.Context, after string, limit int) (list []string, err error) {
	err = s.view(ctx, func(tx Tx) (err error) {
		list, err = tx.IDs(after, limit)
		return err
	})
	return list, err
}

func document(e graph.Entity) index.Document {
	var body strings.Builder
	body.WriteString(e.Description)
	for _, key := range slices.Sorted(maps.Keys(e.Properties)) {
		body.WriteString("\n" + key + ": " + e.Properties[key])
	}
	return index.Document{
		ID: e.ID, Scope: Scope(e.Owner), Kind: topic, Path: e.Slug, Tags: []string{e.Type}, Time: e.Trace.Updated,
		Title: e.Name, Headings: strings.Join(e.Aliases, "\n"), Body: body.String(),
	}
}
