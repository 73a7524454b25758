// Package knowledge is the knowledge graph of agents: its tables, the operations on it, and its tools.
//
// A caller sees its own entities and relations and the entities and relations that all users of
// its agent share, and changes only its own. Package graph below defines entities and
// relations, and merges and walks them. Entities are found by words through an index that is
// filled from [Source]. Begin with [New], then search.go and add.go; rows.go has the SQL.
package knowledge

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/mcp-tools/mcp-tools/index"
	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/tools/knowledge/graph"
)

const group = "knowledge"

// Limits of one owner.
const (
	maxEntities  = 100_000
	maxRelations = 1_000_000
)

// A Searcher searches an index that has the documents of [Source]. Fresh is false if the index has not yet seen all
// that was written before the call.
type Searcher interface {
	Search(ctx context.Context, q index.Query) (found index.Result, fresh bool, err error)
}

// A Graph is the knowledge of all agents. Its methods may be called concurrently.
type Graph struct {
	store    *store.Store
	searcher Searcher
	adding   atomic.Int64 // calls of Add in progress
}

// New returns the graph that a store holds.
func New(s *store.Store, searcher Searcher) *Graph { return &Graph{store: s, searcher: searcher} }

// Tools returns the tools of the group. They can be described without a graph.
func Tools(g *Graph) []tool.Tool {
	return []tool.Tool{
		tool.New(search{g}),
		tool.New(add{g}),
		tool.New(remove{g}),
	}
}

func (g *Graph) view(ctx context.Context, f func(rows) error) error {
	return g.store.View(ctx, func(t *store.Tx) error { return f(rows{t}) })
}

// changeAge is how long a change can be undone.
const changeAge = 90 * 24 * time.Hour

// Sweep deletes the records of changes that are too old to be undone.
func (g *Graph) Sweep(ctx context.Context) error {
	_, err := g.sweep(ctx, changeAge)
	return err
}

func (g *Graph) sweep(ctx context.Context, age time.Duration) (n int64, err error) {
	err = g.store.Update(ctx, func(t *store.Tx) error {
		n, err = t.Exec("DELETE FROM knowledge_change WHERE at < {{now}} - $1", age.Milliseconds())
		return err
	})
	return n, err
}

// topic is the topic of entities in the change feed, and the kind of their documents in the index. The keys are ids.
const topic = "knowledge"

// A Source provides the entities of all owners as documents for an index.
type Source struct{ store *store.Store }

// NewSource returns the source of the entities in a store.
func NewSource(s *store.Store) Source { return Source{s} }

// Topic returns the topic of the change feed that announces changes.
func (Source) Topic() string { return topic }

// Load returns the documents of entities of the wanted scopes, by id.
func (s Source) Load(ctx context.Context, ids []string, wanted func(string) bool) (map[string][]index.Document, error) {
	documents := map[string][]index.Document{}
	err := s.store.View(ctx, func(t *store.Tx) error {
		var args []any
		found, err := rows{t}.listEntities("e.id IN ("+store.In(&args, ids)+")", args...)
		for _, e := range found {
			if wanted(scope(e.Owner)) {
				documents[e.ID] = []index.Document{document(e)}
			}
		}
		return err
	})
	return documents, err
}

// Keys returns the ids of the entities of a scope after one, in order.
func (s Source) Keys(ctx context.Context, scope, after string, limit int) (list []string, err error) {
	parts := strings.SplitN(scope, "\x00", 3)
	if len(parts) != 3 || parts[0] != topic {
		return nil, nil
	}
	return store.Select(ctx, s.store, "SELECT id FROM entity WHERE agent = $1 AND usr = $2 AND id > $3 ORDER BY id LIMIT $4",
		[]any{parts[1], parts[2], after, limit}, store.One[string])
}

func document(e graph.Entity) index.Document {
	var body strings.Builder
	body.WriteString(e.Description)
	for _, key := range slices.Sorted(maps.Keys(e.Properties)) {
		body.WriteString("\n" + key + ": " + e.Properties[key])
	}
	return index.Document{
		ID: e.ID, Scope: scope(e.Owner), Kind: topic, Path: e.Slug, Tags: []string{e.Type}, Time: e.Provenance.Updated,
		Title: e.Name, Headings: strings.Join(e.Aliases, "\n"), Body: body.String(),
	}
}

// scope returns the scope of an owner's entities in the index. It differs from the scope of the
// owner's memories, so that memories do not change the rarity of a word.
func scope(o tool.Owner) string { return topic + "\x00" + o.Agent + "\x00" + o.User }

// scopes returns the scopes that an owner sees.
func scopes(o tool.Owner) []string {
	if o.User == "" {
		return []string{scope(o)}
	}
	return []string{scope(o), scope(o.Shared())}
}
