package knowledge

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/tools/knowledge/graph"
)

// add is the tool that stores entities and relations.
type add struct{ graph *Graph }

type addArgs struct {
	Entities  []entityArgs   `json:"entities,omitempty" jsonschema:"entities to store" alias:"nodes" maxitems:"100"`
	Relations []relationArgs `json:"relations,omitempty" jsonschema:"relations between stored or given entities" alias:"edges" maxitems:"200"`
}

func (add) Spec() tool.Spec {
	return tool.Spec{
		Name: "knowledge_graph_add", Group: group, Title: "Add knowledge",
		Risk: tool.Writes, Hints: tool.Hints{Idempotent: true},
		Doc: `Stores entities and relations, all or none. Known ones are merged by certainty.
Returns the changes and a number for undo. For notes use memory_store.`,
		Also: []string{"create_entities", "create_relations"},
		Keywords: "graph entity relation remember record note fact is works runs lives belongs manager of person " +
			"company server place learn store upsert",
	}
}

func (t add) Do(ctx context.Context, a addArgs) (tool.Result, error) {
	r, err := a.parse()
	if err != nil {
		return tool.Result{}, err
	}
	added, err := t.graph.Add(ctx, r.entities, r.relations)
	if err != nil {
		return tool.Result{}, err
	}
	return tool.Text(formatAdded(added, r.notes)), nil
}

func (a addArgs) parse() (r reports, err error) {
	if len(a.Entities)+len(a.Relations) == 0 {
		return r, tool.Errorf(tool.Invalid, "there is nothing to add").Try("send entities, relations or both")
	}
	for i, e := range a.Entities {
		if err := r.addEntity(fmt.Sprintf("entities[%d]", i), e); err != nil {
			return r, err
		}
	}
	for i, relation := range a.Relations {
		if err := r.addRelation(fmt.Sprintf("relations[%d]", i), relation); err != nil {
			return r, err
		}
	}
	return r, nil
}

// Added is the result of [Graph.Add]. The outcomes are in the order of the reports.
type Added struct {
	Change     int64 // 0 if everything was known
	Entities   []Outcome
	Relations  []Outcome
	Duplicates map[string][]graph.Entity // by slug of a new entity: entities that may be the same
}

// An Outcome is the effect of one report.
type Outcome struct {
	Subject     string // slug of the entity, or key of the relation
	Action      string // created, updated or unchanged
	ReportedAs  string // the reported name, if it is an alias
	SharedToo   bool   // all users of the agent have an entity of this slug
	KeptCertain []string
}

// plain reports whether the outcome is a new entity or relation with nothing special about it.
func (o Outcome) plain() bool {
	return o.Action == "created" && o.ReportedAs == "" && !o.SharedToo && len(o.KeptCertain) == 0
}

// maxListedNew is how many plain outcomes formatAdded names. It counts the others.
const maxListedNew = 12

func formatAdded(a Added, notes []string) string {
	var b strings.Builder
	if a.Change == 0 {
		b.WriteString("nothing changed: ")
	}
	unchanged, created := 0, 0
	for _, one := range slices.Concat(a.Entities, a.Relations) {
		if one.plain() {
			created++
		}
		switch {
		case one.Action == "unchanged" && len(one.KeptCertain) == 0:
			unchanged++
		case !one.plain() || created <= maxListedNew:
			one.format(&b)
		}
	}
	if created > maxListedNew {
		fmt.Fprintf(&b, "created %d more\n", created-maxListedNew)
	}
	if unchanged > 0 {
		fmt.Fprintf(&b, "%d already known\n", unchanged)
	}
	for _, slug := range slices.Sorted(maps.Keys(a.Duplicates)) {
		fmt.Fprintf(&b, "%s may be the same as %s; to merge it use knowledge_graph_remove with merge_into\n",
			slug, slugsAndTypes(a.Duplicates[slug]))
	}
	for _, note := range notes {
		b.WriteString(note + "\n")
	}
	if a.Change != 0 {
		fmt.Fprintf(&b, "change %d; to undo it use knowledge_graph_remove with undo %d\n", a.Change, a.Change)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func (o Outcome) format(b *strings.Builder) {
	b.WriteString(o.Action + " " + o.Subject)
	if o.ReportedAs != "" {
		fmt.Fprintf(b, ", which has the alias %q", o.ReportedAs)
	}
	if o.SharedToo {
		b.WriteString(", your own version of a shared entity")
	}
	if len(o.KeptCertain) > 0 {
		fmt.Fprintf(b, "; kept the more certain %s", strings.Join(o.KeptCertain, ", "))
	}
	b.WriteByte('\n')
}

// slugsAndTypes returns "ada-lovelace (person), charles-babbage (person)".
func slugsAndTypes(list []graph.Entity) string {
	names := make([]string, len(list))
	for i, e := range list {
		names[i] = fmt.Sprintf("%s (%s)", e.Slug, e.Type)
	}
	return strings.Join(names, ", ")
}

const (
	defaultConfidence = 0.8
	defaultType       = "concept"
	maxCompared       = 20 // new entities that Add compares with others
)

// Add merges reports into the caller's knowledge, all or none. Reports name entities by name,
// alias or slug; zero values mean "not given". Relations may end at shared entities; everything
// that is written belongs to the caller.
func (g *Graph) Add(ctx context.Context, entities []graph.Entity, relations []graph.Relation) (added Added, err error) {
	var a *adding
	g.adding.Add(1)
	defer g.adding.Add(-1)
	err = g.change(ctx, func(c *change) (string, error) {
		added = Added{Change: c.number}
		a = &adding{change: c, own: map[string]graph.Entity{}, shared: map[string]graph.Entity{}, result: &added}
		if err := a.load(entities, relations); err != nil {
			return "", err
		}
		for _, e := range entities {
			if err := a.addEntity(e); err != nil {
				return "", err
			}
		}
		err := a.addRelations(relations)
		return added.summary(), err
	})
	if errors.Is(err, errUnchanged) {
		added.Change = 0
		return added, nil
	}
	if err != nil {
		return added, err
	}
	added.Duplicates = g.duplicates(ctx, a.owner, a.created)
	return added, nil
}

// maxComparing is the maximum number of concurrent calls of Add that also search for duplicates by words: the
// search waits for the index. More calls compare names only.
const maxComparing = 4

// duplicates returns entities that new ones may be the same as. The new ones are stored already, so an error only
// ends the search.
func (g *Graph) duplicates(ctx context.Context, o tool.Owner, created []graph.Entity) map[string][]graph.Entity {
	found := map[string][]graph.Entity{}
	byWords := g.adding.Load() <= maxComparing
	for _, e := range created[:min(len(created), maxCompared)] {
		list, fresh, err := g.similar(ctx, o, e.Name, similarOptions{strict: true, byWords: byWords})
		if err != nil {
			break
		}
		byWords = byWords && fresh // wait for the index at most once
		if len(list) > 0 {
			found[e.Slug] = list
		}
	}
	return found
}

func (a Added) summary() string {
	var subjects []string
	for _, one := range slices.Concat(a.Entities, a.Relations) {
		if one.Action != "unchanged" {
			subjects = append(subjects, one.Subject)
		}
	}
	summary := "added " + strings.Join(subjects[:min(len(subjects), 3)], ", ")
	if more := len(subjects) - 3; more > 0 {
		summary += fmt.Sprintf(" and %d more", more)
	}
	return summary
}

// adding is a change that adds reports. It looks up each name once and remembers the rows that
// it writes.
type adding struct {
	*change
	named   []graph.Entity          // entities that have one of the names
	own     map[string]graph.Entity // by slug
	shared  map[string]graph.Entity // by slug
	created []graph.Entity          // new ones without a shared entity of the same slug
	result  *Added
}

func (a *adding) load(entities []graph.Entity, relations []graph.Relation) (err error) {
	var slugs []string
	for _, e := range entities {
		slugs = append(slugs, graph.Slug(e.Name))
	}
	for _, r := range relations {
		slugs = append(slugs, graph.Slug(r.Source), graph.Slug(r.Target))
	}
	slices.Sort(slugs)
	slugs = slices.Compact(slugs)
	if a.named, err = a.byName(a.owner, slugs); err != nil {
		return err
	}
	list, err := a.bySlug(a.owner, append(slugs, slugsOf(a.named)...))
	for _, e := range list {
		if e.Owner == a.owner {
			a.own[e.Slug] = e
		} else {
			a.shared[e.Slug] = e
		}
	}
	return err
}

// slug returns the slug of the entity that a report means: the one with the slug of its name or, unless the report has
// another type, the only one with its name as an alias.
func (a *adding) slug(report graph.Entity) string {
	slug := graph.Slug(report.Name)
	if meant := candidates(slug, a.named); len(meant) == 1 {
		e, ok := a.own[meant[0]]
		if !ok {
			e, ok = a.shared[meant[0]]
		}
		if ok && (e.Slug == slug || report.Type == "" || report.Type == e.Type) {
			return e.Slug
		}
	}
	return slug
}

// addEntity merges a report into the entity of the report. Parts that only documents reported
// before become the caller's.
func (a *adding) addEntity(report graph.Entity) error {
	slug := a.slug(report)
	if report.Confidence == 0 {
		report.Confidence = defaultConfidence
	}
	own, known := a.own[slug]
	shared, isShared := a.shared[slug]
	outcome := Outcome{Subject: slug, Action: "updated", SharedToo: isShared && !known}
	if slug != graph.Slug(report.Name) {
		outcome.ReportedAs = report.Name
	}
	old, merged := &own, graph.Entity{}
	if known {
		merged, outcome.KeptCertain = own.Merge(report)
		if reflect.DeepEqual(merged, own) && own.Provenance.Author != fromDocuments {
			outcome.Action = "unchanged"
			a.result.Entities = append(a.result.Entities, outcome)
			return nil
		}
		merged.Provenance = a.updated(merged.Provenance)
	} else {
		outcome.Action, old = "created", nil
		merged = a.newEntity(slug, report, shared)
		if !isShared {
			a.created = append(a.created, merged)
		}
	}
	a.result.Entities = append(a.result.Entities, outcome)
	err := a.setEntity(old, &merged)
	a.own[slug] = merged
	a.named = append(slices.DeleteFunc(a.named, func(e graph.Entity) bool { return e.ID == merged.ID }), merged)
	return err
}

// newEntity makes an entity of the caller from a report and the shared entity of the same slug, if there is one.
func (a *adding) newEntity(slug string, report, shared graph.Entity) graph.Entity {
	e := graph.Entity{Name: report.Name, Type: defaultType, Slug: slug, Valid: graph.Always()}
	if shared.Slug != "" {
		e.Name, e.Type = shared.Name, shared.Type
	}
	if report.Type != "" {
		e.Type = report.Type
	}
	e, _ = e.Merge(report)
	e.ID, e.Owner, e.Provenance = store.NewID(), a.owner, a.provenance
	e.Provenance.Source = report.Provenance.Source
	return e
}

// addRelations adds relations. If entities are missing the error names them all.
func (a *adding) addRelations(reports []graph.Relation) error {
	var unknown []string
	for _, r := range reports {
		for _, end := range []*string{&r.Source, &r.Target} {
			switch meant := candidates(graph.Slug(*end), a.named); {
			case len(meant) > 1:
				return ambiguous(*end, meant)
			case len(meant) == 1:
				*end = meant[0]
			case !slices.Contains(unknown, *end):
				unknown = append(unknown, *end)
			}
		}
		if len(unknown) > 0 {
			continue
		}
		if r.Source == r.Target {
			return tool.Errorf(tool.Invalid, "%s cannot have a relation to itself", r.Source).
				Try("name two different entities")
		}
		if err := a.addRelation(r); err != nil {
			return err
		}
	}
	if len(unknown) > 0 {
		return unknownEnds(unknown)
	}
	return nil
}

func unknownEnds(names []string) error {
	const maxNames = 5
	var quoted []string
	for _, name := range names[:min(len(names), maxNames)] {
		quoted = append(quoted, fmt.Sprintf("%q", name))
	}
	list := strings.Join(quoted, ", ")
	if more := len(names) - maxNames; more > 0 {
		list += fmt.Sprintf(" and %d more", more)
	}
	return tool.Errorf(tool.NotFound, "there is no entity %s; nothing was added", list).
		Try("add them as entities in the same call, or use the names of known entities")
}

func (a *adding) addRelation(report graph.Relation) error {
	if report.Confidence == 0 {
		report.Confidence = defaultConfidence
	}
	outcome := Outcome{Subject: report.Key().String(), Action: "updated"}
	found, err := a.ownRelation(a.owner, report.Key())
	if err != nil {
		return err
	}
	var old *graph.Relation
	merged := graph.Relation{Source: report.Source, Type: report.Type, Target: report.Target, Valid: graph.Always()}
	if len(found) > 0 {
		old = &found[0]
		merged, outcome.KeptCertain = old.Merge(report)
		if reflect.DeepEqual(merged, *old) && old.Provenance.Author != fromDocuments {
			outcome.Action = "unchanged"
			a.result.Relations = append(a.result.Relations, outcome)
			return nil
		}
		merged.Provenance = a.updated(merged.Provenance)
	} else {
		outcome.Action = "created"
		merged, _ = merged.Merge(report)
		merged.ID, merged.Owner, merged.Provenance = store.NewID(), a.owner, a.provenance
		merged.Provenance.Source = report.Provenance.Source
	}
	a.result.Relations = append(a.result.Relations, outcome)
	return a.setRelation(old, &merged)
}
