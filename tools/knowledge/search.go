package knowledge

import (
	"context"
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/tools/knowledge/graph"
)

// search finds entities, and what is related to one.
type search struct{ graph Graph }

type searchArgs struct {
	Query  string `json:"query,omitempty" jsonschema:"words or name; * lists" alias:"q,text" maxlen:"4096"`
	Type   string `json:"entity_type,omitempty" jsonschema:"such as person" alias:"type,entityType" maxlen:"200"`
	From   string `json:"from,omitempty" jsonschema:"entity to walk from" alias:"entity_id,entity,name,start" maxlen:"400"`
	Depth  int    `json:"depth,omitempty" jsonschema:"1-5, usually 2" alias:"max_depth,maxDepth"`
	At     string `json:"at,omitempty" jsonschema:"date; now" alias:"valid_at,time" maxlen:"64"`
	Limit  int    `json:"limit,omitempty" jsonschema:"entities" alias:"max_results,maxResults,count"`
	Offset int    `json:"offset,omitempty" jsonschema:"to skip" alias:"skip"`
}

func (search) Spec() tool.Spec {
	return tool.Spec{
		Name: "knowledge_graph_search", Group: group, Title: "Search knowledge", Risk: tool.Reads, Hints: tool.Hints{Idempotent: true},
		Doc:  "Finds entities with their relations, or what is connected to one. Notes: memory_search.",
		Also: []string{"search_nodes", "read_graph"}, Keywords: "graph entity relation who knows works connected neighbours facts",
	}
}

const (
	usualLimit = 20
	mostLimit  = 100
	usualDepth = 2
	mostOffset = 100_000
)

func (t search) Do(ctx context.Context, a searchArgs) (tool.Result, error) {
	q := Query{
		Text: graph.Line(a.Query), From: graph.Line(a.From), Type: graph.TypeName(a.Type),
		Depth: bounded(a.Depth, usualDepth, graph.MostDepth), Limit: bounded(a.Limit, usualLimit, mostLimit),
		Offset: min(max(a.Offset, 0), mostOffset),
	}
	if strings.TrimSpace(a.Type) != "" && q.Type == "" {
		return tool.Result{}, badType(a.Type, graph.EntityTypes())
	}
	if a.At != "" && a.At != "now" {
		at, _, err := period(a.At)
		if err != nil {
			return tool.Result{}, err
		}
		ms := at.UnixMilli()
		q.At = &ms
	}
	if q.From != "" {
		walked, err := t.graph.Walk(ctx, q)
		if err != nil {
			return tool.Result{}, err
		}
		return tool.Text(showWalk(walked, q)), nil
	}
	found, err := t.graph.Find(ctx, q)
	if err != nil {
		return tool.Result{}, err
	}
	return tool.Text(showFound(found, q)), nil
}

// bounded is a number that was asked for, within bounds.
func bounded(n, usual, most int) int {
	if n <= 0 {
		return usual
	}
	return min(n, most)
}
