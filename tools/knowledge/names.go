package knowledge

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/mcp-tools/mcp-tools/index"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/tools/knowledge/graph"
)

// unknownName is the cause of an error about a name that no entity has.
type unknownName string

func (n unknownName) Error() string { return "no entity has the slug of " + string(n) }

// resolve finds the entity with a name: the entity with its slug, or the only one that has it as an alias. The
// error about an unknown name has an [unknownName] as its cause; suggest completes it.
func (r rows) resolve(o tool.Owner, name string) (e graph.Entity, err error) {
	slug := graph.Slug(name)
	named, err := r.byName(o, []string{slug})
	if err != nil {
		return e, err
	}
	meant := candidates(slug, named)
	switch len(meant) {
	case 0:
		return e, tool.Errorf(tool.NotFound, "no entity is called %q", name).Because(unknownName(name))
	case 1:
		list, err := r.bySlug(o, meant)
		return graph.Resolve(list)[meant[0]], err
	}
	return e, ambiguous(name, meant)
}

func ambiguous(name string, slugs []string) error {
	return tool.Errorf(tool.Invalid, "%q can mean %s", name, strings.Join(slugs, " or ")).Try("use one of these")
}

// candidates returns the slugs of the entities that a name can mean: only its own slug, if one has it.
func candidates(slug string, named []graph.Entity) (list []string) {
	for _, e := range named {
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

// suggest adds similar names to an error of resolve about an unknown name, and returns other errors unchanged.
func (g *Graph) suggest(ctx context.Context, o tool.Owner, err error) error {
	var name unknownName
	if !errors.As(err, &name) {
		return err
	}
	list, _, failed := g.similar(ctx, o, string(name), similarOptions{byWords: true})
	if failed != nil {
		return failed
	}
	if len(list) == 0 {
		return tool.AsError(err).Try("find its name with knowledge_graph_search")
	}
	return tool.AsError(err).Try("did you mean %s?", slugsAndTypes(list))
}

const (
	maxSimilarRead = 64 // names that are compared with one
	maxSimilar     = 3  // returned
)

type similarOptions struct {
	strict  bool // only names that look like names of the same thing
	byWords bool // search the index too; it may have to catch up first
}

// similar returns entities that a name may mean, other than the one with its slug: those with a similar name and,
// unless strict is set, those with some of its words. Fresh is false if the index was not up to date.
func (g *Graph) similar(
	ctx context.Context, o tool.Owner, name string, options similarOptions,
) (list []graph.Entity, fresh bool, err error) {
	slug := graph.Slug(name)
	if slug == "" {
		return nil, true, nil
	}
	var found index.Result
	if options.byWords {
		q := index.Query{Text: name, Scopes: scopes(o), Kinds: []string{topic}, Limit: 2 * maxSimilar}
		if found, fresh, err = g.searcher.Search(ctx, q); err != nil {
			found, fresh = index.Result{}, false // compare names only
		}
	}
	err = g.view(ctx, func(r rows) error {
		names, err := r.namesWithPrefix(o, graph.Prefix(slug), maxSimilarRead)
		if err != nil {
			return err
		}
		var ids []string
		for _, name := range names {
			if graph.Similar(slug, name.slug) {
				ids = append(ids, name.entity)
			}
		}
		byPrefix, err := r.byID(o, ids)
		if err != nil {
			return err
		}
		ids = nil
		for _, hit := range found.Hits {
			ids = append(ids, hit.ID)
		}
		byWords, err := r.byID(o, ids)
		list = nil
		known := map[string]bool{slug: true}
		for i, e := range slices.Concat(byPrefix, byWords) {
			like := i < len(byPrefix) || !options.strict ||
				slices.ContainsFunc(e.Slugs(), func(s string) bool { return graph.Similar(slug, s) })
			if like && !known[e.Slug] && len(list) < maxSimilar {
				known[e.Slug] = true
				list = append(list, e)
			}
		}
		return err
	})
	return list, fresh, err
}

func slugsOf(entities []graph.Entity) []string {
	list := make([]string, len(entities))
	for i, e := range entities {
		list[i] = e.Slug
	}
	return list
}
