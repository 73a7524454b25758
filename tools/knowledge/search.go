package knowledge

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/mcp-tools/mcp-tools/index"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/tools/knowledge/graph"
)

// search is the tool that finds entities and their connections.
type search struct{ graph *Graph }

type searchArgs struct {
	Query  string `json:"query,omitempty" jsonschema:"name or words; empty or * lists all" alias:"q,text" maxlen:"4096"`
	Type   string `json:"entity_type,omitempty" jsonschema:"only entities of this type" alias:"type,entityType" maxlen:"200"`
	From   string `json:"from,omitempty" jsonschema:"entity whose connections to list" alias:"entity_id,entity,name,start" maxlen:"400"`
	Depth  int    `json:"depth,omitempty" jsonschema:"relations to follow, 1 to 5" alias:"max_depth,maxDepth"`
	At     string `json:"at,omitempty" jsonschema:"time at which it must be true" alias:"valid_at,time" maxlen:"64"`
	Limit  int    `json:"limit,omitempty" jsonschema:"entities to return" alias:"max_results,maxResults,count"`
	Offset int    `json:"offset,omitempty" jsonschema:"entities to skip" alias:"skip"`
}

func (search) Spec() tool.Spec {
	return tool.Spec{
		Name: "knowledge_graph_search", Group: group, Title: "Search knowledge",
		Risk: tool.Reads, Hints: tool.Hints{Idempotent: true}, Viewed: true,
		Doc: `Finds entities by name or words, each with its most certain relations.
With from, lists neighbours of an entity, strongest first. For notes use memory_search.`,
		Also: []string{"search_nodes", "read_graph"},
		Keywords: "graph entity relation who knows works connected related neighbours everyone facts about person " +
			"company project",
		Output: foundGraph{},
	}
}

const (
	defaultLimit = 20
	maxLimit     = 100
	defaultDepth = 2
	maxOffset    = 100_000
)

func (t search) Do(ctx context.Context, a searchArgs) (tool.Result, error) {
	q, err := a.parse()
	if err != nil {
		return tool.Result{}, err
	}
	if q.From != "" {
		walked, err := t.graph.Walk(ctx, q)
		if err != nil {
			return tool.Result{}, err
		}
		res := tool.Text(formatWalked(walked, q)).With(walkedGraph(walked, q))
		if tool.Viewed(ctx) {
			res = res.Showing(walked.view(q))
		}
		return res, nil
	}
	found, err := t.graph.Find(ctx, q)
	if err != nil {
		return tool.Result{}, err
	}
	res := tool.Text(formatFound(found, q)).With(graphOf(found))
	if tool.Viewed(ctx) {
		shown := found.view(q)
		if len(shown.Nodes) == 0 {
			shown.Note = res.Text()
		}
		res = res.Showing(shown)
	}
	return res, nil
}

func (a searchArgs) parse() (Query, error) {
	q := Query{
		Text: graph.CleanLine(a.Query), From: graph.CleanLine(a.From), Type: graph.TypeName(a.Type),
		Depth: bounded(a.Depth, defaultDepth, graph.MaxDepth), Limit: bounded(a.Limit, defaultLimit, maxLimit),
		Offset: min(max(a.Offset, 0), maxOffset),
	}
	if strings.TrimSpace(a.Type) != "" && q.Type == "" {
		return q, invalidType(a.Type, graph.EntityTypes())
	}
	if a.At != "" && a.At != "now" {
		at, _, err := parsePeriod(a.At)
		if err != nil {
			return q, err
		}
		ms := at.UnixMilli()
		q.At = &ms
	}
	return q, nil
}

func bounded(n, fallback, limit int) int {
	if n <= 0 {
		return fallback
	}
	return min(n, limit)
}

// A Query selects entities.
type Query struct {
	Text   string
	Type   string // "" means any
	From   string // where a walk begins
	Depth  int    // how many relations a walk follows
	At     *int64 // when it must be true, in milliseconds since 1970; nil is now
	Limit  int
	Offset int
}

// Found is the result of [Graph.Find], the best first.
type Found struct {
	Hits  []Hit
	More  bool
	Stale bool // the newest entities may be missing
	// If there are no hits, OtherTimes are entities that would be found at another time, and Examples some that exist.
	OtherTimes []graph.Entity
	Examples   []graph.Entity
}

// A Hit is an entity with its most certain relations.
type Hit struct {
	Entity    graph.Entity
	Relations []graph.Relation
	More      bool                    // it has other relations
	Ends      map[string]graph.Entity // of the relations, by slug
}

const (
	maxHits           = 500 // that Find considers
	extraHits         = 50  // considered beyond the limit, because some are not valid
	maxShownRelations = 5   // of each hit
	maxExamples       = 10
	maxOtherTimes     = 5

	wholeGraph = "*" // a query for all entities
)

// Find finds entities by their words, or lists all for the text "*". Entities with exactly the
// given name come first.
func (g *Graph) Find(ctx context.Context, q Query) (found Found, err error) {
	o, err := tool.OwnerFrom(ctx)
	if err != nil {
		return found, err
	}
	if q.Text == "" || q.Text == wholeGraph {
		return g.list(ctx, o, q)
	}
	result, fresh, err := g.searchIndex(ctx, o, q, min(q.Offset+q.Limit+extraHits, maxHits))
	if err != nil {
		return found, err
	}
	err = g.view(ctx, func(r rows) error {
		v, err := r.visibleTo(o, q.At)
		if err != nil {
			return err
		}
		list, otherTimes, err := v.rank(ctx, q, result)
		if err != nil {
			return err
		}
		var asked map[string][]graph.Relation
		if q.Type == "" {
			if list, asked, err = v.answer(ctx, q.Text, list); err != nil {
				return err
			}
		}
		found = Found{Stale: !fresh, More: len(list) > q.Offset+q.Limit}
		list = page(list, q)
		if len(list) == 0 && q.Offset == 0 {
			if found.OtherTimes = otherTimes; len(otherTimes) > 0 {
				return nil
			}
			found.Examples, err = r.byConfidence(o, q.Type, v.at, maxExamples, 0)
			return err
		}
		found.Hits, err = v.withRelations(ctx, list, asked)
		return err
	})
	return found, err
}

func page[T any](list []T, q Query) []T {
	return list[min(q.Offset, len(list)):min(q.Offset+q.Limit, len(list))]
}

func (g *Graph) list(ctx context.Context, o tool.Owner, q Query) (found Found, err error) {
	err = g.view(ctx, func(r rows) error {
		v, err := r.visibleTo(o, q.At)
		if err != nil {
			return err
		}
		list, err := r.byConfidence(o, q.Type, v.at, q.Limit+1, q.Offset)
		if err != nil {
			return err
		}
		found = Found{More: len(list) > q.Limit}
		list = list[:min(q.Limit, len(list))]
		resolved, err := v.Entities(ctx, slugsOf(list))
		if err != nil {
			return err
		}
		for i, e := range list {
			list[i] = resolved[e.Slug]
		}
		found.Hits, err = v.withRelations(ctx, list, nil)
		return err
	})
	return found, err
}

func (g *Graph) searchIndex(ctx context.Context, o tool.Owner, q Query, limit int) (index.Result, bool, error) {
	query := index.Query{Text: q.Text, Scopes: scopes(o), Kinds: []string{topic}, Limit: limit}
	if q.Type != "" {
		query.Tags = []string{q.Type}
	}
	result, fresh, err := g.searcher.Search(ctx, query)
	if err != nil {
		return result, false, tool.Errorf(tool.Unavailable, "the search index of the knowledge graph is not available").
			Try("search again later, or list all entities with query *").Because(err)
	}
	return result, fresh, nil
}

// visible is the part of the graph that an owner sees at a moment. It is the [graph.Reader] of
// walks.
type visible struct {
	rows
	owner tool.Owner
	at    int64
}

// visibleTo returns the part of the graph that an owner sees at a moment; nil is now.
func (r rows) visibleTo(o tool.Owner, at *int64) (v visible, err error) {
	v = visible{rows: r, owner: o}
	if at != nil {
		v.at = *at
		return v, nil
	}
	v.at, err = r.Now()
	return v, err
}

func (v visible) Relations(ctx context.Context, slugs []string, limit int) ([]graph.Relation, bool, error) {
	if err := context.Cause(ctx); err != nil {
		return nil, false, err
	}
	return v.relationsAt(v.owner, slugs, limit, v.at)
}

func (v visible) Entities(_ context.Context, slugs []string) (map[string]graph.Entity, error) {
	list, err := v.bySlug(v.owner, slugs)
	found := graph.Resolve(list)
	for slug, e := range found {
		if !e.Valid.Contains(v.at) {
			delete(found, slug)
		}
	}
	return found, err
}

// rank returns the found entities in the order of the result: first the entities with exactly
// the given name, then by score. If no hit has a word of the query, entities with a similar
// name are found too. OtherTimes are entities that are not true at the moment.
func (v visible) rank(ctx context.Context, q Query, result index.Result) (list, otherTimes []graph.Entity, err error) {
	named, err := v.byName(v.owner, []string{graph.Slug(q.Text)})
	if err != nil {
		return nil, nil, err
	}
	scores := map[string]float64{} // by id
	var ids []string
	for _, hit := range result.Hits {
		ids = append(ids, hit.ID)
		scores[hit.ID] = hit.Score
	}
	if words, missing := missingWords(q.Text, result.Hits); len(missing) > 0 && len(named) == 0 {
		near, err := v.nearNames(v.owner, words, missing)
		if err != nil {
			return nil, nil, err
		}
		nearest := slices.SortedFunc(maps.Keys(near), func(a, b string) int {
			return cmp.Or(cmp.Compare(near[b], near[a]), cmp.Compare(a, b))
		})
		for _, id := range nearest[:min(len(nearest), maxLimit)] {
			ids = append(ids, id)
			scores[id] = max(scores[id], near[id]*max(result.MaxScore, 1))
		}
	}
	matches, err := v.byID(v.owner, ids)
	if err != nil {
		return nil, nil, err
	}
	best, exact := map[string]float64{}, map[string]bool{} // by slug
	for _, e := range matches {
		best[e.Slug] = max(best[e.Slug], scores[e.ID])
	}
	for _, e := range named {
		exact[e.Slug] = true
	}
	found, err := v.Entities(ctx, append(slugsOf(named), slugsOf(matches)...))
	if err != nil {
		return nil, nil, err
	}
	for _, e := range slices.Concat(named, matches) {
		_, isFound := found[e.Slug]
		isListed := slices.Contains(slugsOf(otherTimes), e.Slug)
		if !isFound && !isListed && !e.Valid.Contains(v.at) && len(otherTimes) < maxOtherTimes {
			otherTimes = append(otherTimes, e)
		}
	}
	for _, e := range found {
		if q.Type == "" || e.Type == q.Type {
			list = append(list, e)
		}
	}
	slices.SortStableFunc(list, func(a, b graph.Entity) int {
		return cmp.Or(compareBool(exact[b.Slug], exact[a.Slug]), cmp.Compare(best[b.Slug], best[a.Slug]),
			compareBool(a.Shared(), b.Shared()), cmp.Compare(b.Confidence, a.Confidence), cmp.Compare(a.Slug, b.Slug))
	})
	return list, otherTimes, nil
}

// compareBool orders false before true.
func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

// withRelations adds to entities the relations that were asked for, by slug, and their most certain relations with
// visible entities.
func (v visible) withRelations(
	ctx context.Context, list []graph.Entity, asked map[string][]graph.Relation,
) ([]Hit, error) {
	hits := make([]Hit, 0, len(list))
	for chunk := range slices.Chunk(list, graph.MaxBatch) {
		relations, more, err := v.Relations(ctx, slugsOf(chunk), maxShownRelations)
		if err != nil {
			return nil, err
		}
		var ends []string
		for _, r := range slices.Concat(append(slices.Collect(maps.Values(asked)), relations)...) {
			ends = append(ends, r.Source, r.Target)
		}
		existing, err := v.Entities(ctx, ends)
		if err != nil {
			return nil, err
		}
		slices.SortStableFunc(relations, func(a, b graph.Relation) int {
			return cmp.Compare(b.Confidence, a.Confidence)
		})
		for _, e := range chunk {
			hit := Hit{Entity: e, More: more && len(chunk) == 1, Ends: existing, Relations: asked[e.Slug]}
			for _, r := range relations {
				dangling := existing[r.Source].Slug == "" || existing[r.Target].Slug == ""
				shown := slices.ContainsFunc(asked[e.Slug], func(a graph.Relation) bool { return a.ID == r.ID })
				if r.Source != e.Slug && r.Target != e.Slug || dangling || shown {
					continue
				}
				if len(hit.Relations) >= maxShownRelations {
					hit.More = true
					break
				}
				hit.Relations = append(hit.Relations, r)
			}
			hits = append(hits, hit)
		}
	}
	return hits, nil
}

// Walked is the result of [Graph.Walk], the strongest first.
type Walked struct {
	From      graph.Entity
	Nodes     []graph.Node
	Reached   map[string]graph.Entity // all, by slug
	Total     int                     // nodes without limit and offset
	Truncated bool                    // a limit kept the walk from reading everything
}

// Walk finds the entities in reach of an entity. With a text, entities that match it come
// first.
func (g *Graph) Walk(ctx context.Context, q Query) (walked Walked, err error) {
	o, err := tool.OwnerFrom(ctx)
	if err != nil {
		return walked, err
	}
	matches := map[string]bool{} // by id
	if q.Text != "" && q.Text != wholeGraph {
		result, _, err := g.searchIndex(ctx, o, q, maxHits)
		if err != nil {
			return walked, err
		}
		for _, hit := range result.Hits {
			matches[hit.ID] = true
		}
	}
	err = g.view(ctx, func(r rows) error {
		v, err := r.visibleTo(o, q.At)
		if err != nil {
			return err
		}
		from, err := r.resolve(o, q.From)
		if err != nil {
			return err
		}
		nodes, truncated, err := graph.Walk(ctx, v, from.Slug, q.Depth)
		if err != nil {
			return err
		}
		reached := map[string]graph.Entity{from.Slug: from}
		for _, n := range nodes {
			reached[n.Entity.Slug] = n.Entity
		}
		nodes = slices.DeleteFunc(nodes, func(n graph.Node) bool { return q.Type != "" && n.Entity.Type != q.Type })
		slices.SortStableFunc(nodes, func(a, b graph.Node) int {
			return compareBool(matches[b.Entity.ID], matches[a.Entity.ID])
		})
		walked = Walked{From: from, Total: len(nodes), Truncated: truncated, Nodes: page(nodes, q), Reached: reached}
		return nil
	})
	return walked, g.suggest(ctx, o, err)
}
