// Package graph says what knowledge is: entities with names, typed relations
// between them, how sure somebody was of them and when they were true; how two
// reports of the same thing become one, and what can be reached from where.
//
// It knows no tools, no rows and no index: what it needs to walk it is handed.
// Entities are named by slugs, the same for everybody, so that a relation of
// one user's can end at what all users share. Begin with [Entity], [Relation],
// [Entity.Merge] and [Walk].
package graph

import (
	"math"
	"slices"
)

// An Owner is whose knowledge something is: of a user of an agent, or, with
// User "", of all its users.
type Owner struct{ Agent, User string }

// Shared is the owner of what all users of the agent see.
func (o Owner) Shared() Owner { return Owner{Agent: o.Agent} }

// A Span is when something is true: from its first millisecond since 1970 to
// the one after the last.
type Span struct {
	From int64 `json:"from"`
	To   int64 `json:"to"`
}

// Always is the Span without bounds.
func Always() Span { return Span{math.MinInt64, math.MaxInt64} }

// Holds reports whether something is true at a moment.
func (s Span) Holds(at int64) bool { return s.From <= at && at < s.To }

// A Trace is where something is known from, and since when.
type Trace struct {
	Source  string `json:"source,omitempty"` // what was read, as its author says
	Author  string `json:"author,omitempty"` // who wrote it down last
	Session string `json:"session,omitempty"`
	Created int64  `json:"created"`
	Updated int64  `json:"updated"`
}

// An Entity is a thing that has a name. Slug is what it is called by, once for
// each owner.
type Entity struct {
	ID          string            `json:"id"`
	Owner       Owner             `json:"owner"`
	Slug        string            `json:"slug"`
	Name        string            `json:"name"`
	Aliases     []string          `json:"aliases,omitempty"`
	Type        string            `json:"type"`
	Description string            `json:"description,omitempty"`
	Properties  map[string]string `json:"properties,omitempty"` // values are as they were written
	Confidence  float64           `json:"confidence"`           // above 0, up to 1
	Valid       Span              `json:"valid"`
	Trace       Trace             `json:"trace"`
	Version     int64             `json:"version"` // the change that made it what it is
}

// Shared reports whether all users of the agent see it.
func (e Entity) Shared() bool { return e.Owner.User == "" }

// Slugs are the slugs of all its names, its own first.
func (e Entity) Slugs() []string {
	list := []string{e.Slug}
	for _, name := range append([]string{e.Name}, e.Aliases...) {
		if s := Slug(name); s != "" && !slices.Contains(list, s) {
			list = append(list, s)
		}
	}
	return list
}

// A Relation says what one entity is to another. An owner has one of a type
// between two entities.
type Relation struct {
	ID         string            `json:"id"`
	Owner      Owner             `json:"owner"`
	Source     string            `json:"source"` // a slug
	Type       string            `json:"type"`
	Target     string            `json:"target"` // a slug
	Properties map[string]string `json:"properties,omitempty"`
	Confidence float64           `json:"confidence"`
	Valid      Span              `json:"valid"`
	Trace      Trace             `json:"trace"`
	Version    int64             `json:"version"`
}

// A Link names a relation.
type Link struct{ Source, Type, Target string }

// Link is the relation's name.
func (r Relation) Link() Link { return Link{r.Source, r.Type, r.Target} }

// EntityTypes are those that are suggested; others are taken as well.
func EntityTypes() []string {
	return []string{"person", "organization", "project", "task", "event", "concept", "location"}
}

// RelationTypes are those that are suggested; others are taken as well.
func RelationTypes() []string {
	return []string{
		"works_on", "manages", "reports_to", "collaborates_with", "belongs_to", "part_of", "depends_on", "blocks",
		"created", "completed", "assigned_to", "scheduled_for", "located_in", "based_at", "uses", "implements",
		"integrates_with", "knows", "related_to",
	}
}
