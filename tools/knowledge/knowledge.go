// Package knowledge holds the tools for what agents know: entities and the
// relations between them. It knows how models ask and what they are answered;
// what knowledge is says the package graph beneath it, and where it is kept
// knows whoever implements [Graph]. Begin with search.go.
package knowledge

import (
	"context"

	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/tools/knowledge/graph"
)

const group = "knowledge"

// A Graph is what is known. Whose knowledge it is about it takes from the
// caller in the context. Names of entities are names, aliases or slugs. Its
// errors are written for models.
type Graph interface {
	// Find finds entities by their words; all of them for the text "*".
	Find(ctx context.Context, q Query) (Found, error)
	// Walk finds what can be reached from an entity.
	Walk(ctx context.Context, q Query) (Walked, error)
	// Add adds entities, and relations whose ends are named, all or nothing. A
	// confidence of 0, a span of zero and empty texts are not given.
	Add(ctx context.Context, entities []graph.Entity, relations []graph.Relation) (Added, error)
	// Remove removes an entity of the caller's with its relations.
	Remove(ctx context.Context, name string) (Done, error)
	// Unlink removes a relation of the caller's.
	Unlink(ctx context.Context, link graph.Link) (Done, error)
	// Merge makes one entity of two: whatever is known of the first becomes
	// known of the second, and the first is no more.
	Merge(ctx context.Context, name, into string) (Done, error)
	// Undo takes a change back, if nothing has changed since that it touched.
	Undo(ctx context.Context, change int64) (Done, error)
}

// A Query asks for entities.
type Query struct {
	Text   string
	Type   string // "" is any
	From   string // of a walk: where it begins
	Depth  int    // of a walk: how many relations away
	At     *int64 // when it must be true, in milliseconds since 1970; nil is now
	Limit  int
	Offset int
}

// Found is what was found, the best first.
type Found struct {
	Hits  []Hit
	More  bool
	Stale bool // what was written last may be missing
	// Past are entities that would have been found for another time, when nothing
	// was, and Others ones that there are.
	Past   []graph.Entity
	Others []graph.Entity
}

// A Hit is an entity with its surest relations.
type Hit struct {
	Entity graph.Entity
	Links  []graph.Relation
	More   bool // it has other relations
}

// Walked is what was reached, the strongest first.
type Walked struct {
	From  graph.Entity
	Nodes []graph.Node
	Total int  // of how many these are
	Cut   bool // there may be more than was looked at
}

// Added is what became of what was added, in the order in which it came.
type Added struct {
	Change    int64 // 0: all was known
	Entities  []Outcome
	Relations []Outcome
	Alike     map[string][]graph.Entity // that may be the same as a new one, by its slug
}

// An Outcome is what became of one report.
type Outcome struct {
	Text   string // what it was about
	Action string // created, updated, unchanged
	Also   string // the name by which it was known, when that is another
	Shared bool   // all users know something of it as well
	Kept   []string
}

// Done is what a removal did.
type Done struct {
	Change  int64
	Summary string
	Notes   []string
}

// Tools are the tools of the group.
func Tools(g Graph) []tool.Tool {
	return []tool.Tool{
		tool.New(search{g}),
		tool.New(add{g}),
		tool.New(remove{g}),
	}
}
