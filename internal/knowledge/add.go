package knowledge

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/tools/knowledge"
	"github.com/mcp-tools/mcp-tools/tools/knowledge/graph"
)

const (
	usualConfidence = 0.8 // of who does not say how sure they are
	usualType       = "concept"
	mostCompared    = 20 // new entities that are compared with others
)

// errSame ends a transaction in which nothing would change.
var errSame = errors.New("nothing changed")

// Add adds what was reported. Relations may end at what is shared; what is
// written is always the caller's own.
func (g *Graph) Add(ctx context.Context, entities []graph.Entity, relations []graph.Relation) (added knowledge.Added, err error) {
	o, trace, err := owner(ctx)
	if err != nil {
		return added, err
	}
	var a *adding
	err = g.update(ctx, func(tx Tx) (err error) {
		added = knowledge.Added{}
		a, err = g.begin(tx, o, trace)
		if err != nil {
			return err
		}
		if err := a.load(entities, relations); err != nil {
			return err
		}
		for _, e := range entities {
			if err := a.entity(e, &added); err != nil {
				return err
			}
		}
		if err := a.relations(relations, &added); err != nil {
			return err
		}
		added.Change = a.number
		return a.end(sumUp(added))
	})
	if errors.Is(err, errSame) {
		added.Change = 0
		return added, nil
	}
	if err != nil {
		return added, err
	}
	added.Alike = g.twins(ctx, o, a.fresh)
	return added, nil
}

// twins are entities that new ones may be the same as. What was added is added,
// so an error only leaves them out.
func (g *Graph) twins(ctx context.Context, o graph.Owner, fresh []graph.Entity) map[string][]graph.Entity {
	twins := map[string][]graph.Entity{}
	l := likeness{near: true, words: true}
	for _, e := range fresh[:min(len(fresh), mostCompared)] {
		like, caughtUp, err := g.alike(ctx, o, e.Name, l)
		if err != nil {
			break
		}
		l.words = l.words && caughtUp // who had to wait once does not wait again
		if len(like) > 0 {
			twins[e.Slug] = like
		}
	}
	return twins
}

func sumUp(a knowledge.Added) string {
	var names []string
	for _, list := range [][]knowledge.Outcome{a.Entities, a.Relations} {
		for _, one := range list {
			if one.Action != "unchanged" {
				names = append(names, one.Text)
			}
		}
	}
	text := "added " + strings.Join(names[:min(len(names), 3)], ", ")
	if more := len(names) - 3; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// adding is a change with what it has looked up of the names in it.
type adding struct {
	*change
	named  []graph.Entity          // that have one of the names
	own    map[string]graph.Entity // by slug
	shared map[string]graph.Entity
	fresh  []graph.Entity // that were not there before
}

func (g *Graph) begin(tx Tx, o graph.Owner, trace graph.Trace) (*adding, error) {
	c, err := begin(tx, o, trace)
	return &adding{change: c, own: map[string]graph.Entity{}, shared: map[string]graph.Entity{}}, err
}

// load looks up all names at once.
func (a *adding) load(entities []graph.Entity, relations []graph.Relation) (err error) {
	var names []string
	for _, e := range entities {
		names = append(names, graph.Slug(e.Name))
	}
	for _, r := range relations {
		names = append(names, graph.Slug(r.Source), graph.Slug(r.Target))
	}
	slices.Sort(names)
	names = slices.Compact(names)
	if a.named, err = a.tx.Named(a.owner, names); err != nil {
		return err
	}
	rows, err := a.tx.Entities(a.owner, append(names, slugsOf(a.named)...))
	for _, e := range rows {
		if e.Owner == a.owner {
			a.own[e.Slug] = e
		} else {
			a.shared[e.Slug] = e
		}
	}
	return err
}

// entity adds a report to what is known of the entity that it means: the one
// with its slug or, unless it says that it is of another type, the only one
// with its name for an alias.
func (a *adding) entity(report graph.Entity, added *knowledge.Added) error {
	slug := graph.Slug(report.Name)
	if means := meant(slug, a.named); len(means) == 1 {
		if e, ok := a.seen(means[0]); ok && (e.Slug == slug || report.Type == "" || report.Type == e.Type) {
			slug = e.Slug
		}
	}
	if report.Confidence == 0 {
		report.Confidence = usualConfidence
	}
	own, known := a.own[slug]
	shared, both := a.shared[slug]
	outcome := knowledge.Outcome{Text: slug, Shared: both && !known}
	if slug != graph.Slug(report.Name) {
		outcome.Also = report.Name
	}
	if !known {
		base := graph.Entity{Name: report.Name, Type: usualType, Slug: slug, Valid: graph.Always()}
		if both {
			base.Name, base.Type = shared.Name, shared.Type
		}
		if report.Type != "" {
			base.Type = report.Type
		}
		made, _ := base.Merge(report)
		made.ID, made.Owner, made.Trace = a.tx.NewID(), a.owner, a.trace
		made.Trace.Source = report.Trace.Source
		outcome.Action = "created"
		added.Entities = append(added.Entities, outcome)
		if !both {
			a.fresh = append(a.fresh, made)
		}
		return a.write(nil, made)
	}
	merged, kept := own.Merge(report)
	outcome.Kept = kept
	if reflect.DeepEqual(merged, own) {
		outcome.Action = "unchanged"
		added.Entities = append(added.Entities, outcome)
		return nil
	}
	outcome.Action = "updated"
	added.Entities = append(added.Entities, outcome)
	merged.Trace = a.traced(merged.Trace)
	return a.write(&own, merged)
}

// seen is an entity as the owner sees it.
func (a *adding) seen(slug string) (graph.Entity, bool) {
	if e, ok := a.own[slug]; ok {
		return e, true
	}
	e, ok := a.shared[slug]
	return e, ok
}

// write writes an entity and remembers it for what follows in the same call.
func (a *adding) write(old *graph.Entity, e graph.Entity) error {
	err := a.setEntity(old, &e)
	a.own[e.Slug] = e
	a.named = append(slices.DeleteFunc(a.named, func(n graph.Entity) bool { return n.ID == e.ID }), e)
	return err
}

// relations adds relations. All unknown ends are told at once.
func (a *adding) relations(reports []graph.Relation, added *knowledge.Added) error {
	var unknown []string
	for _, r := range reports {
		for _, end := range []*string{&r.Source, &r.Target} {
			means := meant(graph.Slug(*end), a.named)
			switch {
			case len(means) > 1:
				return tool.Errorf(tool.Invalid, "%q may be %s", *end, strings.Join(means, " or ")).Try("use one of these")
			case len(means) == 0 && !slices.Contains(unknown, *end):
				unknown = append(unknown, *end)
			case len(means) == 1:
				*end = means[0]
			}
		}
		if len(unknown) > 0 {
			continue
		}
		if r.Source == r.Target {
			return tool.Errorf(tool.Invalid, "%s cannot have a relation to itself", r.Source).Try("name two entities")
		}
		if err := a.relation(r, added); err != nil {
			return err
		}
	}
	if len(unknown) > 0 {
		return unknownEnds(unknown)
	}
	return nil
}

func unknownEnds(names []string) error {
	const most = 5
	shown := make([]string, 0, most)
	for _, name := range names[:min(len(names), most)] {
		shown = append(shown, fmt.Sprintf("%q", name))
	}
	text := strings.Join(shown, ", ")
	if more := len(names) - most; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return tool.Errorf(tool.NotFound, "there is no entity %s; nothing was added", text).
		Try("name them in entities of the same call, or use the names of known ones")
}

func (a *adding) relation(report graph.Relation, added *knowledge.Added) error {
	if report.Confidence == 0 {
		report.Confidence = usualConfidence
	}
	outcome := knowledge.Outcome{Text: fmt.Sprintf("%s %s %s", report.Source, report.Type, report.Target), Action: "created"}
	found, err := a.tx.Relation(a.owner, report.Link())
	if err != nil {
		return err
	}
	if len(found) == 0 {
		if report.Valid == (graph.Span{}) {
			report.Valid = graph.Always()
		}
		source := report.Trace.Source
		report, _ = graph.Relation{Source: report.Source, Type: report.Type, Target: report.Target, Valid: graph.Always()}.Merge(report)
		report.ID, report.Owner, report.Trace = a.tx.NewID(), a.owner, a.trace
		report.Trace.Source = source
		added.Relations = append(added.Relations, outcome)
		return a.setRelation(nil, &report)
	}
	merged, kept := found[0].Merge(report)
	outcome.Kept, outcome.Action = kept, "updated"
	if reflect.DeepEqual(merged, found[0]) {
		outcome.Action = "unchanged"
		added.Relations = append(added.Relations, outcome)
		return nil
	}
	added.Relations = append(added.Relations, outcome)
	merged.Trace = a.traced(merged.Trace)
	return a.setRelation(&found[0], &merged)
}
