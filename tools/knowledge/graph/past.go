package graph

// A Change is one step in which an owner's knowledge changed. Numbers count
// from 1, for each owner.
type Change struct {
	Number  int64
	Summary string
	Author  string
	Session string
	At      int64
	Undone  int64 // the number of the change that took it back, 0 for none
}

// A Past is what a change did to one entity or relation: what it was before,
// nil when it was not there.
type Past struct {
	ID       string
	Relation bool  // it is about a relation
	After    int64 // the version that it had after the change, 0 when it was gone
	Entity   *Entity
	Link     *Relation
}

// A Size is how much an owner has.
type Size struct{ Entities, Relations int64 }

// A Listing asks for entities of which nothing is known but their type, valid
// at a moment. Type "" is any.
type Listing struct {
	Type          string
	At            int64
	Limit, Offset int
}
