package knowledge

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/mcp-tools/mcp-tools/index"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/tools/knowledge"
	"github.com/mcp-tools/mcp-tools/tools/knowledge/graph"
)

const (
	mostFound   = 500 // that are looked at
	besides     = 50  // that are looked at beyond those that are wanted, as some are not valid
	linksShown  = 5   // of each hit
	othersShown = 10
	pastShown   = 5
)

// Find finds entities by their words.
func (g *Graph) Find(ctx context.Context, q knowledge.Query) (found knowledge.Found, err error) {
	o, _, err := owner(ctx)
	if err != nil {
		return found, err
	}
	if text := strings.TrimSpace(q.Text); text == "" || text == "*" {
		err := g.list(ctx, o, q, &found)
		return found, err
	}
	ids, fresh, err := g.search(ctx, o, q, min(q.Offset+q.Limit+besides, mostFound))
	if err != nil {
		return found, err
	}
	err = g.view(ctx, func(tx Tx) error {
		at, err := moment(tx, q.At)
		if err != nil {
			return err
		}
		see := ground{tx, o, at}
		list, past, err := ranked(ctx, see, q, ids)
		if err != nil {
			return err
		}
		found = knowledge.Found{Stale: !fresh, More: len(list) > q.Offset+q.Limit}
		list = list[min(q.Offset, len(list)):min(q.Offset+q.Limit, len(list))]
		if len(list) == 0 && q.Offset == 0 {
			if found.Past = past; len(past) > 0 {
				return nil
			}
			found.Others, err = tx.List(o, graph.Listing{Type: q.Type, At: at, Limit: othersShown})
			return err
		}
		found.Hits, err = see.withLinks(ctx, list)
		return err
	})
	return found, err
}

func (g *Graph) list(ctx context.Context, o graph.Owner, q knowledge.Query, found *knowledge.Found) error {
	return g.view(ctx, func(tx Tx) error {
		at, err := moment(tx, q.At)
		if err != nil {
			return err
		}
		rows, err := tx.List(o, graph.Listing{Type: q.Type, At: at, Limit: q.Limit + 1, Offset: q.Offset})
		if err != nil {
			return err
		}
		found.More = len(rows) > q.Limit
		see := ground{tx, o, at}
		rows = rows[:min(q.Limit, len(rows))]
		seen, err := see.Entities(ctx, slugsOf(rows))
		if err != nil {
			return err
		}
		for i, e := range rows {
			rows[i] = seen[e.Slug]
		}
		found.Hits, err = see.withLinks(ctx, rows)
		return err
	})
}

// search asks the index, which gives ids, the best first, with their scores.
func (g *Graph) search(ctx context.Context, o graph.Owner, q knowledge.Query, limit int) ([]index.Hit, bool, error) {
	ask := index.Query{Text: q.Text, Scopes: scopes(o), Kinds: []string{topic}, Limit: limit}
	if q.Type != "" {
		ask.Tags = []string{q.Type}
	}
	result, fresh, err := g.finder.Search(ctx, ask)
	if err != nil {
		return nil, false, tool.Errorf(tool.Unavailable, "the index of what is known cannot be used now").
			Try("search again later, or list all with query *").Because(err)
	}
	return result.Hits, fresh, nil
}

// ranked are the entities among hits that are to be shown, as the owner sees
// them: first those that are called what was asked for. Past are some of those
// that are not, because they hold at another time.
func ranked(ctx context.Context, see ground, q knowledge.Query, hits []index.Hit) (list, past []graph.Entity, err error) {
	named, err := see.tx.Named(see.owner, []string{graph.Slug(q.Text)})
	if err != nil {
		return nil, nil, err
	}
	scores := map[string]float64{}
	ids := make([]string, len(hits))
	for i, hit := range hits {
		ids[i] = hit.ID
		scores[hit.ID] = hit.Score
	}
	rows, err := see.tx.ByID(see.owner, ids)
	if err != nil {
		return nil, nil, err
	}
	best := map[string]float64{} // by slug
	for _, e := range rows {
		best[e.Slug] = max(best[e.Slug], scores[e.ID])
	}
	exact := map[string]bool{}
	for _, e := range named {
		exact[e.Slug] = true
	}
	seen, err := see.Entities(ctx, append(slugsOf(named), slugsOf(rows)...))
	if err != nil {
		return nil, nil, err
	}
	for _, e := range slices.Concat(named, rows) {
		_, there := seen[e.Slug]
		if !there && !e.Valid.Holds(see.at) && len(past) < pastShown && !slices.ContainsFunc(past, func(p graph.Entity) bool { return p.Slug == e.Slug }) {
			past = append(past, e)
		}
	}
	for _, e := range seen {
		if q.Type == "" || e.Type == q.Type {
			list = append(list, e)
		}
	}
	slices.SortFunc(list, func(a, b graph.Entity) int {
		return cmp.Or(truth(exact[b.Slug])-truth(exact[a.Slug]), cmp.Compare(best[b.Slug], best[a.Slug]),
			truth(a.Shared())-truth(b.Shared()), cmp.Compare(b.Confidence, a.Confidence), cmp.Compare(a.Slug, b.Slug))
	})
	return list, past, nil
}

func truth(yes bool) int {
	if yes {
		return 1
	}
	return 0
}

func slugsOf(rows []graph.Entity) []string {
	list := make([]string, len(rows))
	for i, e := range rows {
		list[i] = e.Slug
	}
	return list
}

// withLinks adds to entities their surest relations with others that are seen.
func (g ground) withLinks(ctx context.Context, list []graph.Entity) ([]knowledge.Hit, error) {
	hits := make([]knowledge.Hit, 0, len(list))
	for chunk := range slices.Chunk(list, graph.LinksOf) {
		links, more, err := g.Links(ctx, slugsOf(chunk), linksShown)
		if err != nil {
			return nil, err
		}
		var ends []string
		for _, r := range links {
			ends = append(ends, r.Source, r.Target)
		}
		there, err := g.Entities(ctx, ends)
		if err != nil {
			return nil, err
		}
		slices.SortStableFunc(links, func(a, b graph.Relation) int { return cmp.Compare(b.Confidence, a.Confidence) })
		for _, e := range chunk {
			hit := knowledge.Hit{Entity: e, More: more && len(chunk) == 1}
			for _, r := range links {
				if r.Source != e.Slug && r.Target != e.Slug || there[r.Source].Slug == "" || there[r.Target].Slug == "" {
					continue
				}
				if len(hit.Links) == linksShown {
					hit.More = true
					break
				}
				hit.Links = append(hit.Links, r)
			}
			hits = append(hits, hit)
		}
	}
	return hits, nil
}
