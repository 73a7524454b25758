// Package graph defines the parts of a knowledge graph: entities with names, typed relations
// between them, and the confidence and the time span of each. It merges two reports of the same
// thing into one and finds the entities in reach of an entity.
//
// It knows neither tools nor SQL nor the search index: [Walk] reads through an interface. Entities are identified by
// slugs. A slug is the same for all users of an agent, so that a relation of one user can end at a shared entity.
// Begin with [Entity], [Relation], [Entity.Merge] and [Walk].
package graph

import (
	"math"
	"slices"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// A Span is the time of validity of a fact, in milliseconds since 1970. To is exclusive.
type Span struct {
	From int64 `json:"from"`
	To   int64 `json:"to"`
}

// Always returns the Span without bounds.
func Always() Span { return Span{math.MinInt64, math.MaxInt64} }

// Contains reports whether a moment lies in the span.
func (s Span) Contains(at int64) bool { return s.From <= at && at < s.To }

// A Provenance records where an entity or relation comes from. Times are milliseconds since 1970.
type Provenance struct {
	Source  string `json:"source,omitempty"` // the document or person, as the author named it
	Author  string `json:"author,omitempty"` // the last writer
	Session string `json:"session,omitempty"`
	Created int64  `json:"created"`
	Updated int64  `json:"updated"`
}

// An Entity is a thing with a name. An owner has at most one entity for each slug.
type Entity struct {
	ID          string            `json:"id"`
	Owner       tool.Owner        `json:"owner"`
	Slug        string            `json:"slug"`
	Name        string            `json:"name"`
	Aliases     []string          `json:"aliases,omitempty"`
	Type        string            `json:"type"`
	Description string            `json:"description,omitempty"`
	Properties  map[string]string `json:"properties,omitempty"`
	Confidence  float64           `json:"confidence"` // above 0, up to 1
	Valid       Span              `json:"valid"`
	Provenance  Provenance        `json:"trace"`
	Version     int64             `json:"version"` // number of the change that wrote it
}

// Shared reports whether all users of the agent see the entity.
func (e Entity) Shared() bool { return e.Owner.User == "" }

// Slugs returns the slugs of all names of the entity, beginning with its own.
func (e Entity) Slugs() []string {
	list := []string{e.Slug}
	for _, name := range append([]string{e.Name}, e.Aliases...) {
		if s := Slug(name); s != "" && !slices.Contains(list, s) {
			list = append(list, s)
		}
	}
	return list
}

// A Relation connects two entities. An owner has at most one of a type between two entities.
type Relation struct {
	ID         string            `json:"id"`
	Owner      tool.Owner        `json:"owner"`
	Source     string            `json:"source"` // a slug
	Type       string            `json:"type"`
	Target     string            `json:"target"` // a slug
	Properties map[string]string `json:"properties,omitempty"`
	Confidence float64           `json:"confidence"`
	Valid      Span              `json:"valid"`
	Provenance Provenance        `json:"trace"`
	Version    int64             `json:"version"`
}

// A Key identifies a relation of an owner.
type Key struct{ Source, Type, Target string }

// Key returns the key of the relation.
func (r Relation) Key() Key { return Key{r.Source, r.Type, r.Target} }

// String returns "source type target".
func (k Key) String() string { return k.Source + " " + k.Type + " " + k.Target }

// EntityTypes returns the types that tools suggest. Others are accepted.
func EntityTypes() []string {
	return []string{"person", "organization", "project", "task", "event", "concept", "location"}
}

// RelationTypes returns the types that tools suggest. Others are accepted.
func RelationTypes() []string {
	return []string{
		"works_on", "manages", "reports_to", "collaborates_with", "belongs_to", "part_of", "depends_on", "blocks",
		"created", "completed", "assigned_to", "scheduled_for", "located_in", "based_at", "uses", "implements",
		"integrates_with", "knows", "related_to",
	}
}
