package graph

import (
	"cmp"
	"context"
	"maps"
	"slices"
)

// fade is what is left of how much a path says with every step away.
const fade = 0.8

// Bounds of a walk.
const (
	MostDepth = 5
	MostNodes = 500  // reached
	MostLinks = 50   // of one entity, each way, own and shared: the surest; where a walk begins, MostNodes
	LinksOf   = 16   // entities, whose relations are read together
	lookUp    = 200  // entities that are looked up together
	mostRead  = 5000 // relations
)

// A Ground is what can be walked on.
type Ground interface {
	// Links returns the relations that begin or end at some entities, of each
	// the surest so many each way and each once. More says whether there are
	// others. There are no more than LinksOf slugs.
	Links(ctx context.Context, slugs []string, each int) (list []Relation, more bool, err error)
	// Entities returns those of some slugs that there are, by slug.
	Entities(ctx context.Context, slugs []string) (map[string]Entity, error)
}

// A Node is an entity that was reached. Path is how, by the relations on the
// way from where the walk began; each may be taken against its direction.
type Node struct {
	Entity   Entity
	Path     []Relation
	Strength float64 // how much the path says, from 1 downwards
}

// Walk finds what can be reached from an entity by at most so many relations,
// either way, the strongest first. The strength of a path is the product of the
// confidences of its relations, less something for each step; an entity's is
// that of its best path. Cut says that bounds kept it from seeing everything.
func Walk(ctx context.Context, g Ground, from string, depth int) (found []Node, cut bool, err error) {
	w := walk{
		ground: g, from: from,
		links: map[string][]Relation{}, entities: map[string]Entity{}, reached: map[string]Node{},
	}
	edge := []Node{{Entity: Entity{Slug: from}, Strength: 1}}
	for range min(depth, MostDepth) {
		if len(edge) == 0 {
			break
		}
		if edge, err = w.step(ctx, edge); err != nil {
			return nil, false, err
		}
	}
	for _, n := range w.reached {
		found = append(found, n)
	}
	slices.SortFunc(found, compareNodes)
	return found, w.cut, nil
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
	ground   Ground
	from     string
	links    map[string][]Relation // of entities whose relations were read
	entities map[string]Entity     // that were looked up; without a slug: there is none
	reached  map[string]Node
	read     int // relations
	cut      bool
}

// step goes one relation further from the entities that were reached, or reached
// in a better way, by the step before.
func (w *walk) step(ctx context.Context, edge []Node) ([]Node, error) {
	if err := w.readLinks(ctx, edge); err != nil {
		return nil, err
	}
	better := map[string]Node{}
	for _, n := range edge {
		for _, r := range w.links[n.Entity.Slug] {
			other := r.Target
			if other == n.Entity.Slug {
				other = r.Source
			}
			next := Node{Entity: Entity{Slug: other}, Strength: n.Strength * r.Confidence * fade}
			if other == w.from || next.Strength <= max(better[other].Strength, w.reached[other].Strength) {
				continue
			}
			next.Path = append(slices.Clone(n.Path), r)
			better[other] = next
		}
	}
	return w.admit(ctx, slices.SortedFunc(maps.Values(better), compareNodes))
}

// admit lets the strongest in, as long as there is room, and as far as there
// are such entities.
func (w *walk) admit(ctx context.Context, list []Node) (in []Node, err error) {
	for chunk := range slices.Chunk(list, lookUp) {
		if len(w.reached) < MostNodes {
			if err := w.readEntities(ctx, chunk); err != nil {
				return nil, err
			}
		}
		for _, n := range chunk {
			known, looked := w.entities[n.Entity.Slug]
			_, again := w.reached[n.Entity.Slug]
			switch {
			case !looked, !again && len(w.reached) >= MostNodes:
				w.cut = true
			case known.Slug != "":
				n.Entity = known
				w.reached[known.Slug] = n
				in = append(in, n)
			}
		}
	}
	return in, nil
}

// readLinks reads the relations of the strongest first, as long as there is
// room for them.
func (w *walk) readLinks(ctx context.Context, edge []Node) error {
	var ask []string
	for _, n := range edge {
		if _, known := w.links[n.Entity.Slug]; !known {
			ask = append(ask, n.Entity.Slug)
		}
	}
	for chunk := range slices.Chunk(ask, LinksOf) {
		if w.read >= mostRead {
			w.cut = true
			return nil
		}
		each := MostLinks
		if len(w.links) == 0 {
			each = MostNodes
		}
		list, more, err := w.ground.Links(ctx, chunk, each)
		if err != nil {
			return err
		}
		w.cut = w.cut || more
		w.read += len(list)
		for _, slug := range chunk {
			w.links[slug] = nil
		}
		for _, r := range list {
			for _, slug := range []string{r.Source, r.Target} {
				if slices.Contains(chunk, slug) {
					w.links[slug] = append(w.links[slug], r)
				}
			}
		}
	}
	return nil
}

func (w *walk) readEntities(ctx context.Context, nodes []Node) error {
	var ask []string
	for _, n := range nodes {
		if _, known := w.entities[n.Entity.Slug]; !known {
			ask = append(ask, n.Entity.Slug)
		}
	}
	if len(ask) == 0 {
		return nil
	}
	found, err := w.ground.Entities(ctx, ask)
	for _, slug := range ask {
		w.entities[slug] = found[slug]
	}
	return err
}
