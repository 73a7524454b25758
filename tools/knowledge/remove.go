package knowledge

import (
	"context"
	"fmt"
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/tools/knowledge/graph"
)

// remove takes back what is wrong or known twice.
type remove struct{ graph Graph }

type removeArgs struct {
	Entity    string         `json:"entity,omitempty" jsonschema:"goes with its relations" alias:"name,entity_id" maxlen:"400"`
	MergeInto string         `json:"merge_into,omitempty" jsonschema:"entity that gets all that is known of it" alias:"into,mergeInto" maxlen:"400"`
	Relation  map[string]any `json:"relation,omitempty" jsonschema:"{source, type, target}"`
	Undo      int64          `json:"undo,omitempty" jsonschema:"change to take back" alias:"change"`
}

func (remove) Spec() tool.Spec {
	return tool.Spec{
		Name: "knowledge_graph_remove", Group: group, Title: "Remove knowledge", Risk: tool.Writes,
		Doc:  "Removes an entity or relation of yours, merges a duplicate, or undoes a change. Says the change, which can be undone.",
		Also: []string{"knowledge_graph_merge"}, Keywords: "graph entity relation forget delete duplicate undo",
	}
}

func (t remove) Do(ctx context.Context, a removeArgs) (tool.Result, error) {
	asked := 0
	for _, given := range []bool{a.Entity != "", a.Relation != nil, a.Undo != 0} {
		if given {
			asked++
		}
	}
	if asked != 1 || a.MergeInto != "" && a.Entity == "" {
		return tool.Result{}, tool.Errorf(tool.Invalid, "it takes one of entity, relation and undo").
			Try("send entity, or entity and merge_into, or relation, or undo")
	}
	done, err := t.do(ctx, a)
	if err != nil {
		return tool.Result{}, err
	}
	lines := append([]string{done.Summary}, done.Notes...)
	lines = append(lines, fmt.Sprintf("change %d; undo %d takes it back", done.Change, done.Change))
	return tool.Text(strings.Join(lines, "\n")), nil
}

func (t remove) do(ctx context.Context, a removeArgs) (Done, error) {
	switch {
	case a.Undo != 0:
		return t.graph.Undo(ctx, a.Undo)
	case a.MergeInto != "":
		return t.graph.Merge(ctx, graph.Line(a.Entity), graph.Line(a.MergeInto))
	case a.Entity != "":
		return t.graph.Remove(ctx, graph.Line(a.Entity))
	}
	r := reading{ctx: ctx}
	r.relation(0, a.Relation)
	if r.err != nil {
		return Done{}, r.err
	}
	return t.graph.Unlink(ctx, r.relations[0].Link())
}
