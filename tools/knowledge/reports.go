package knowledge

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/text"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/tools/knowledge/graph"
)

// A Document is a text of an owner. Entities and relations were read from it.
type Document struct {
	Owner tool.Owner
	ID    string
	Name  string // the origin of the reports, such as the path of a memory
}

// fromDocuments is the author of rows that only documents support. Names of callers contain a
// slash.
const fromDocuments = "documents"

// maxOrigins is the length of the origin of a row that several documents support, in bytes.
const maxOrigins = 400

// SetReports replaces the reports of a document, in a transaction of the caller. No reports
// take back all earlier ones. An entity or a relation that only documents report is the sum of
// their reports, and is removed with the last of them. SetReports leaves alone rows that a
// caller has written or changed with the tools, except for a description that comes from the
// document and is taken back. Relations end at entities of the same reports.
func SetReports(t *store.Tx, d Document, entities []graph.Entity, relations []graph.Relation) error {
	r := reporting{
		change:   &change{rows: rows{t}, owner: d.Owner, written: map[string]int{}},
		document: d, reported: map[subject]bool{}, former: map[string]string{},
	}
	r.provenance.Author = fromDocuments
	list, err := r.reportsOf(d)
	if err != nil || len(list)+len(entities) == 0 {
		return err
	}
	if err := r.begin(); err != nil {
		return err
	}
	for _, one := range list {
		r.reported[one.subject] = false
		if e := (graph.Entity{}); one.kind == entityKind && store.FromJSON(one.report, &e) == nil {
			r.former[one.name] = e.Description
		}
	}
	if err := errors.Join(r.store(entities, relations), r.apply()); err != nil || !r.wrote {
		return err
	}
	verb := "read"
	if len(entities) == 0 {
		verb = "took back"
	}
	return r.end(text.Clip(verb+" what "+d.Name+" says", maxSummary))
}

// PurgeReports removes the reports of a document for good: it also removes the records of all
// changes that documents have made for the owner, so that these cannot be undone.
func PurgeReports(t *store.Tx, d Document) error {
	if reports, err := (rows{t}).reportsOf(d); err != nil || len(reports) == 0 {
		return err
	}
	if err := SetReports(t, d, nil, nil); err != nil {
		return err
	}
	_, err := t.Exec("DELETE FROM knowledge_change WHERE agent = $1 AND usr = $2 AND author = $3",
		d.Owner.Agent, d.Owner.User, fromDocuments)
	return err
}

const (
	entityKind   = "entity"
	relationKind = "relation"
)

// A subject is the subject of a report: an entity by its slug, or a relation by its key.
type subject struct{ kind, name string }

// A reportRow is a row of the table.
type reportRow struct {
	subject
	report string
}

func scanReport(scan store.Scan) (r reportRow, err error) {
	err = scan(&r.kind, &r.name, &r.report)
	return r, err
}

// reportsOf returns the reports of a document.
func (r rows) reportsOf(d Document) ([]reportRow, error) {
	return store.List(r.Tx, `SELECT kind, subject, report FROM knowledge_report
		WHERE agent = $1 AND usr = $2 AND document = $3`, []any{d.Owner.Agent, d.Owner.User, d.ID}, scanReport)
}

// reportsAbout returns the reports of all documents of an owner about a subject.
func reportsAbout[T any](r rows, o tool.Owner, s subject) ([]T, error) {
	return store.List(r.Tx, `SELECT report FROM knowledge_report
		WHERE agent = $1 AND usr = $2 AND kind = $3 AND subject = $4 ORDER BY document`,
		[]any{o.Agent, o.User, s.kind, s.name}, func(scan store.Scan) (report T, err error) {
			var text string
			if err := scan(&text); err != nil {
				return report, err
			}
			return report, store.FromJSON(text, &report)
		})
}

// reporting is a change of the reports of a document.
type reporting struct {
	*change
	document Document
	reported map[subject]bool  // subjects of earlier reports; true for the subjects of present reports
	former   map[string]string // the descriptions before, by slug
}

// store replaces the rows of the document.
func (r *reporting) store(entities []graph.Entity, relations []graph.Relation) error {
	a := &adding{change: r.change, own: map[string]graph.Entity{}, shared: map[string]graph.Entity{}}
	if err := a.load(entities, nil); err != nil {
		return err
	}
	var list [][]any
	add := func(s subject, report any) error {
		if r.reported[s] {
			return nil // the model has said it twice
		}
		r.reported[s] = true
		written, err := store.ToJSON(report, false)
		list = append(list, []any{r.owner.Agent, r.owner.User, r.document.ID, s.kind, s.name, written})
		return err
	}
	slugs := map[string]string{} // of the entities, by the slugs of their names in the reports
	for _, e := range entities {
		e.Provenance.Source = r.document.Name
		slug := a.slug(e)
		slugs[graph.Slug(e.Name)] = slug
		if err := add(subject{entityKind, slug}, e); err != nil {
			return err
		}
	}
	for _, one := range relations {
		one.Source, one.Target = slugs[graph.Slug(one.Source)], slugs[graph.Slug(one.Target)]
		if one.Source == "" || one.Target == "" || one.Source == one.Target {
			continue
		}
		one.Provenance.Source = r.document.Name
		if err := add(subject{relationKind, one.Key().String()}, one); err != nil {
			return err
		}
	}
	if _, err := r.Exec("DELETE FROM knowledge_report WHERE agent = $1 AND usr = $2 AND document = $3",
		r.owner.Agent, r.owner.User, r.document.ID); err != nil {
		return err
	}
	return r.Insert("knowledge_report (agent, usr, document, kind, subject, report)", list)
}

// apply writes the rows of all subjects from the reports: entities before the relations between
// them, and removed entities after removed relations.
func (r *reporting) apply() error {
	all := slices.SortedStableFunc(maps.Keys(r.reported), func(a, b subject) int { return cmp.Compare(a.name, b.name) })
	for _, step := range []struct {
		kind string
		now  bool
		f    func(subject) error
	}{
		{entityKind, true, r.applyEntity}, {relationKind, false, r.applyRelation},
		{relationKind, true, r.applyRelation},
		{entityKind, false, r.applyEntity},
	} {
		for _, s := range all {
			if s.kind != step.kind || r.reported[s] != step.now {
				continue
			}
			if err := step.f(s); err != nil {
				return fmt.Errorf("%s %s: %w", s.kind, s.name, err)
			}
		}
	}
	return nil
}

func (r *reporting) applyEntity(s subject) error {
	reports, err := reportsAbout[graph.Entity](r.rows, r.owner, s)
	if err != nil {
		return err
	}
	versions, err := r.bySlug(r.owner, []string{s.name})
	if err != nil {
		return err
	}
	own := slices.IndexFunc(versions, func(e graph.Entity) bool { return e.Owner == r.owner })
	switch {
	case own >= 0 && versions[own].Provenance.Author != fromDocuments:
		return r.withdrawDescription(versions[own], reports)
	case own >= 0 && len(reports) == 0:
		return r.removeEntity(versions[own])
	case own < 0 && (len(versions) > 0 || !r.reported[s]):
		return nil // all users share it, or a caller has removed it
	}
	e := graph.Entity{
		ID: store.NewID(), Owner: r.owner, Slug: s.name, Name: reports[0].Name, Type: defaultType,
		Valid:      graph.Always(),
		Provenance: r.provenance,
	}
	var old *graph.Entity
	if own >= 0 {
		old = &versions[own]
		e.ID, e.Name, e.Provenance, e.Version = old.ID, old.Name, old.Provenance, old.Version
	}
	var origins []string
	for _, one := range reports {
		origins = append(origins, one.Provenance.Source)
		one.Provenance = graph.Provenance{}
		e, _ = e.Merge(one)
	}
	e.Provenance.Source = joinOrigins(origins)
	if old != nil && reflect.DeepEqual(*old, e) {
		return nil
	}
	e.Provenance.Updated = r.provenance.Updated
	return r.setEntity(old, &e)
}

func joinOrigins(names []string) string {
	slices.Sort(names)
	return text.Clip(strings.Join(slices.Compact(names), ", "), maxOrigins)
}

// withdrawDescription removes the description of an entity of a caller if only the former text of the document says it.
func (r *reporting) withdrawDescription(e graph.Entity, reports []graph.Entity) error {
	if e.Description == "" || e.Description != r.former[e.Slug] ||
		slices.ContainsFunc(reports, func(one graph.Entity) bool { return one.Description == e.Description }) {
		return nil
	}
	old := e
	e.Description = ""
	return r.setEntity(&old, &e)
}

// removeEntity removes an entity that no document reports now. If a caller has added a relation
// with it, the entity stays as the caller's, without the documents' statements.
func (r *reporting) removeEntity(e graph.Entity) error {
	relations, err := r.ownRelationsOf(r.owner, e.Slug, 1)
	if err != nil {
		return err
	}
	if len(relations) == 0 {
		return r.setEntity(&e, nil)
	}
	old := e
	e.Description, e.Provenance = "", r.updated(relations[0].Provenance)
	e.Provenance.Author = relations[0].Provenance.Author
	return r.setEntity(&old, &e)
}

func (r *reporting) applyRelation(s subject) error {
	reports, err := reportsAbout[graph.Relation](r.rows, r.owner, s)
	if err != nil {
		return err
	}
	var key graph.Key
	if parts := strings.Fields(s.name); len(parts) == 3 {
		key = graph.Key{Source: parts[0], Type: parts[1], Target: parts[2]}
	}
	found, err := r.ownRelation(r.owner, key)
	if err != nil {
		return err
	}
	switch {
	case len(found) > 0 && found[0].Provenance.Author != fromDocuments:
		return nil
	case len(found) > 0 && len(reports) == 0:
		return r.setRelation(&found[0], nil)
	case len(found) == 0 && !r.reported[s]:
		return nil
	}
	one := graph.Relation{
		ID: store.NewID(), Owner: r.owner, Source: key.Source, Type: key.Type, Target: key.Target,
		Valid:      graph.Always(),
		Provenance: r.provenance,
	}
	var old *graph.Relation
	if len(found) > 0 {
		old = &found[0]
		one.ID, one.Provenance, one.Version = old.ID, old.Provenance, old.Version
	}
	var origins []string
	for _, report := range reports {
		origins = append(origins, report.Provenance.Source)
		report.Provenance = graph.Provenance{}
		one, _ = one.Merge(report)
	}
	one.Provenance.Source = joinOrigins(origins)
	if old != nil && reflect.DeepEqual(*old, one) {
		return nil
	}
	one.Provenance.Updated = r.provenance.Updated
	return r.setRelation(old, &one)
}
