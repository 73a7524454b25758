package knowledge

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/mcp-tools/mcp-tools/index"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/tools/knowledge/graph"
)

// resolve finds the one entity that is called by a name: its slug, or an alias
// that no other has. What is wrong with the name is told apart from what is
// wrong with the store.
func resolve(tx Tx, o graph.Owner, name string) (e graph.Entity, wrong, err error) {
	slug := graph.Slug(name)
	rows, err := tx.Named(o, []string{slug})
	if err != nil {
		return e, nil, err
	}
	slugs := meant(slug, rows)
	switch len(slugs) {
	case 0:
		return e, tool.Errorf(tool.NotFound, "no entity is called %q", name), nil
	case 1:
	default:
		return e, tool.Errorf(tool.Invalid, "%q may be %s", name, strings.Join(slugs, " or ")).Try("use one of these"), nil
	}
	rows, err = tx.Entities(o, slugs)
	return graph.Seen(rows)[slugs[0]], nil, err
}

// meant are the slugs of the entities that a name can mean: of one that has it
// for its own, no other.
func meant(slug string, rows []graph.Entity) (list []string) {
	for _, e := range rows {
		if e.Slug == slug {
			return []string{slug}
		}
		if !slices.Contains(list, e.Slug) && slices.Contains(e.Slugs(), slug) {
			list = append(list, e.Slug)
		}
	}
	slices.Sort(list)
	return list
}

const (
	mostAlike  = 64 // whose names are compared with one
	alikeShown = 3
)

// suggest adds to the error about an unknown name the names that are like it.
func (g *Graph) suggest(ctx context.Context, o graph.Owner, name string, wrong error) error {
	known := tool.AsError(wrong)
	if known.Kind != tool.NotFound {
		return wrong
	}
	like, _, err := g.alike(ctx, o, name, likeness{words: true})
	if err != nil {
		return err
	}
	if len(like) == 0 {
		return known.Try("find it with knowledge_graph_search")
	}
	var names []string
	for _, e := range like {
		names = append(names, fmt.Sprintf("%s (%s)", e.Slug, e.Type))
	}
	return known.Try("did you mean %s?", strings.Join(names, ", "))
}

// likeness is how entities are looked for whose names are like another.
type likeness struct {
	near  bool // only those that look like names of the same thing
	words bool // ask the index, too, which may have to catch up first
}

// alike are entities that a name may mean, other than the one with its slug:
// those with names like it and, unless they must be near, those that have some
// of its words. The index is fresh when it did not have to be waited for.
func (g *Graph) alike(ctx context.Context, o graph.Owner, name string, l likeness) (list []graph.Entity, fresh bool, err error) {
	slug := graph.Slug(name)
	if slug == "" {
		return nil, true, nil
	}
	var found index.Result
	if l.words {
		q := index.Query{Text: name, Scopes: scopes(o), Kinds: []string{topic}, Limit: 2 * alikeShown}
		if found, fresh, err = g.finder.Search(ctx, q); err != nil {
			found, fresh = index.Result{}, false // names alone have to do
		}
	}
	err = g.view(ctx, func(tx Tx) error {
		rows, err := tx.Alike(o, graph.Head(slug), mostAlike)
		if err != nil {
			return err
		}
		var ids []string
		for _, hit := range found.Hits {
			ids = append(ids, hit.ID)
		}
		byWords, err := tx.ByID(o, ids)
		list = pickAlike(slug, rows, byWords, l.near)
		return err
	})
	return list, fresh, err
}

func pickAlike(slug string, byHead, byWords []graph.Entity, near bool) (list []graph.Entity) {
	known := map[string]bool{slug: true}
	take := func(rows []graph.Entity, any bool) {
		for _, e := range rows {
			like := any || slices.ContainsFunc(e.Slugs(), func(s string) bool { return graph.Near(slug, s) })
			if like && !known[e.Slug] && len(list) < alikeShown {
				known[e.Slug] = true
				list = append(list, e)
			}
		}
	}
	take(byHead, false)
	take(byWords, !near)
	return list
}
