package graph

import (
	"cmp"
	"context"
	"maps"
	"slices"
)

// decay is the weight of each further step of a path.
const decay = 0.8

// Limits of a walk.
const (
	MaxDepth         = 5
	MaxNodes         = 500  // entities reached
	MaxRelations     = 50   // of one entity in each direction; where the walk begins, MaxNodes
	MaxBatch         = 16   // entities whose relations are read together
	maxLookup        = 200  // entities that are looked up together
	maxReadRelations = 5000 // relations read by one walk
)

// A Reader reads the graph that a walk follows.
type Reader interface {
	// Relations returns the relations that begin or end at some entities, at most MaxBatch of them: of each entity
	// the limit most certain ones in each direction. More reports whether there are others.
	Relations(ctx context.Context, slugs []string, limit int) (list []Relation, more bool, err error)
	// Entities returns the entities that exist among some slugs, by slug.
	Entities(ctx context.Context, slugs []string) (map[string]Entity, error)
}

// A Node is an entity that a walk reached. Path holds the relations from where the walk began; each may be followed
// against its direction.
type Node struct {
	Entity   Entity
	Path     []Relation
	Strength float64 // of the path, from 1 down to 0
}

// Walk finds the entities that can be reached from one by at most depth relations in either
// direction, the strongest first. The strength of a path is the product of the confidences of
// its relations, reduced for each step. The strength of an entity is the strength of its best
// path. Truncated reports whether a limit kept Walk from reading everything.
func Walk(ctx context.Context, r Reader, from string, depth int) (found []Node, truncated bool, err error) {
	w := walk{
		reader: r, from: from,
		relations: map[string][]Relation{}, entities: map[string]Entity{}, reached: map[string]Node{},
	}
	frontier := []Node{{Entity: Entity{Slug: from}, Strength: 1}}
	for range min(depth, MaxDepth) {
		if len(frontier) == 0 {
			break
		}
		if frontier, err = w.step(ctx, frontier); err != nil {
			return nil, false, err
		}
	}
	return slices.SortedStableFunc(maps.Values(w.reached), compareNodes), w.truncated, nil
}

// compareNodes puts the strongest first.
func compareNodes(a, b Node) int {
	return cmp.Or(cmp.Compare(b.Strength, a.Strength), cmp.Compare(len(a.Path), len(b.Path)),
		cmp.Compare(a.Entity.Slug, b.Entity.Slug), slices.CompareFunc(a.Path, b.Path, compareRelations))
}

func compareRelations(a, b Relation) int {
	return cmp.Or(cmp.Compare(a.Source, b.Source), cmp.Compare(a.Type, b.Type), cmp.Compare(a.Target, b.Target))
}

type walk struct {
	reader    Reader
	from      string
	relations map[string][]Relation // by slug of the entities that were read
	entities  map[string]Entity     // by slug; the zero Entity if it does not exist
	reached   map[string]Node
	read      int // relations read so far
	truncated bool
}

// step follows one more relation from the entities that the step before reached, or reached on a better path.
func (w *walk) step(ctx context.Context, frontier []Node) ([]Node, error) {
	if err := w.readRelations(ctx, frontier); err != nil {
		return nil, err
	}
	better := map[string]Node{}
	for _, n := range frontier {
		for _, r := range w.relations[n.Entity.Slug] {
			other := r.Target
			if other == n.Entity.Slug {
				other = r.Source
			}
			next := Node{Entity: Entity{Slug: other}, Strength: n.Strength * r.Confidence * decay}
			if other == w.from || next.Strength <= max(better[other].Strength, w.reached[other].Strength) {
				continue
			}
			next.Path = append(slices.Clone(n.Path), r)
			better[other] = next
		}
	}
	return w.admit(ctx, slices.SortedStableFunc(maps.Values(better), compareNodes))
}

// admit adds the strongest of some nodes to those reached, as long as they exist and the limit allows.
func (w *walk) admit(ctx context.Context, list []Node) (admitted []Node, err error) {
	for chunk := range slices.Chunk(list, maxLookup) {
		if len(w.reached) < MaxNodes {
			if err := w.readEntities(ctx, chunk); err != nil {
				return nil, err
			}
		}
		for _, n := range chunk {
			entity, wasRead := w.entities[n.Entity.Slug]
			_, wasReached := w.reached[n.Entity.Slug]
			switch {
			case !wasRead, !wasReached && len(w.reached) >= MaxNodes:
				w.truncated = true
			case entity.Slug != "":
				n.Entity = entity
				w.reached[entity.Slug] = n
				admitted = append(admitted, n)
			}
		}
	}
	return admitted, nil
}

// readRelations reads the relations of nodes, the strongest first, as far as the limit allows.
func (w *walk) readRelations(ctx context.Context, nodes []Node) error {
	var unread []string
	for _, n := range nodes {
		if _, known := w.relations[n.Entity.Slug]; !known {
			unread = append(unread, n.Entity.Slug)
		}
	}
	for chunk := range slices.Chunk(unread, MaxBatch) {
		if w.read >= maxReadRelations {
			w.truncated = true
			return nil
		}
		limit := MaxRelations
		if len(w.relations) == 0 {
			limit = MaxNodes
		}
		list, more, err := w.reader.Relations(ctx, chunk, limit)
		if err != nil {
			return err
		}
		w.truncated = w.truncated || more
		w.read += len(list)
		for _, slug := range chunk {
			w.relations[slug] = nil
		}
		for _, r := range list {
			for _, slug := range []string{r.Source, r.Target} {
				if slices.Contains(chunk, slug) {
					w.relations[slug] = append(w.relations[slug], r)
				}
			}
		}
	}
	return nil
}

func (w *walk) readEntities(ctx context.Context, nodes []Node) error {
	var unread []string
	for _, n := range nodes {
		if _, known := w.entities[n.Entity.Slug]; !known {
			unread = append(unread, n.Entity.Slug)
		}
	}
	if len(unread) == 0 {
		return nil
	}
	found, err := w.reader.Entities(ctx, unread)
	for _, slug := range unread {
		w.entities[slug] = found[slug]
	}
	return err
}
