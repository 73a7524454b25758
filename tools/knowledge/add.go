package knowledge

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// add writes down what an agent has learned.
type add struct{ graph Graph }

type addArgs struct {
	Entities  []map[string]any `json:"entities,omitempty" jsonschema:"{name, type, aliases, description, properties, confidence, valid_from, valid_to, origin}" alias:"nodes"`
	Relations []map[string]any `json:"relations,omitempty" jsonschema:"{source, type, target, confidence, properties, valid_from, valid_to, origin}; ends by name" alias:"edges"`
}

func (add) Spec() tool.Spec {
	return tool.Spec{
		Name: "knowledge_graph_add", Group: group, Title: "Add knowledge", Risk: tool.Writes, Hints: tool.Hints{Idempotent: true},
		Doc:  "Adds entities and relations, all or none; known ones are merged, the surer wins. Types such as person, project; works_on, part_of.",
		Also: []string{"create_entities", "create_relations"}, Keywords: "graph entity relation remember fact learn store upsert",
	}
}

// Bounds of one call.
const (
	mostEntities  = 100
	mostRelations = 200
	mostShownNew  = 12 // of which each is named that was created, and only that
)

func (t add) Do(ctx context.Context, a addArgs) (tool.Result, error) {
	switch {
	case len(a.Entities)+len(a.Relations) == 0:
		return tool.Result{}, tool.Errorf(tool.Invalid, "there is nothing to add").Try("send entities, relations or both")
	case len(a.Entities) > mostEntities || len(a.Relations) > mostRelations:
		return tool.Result{}, tool.Errorf(tool.TooLarge, "there are %d entities and %d relations, the most is %d and %d",
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
		return tool.Result{}, r.err
	}
	added, err := t.graph.Add(ctx, r.entities, r.relations)
	if err != nil {
		return tool.Result{}, err
	}
	return tool.Text(showAdded(added, r.notes)), nil
}

func showAdded(a Added, notes []string) string {
	var b strings.Builder
	if a.Change == 0 {
		b.WriteString("nothing changed: ")
	}
	same, created := 0, 0
	for _, one := range slices.Concat(a.Entities, a.Relations) {
		if one.plain() {
			created++
		}
		switch {
		case one.Action == "unchanged" && len(one.Kept) == 0:
			same++
		case !one.plain() || created <= mostShownNew:
			showOutcome(&b, one)
		}
	}
	if created > mostShownNew {
		fmt.Fprintf(&b, "created %d others\n", created-mostShownNew)
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
		fmt.Fprintf(&b, "change %d; knowledge_graph_remove with undo: %d takes it back\n", a.Change, a.Change)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// plain reports whether there is nothing to say of it but that it is new.
func (o Outcome) plain() bool {
	return o.Action == "created" && o.Also == "" && !o.Shared && len(o.Kept) == 0
}

// showOutcome writes what became of one report.
func showOutcome(b *strings.Builder, one Outcome) {
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
}
