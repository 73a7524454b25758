package knowledge

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mcp-tools/mcp-tools/tools"
)

// add writes down what an agent has learned.
type add struct{ graph Graph }

type addArgs struct {
	Entities  []map[string]any `json:"entities,omitempty" jsonschema:"{name, type, aliases, description, properties, confidence, valid_from, valid_to, origin}" alias:"nodes"`
	Relations []map[string]any `json:"relations,omitempty" jsonschema:"{source, type, target, confidence, properties, valid_from, valid_to, origin}; ends by name" alias:"edges"`
}

func (add) Spec() tools.Spec {
	return tools.Spec{
		Name: "knowledge_graph_add", Group: group, Title: "Add knowledge", Risk: tools.Writes, Hints: tools.Hints{Idempotent: true},
		Doc:  "Adds entities and relations, all or none; known ones are merged, the surer wins. Types such as person, project; works_on, part_of.",
		Also: []string{"create_entities", "create_relations"}, Keywords: "graph entity relation remember fact learn store upsert",
	}
}

// Bounds of one call.
const (
	mostEntities  = 100
	mostRelations = 200
)

func (t add) Do(ctx context.Context, a addArgs) (tools.Result, error) {
	switch {
	case len(a.Entities)+len(a.Relations) == 0:
		return tools.Result{}, tools.Errorf(tools.Invalid, "there is nothing to add").Try("send entities, relations or both")
	case len(a.Entities) > mostEntities || len(a.Relations) > mostRelations:
		return tools.Result{}, tools.Errorf(tools.TooLarge, "there are %d entities and %d relations, the most is %d and %d",
			len(a.Entities), len(a.Relations), mostEntities, mostRelations).Try("add them in several calls")
	}
	r := reading{ctx: ctx}
	for i, object := range a.Entities {
		r.entity(i, object)
	}
	for i, object := range a.Relations {
		r.relation(i, object)
	}
	if r.err != nil {
		return tools.Result{}, r.err
	}
	added, err := t.graph.Add(ctx, r.entities, r.relations)
	if err != nil {
		return tools.Result{}, err
	}
	return tools.Text(showAdded(added, r.notes)), nil
}

func showAdded(a Added, notes []string) string {
	var b strings.Builder
	if a.Change == 0 {
		b.WriteString("nothing changed: ")
	}
	same := 0
	for _, list := range [][]Outcome{a.Entities, a.Relations} {
		for _, one := range list {
			same += showOutcome(&b, one)
		}
	}
	if same > 0 {
		fmt.Fprintf(&b, "%d already known\n", same)
	}
	for _, slug := range slices.Sorted(maps.Keys(a.Alike)) {
		var names []string
		for _, e := range a.Alike[slug] {
			names = append(names, fmt.Sprintf("%s (%s)", e.Slug, e.Type))
		}
		fmt.Fprintf(&b, "%s may be the same as %s: if it is, knowledge_graph_remove with merge_into\n", slug, strings.Join(names, ", "))
	}
	for _, note := range notes {
		b.WriteString(note + "\n")
	}
	if a.Change != 0 {
		fmt.Fprintf(&b, "change %d; knowledge_graph_remove undoes it\n", a.Change)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// showOutcome writes what became of one report, or counts it as known.
func showOutcome(b *strings.Builder, one Outcome) (same int) {
	if one.Action == "unchanged" && len(one.Kept) == 0 {
		return 1
	}
	b.WriteString(one.Action + " " + one.Text)
	if one.Also != "" {
		fmt.Fprintf(b, ", which is what %q is called", one.Also)
	}
	if one.Shared {
		b.WriteString(", beside what all users share of it")
	}
	if len(one.Kept) > 0 {
		fmt.Fprintf(b, "; kept its surer %s", strings.Join(one.Kept, ", "))
	}
	b.WriteByte('\n')
	return 0
}
