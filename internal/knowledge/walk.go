package knowledge

import (
	"context"
	"slices"
	"strings"

	"github.com/mcp-tools/mcp-tools/tools/knowledge"
	"github.com/mcp-tools/mcp-tools/tools/knowledge/graph"
)

// Walk finds what can be reached from an entity. With a text, what is about it
// comes first.
func (g *Graph) Walk(ctx context.Context, q knowledge.Query) (walked knowledge.Walked, err error) {
	o, _, err := owner(ctx)
	if err != nil {
		return walked, err
	}
	about := map[string]bool{}
	if text := strings.TrimSpace(q.Text); text != "" && text != "*" {
		hits, _, err := g.search(ctx, o, q, mostFound)
		if err != nil {
			return walked, err
		}
		for _, hit := range hits {
			about[hit.ID] = true
		}
	}
	var missing error
	err = g.view(ctx, func(tx Tx) error {
		at, err := moment(tx, q.At)
		if err != nil {
			return err
		}
		var from graph.Entity
		if from, missing, err = resolve(tx, o, q.From); err != nil || missing != nil {
			return err
		}
		nodes, cut, err := graph.Walk(ctx, ground{tx, o, at}, from.Slug, q.Depth)
		if err != nil {
			return err
		}
		nodes = slices.DeleteFunc(nodes, func(n graph.Node) bool { return q.Type != "" && n.Entity.Type != q.Type })
		slices.SortStableFunc(nodes, func(a, b graph.Node) int { return truth(about[b.Entity.ID]) - truth(about[a.Entity.ID]) })
		walked = knowledge.Walked{From: from, Total: len(nodes), Cut: cut}
		walked.Nodes = nodes[min(q.Offset, len(nodes)):min(q.Offset+q.Limit, len(nodes))]
		return nil
	})
	if err == nil && missing != nil {
		err = g.suggest(ctx, o, q.From, missing)
	}
	return walked, err
}
