package store

import (
	"fmt"
	"strings"

	"github.com/mcp-tools/mcp-tools/tools/knowledge/graph"
)

const relationColumns = `id, agent, usr, source, type, target, properties, confidence, valid_from, valid_to,
	origin, author, session, created, updated, version`

func scanRelation(scan func(...any) error, before ...any) (r graph.Relation, err error) {
	var properties string
	err = scan(append(before, &r.ID, &r.Owner.Agent, &r.Owner.User, &r.Source, &r.Type, &r.Target, &properties, &r.Confidence,
		&r.Valid.From, &r.Valid.To, &r.Trace.Source, &r.Trace.Author, &r.Trace.Session, &r.Trace.Created, &r.Trace.Updated, &r.Version)...)
	if err == nil {
		err = FromJSON(properties, &r.Properties)
	}
	return r, err
}

// Links returns relations that begin or end at one of at most [graph.LinksOf]
// entities and are valid at a moment: of each entity, in each direction, of
// one's own and of the shared ones, the surest, as many as each says. A shared
// relation that one has oneself is left out. More says whether there are others.
func (k KnowledgeTx) Links(o graph.Owner, slugs []string, each int, at int64) (list []graph.Relation, more bool, err error) {
	size := 1
	for size < len(slugs) {
		size *= 4
	}
	args := []any{o.Agent, o.User, slugs[0], at}
	for i := 1; i < size; i++ {
		args = append(args, slugs[min(i, len(slugs)-1)])
	}
	counts, place := map[int]int{}, map[graph.Link]int{}
	err = k.t.Each(linksStatement(size, each+1), args, func(scan func(...any) error) error {
		var part int
		r, err := scanRelation(scan, &part)
		if counts[part]++; counts[part] > each {
			more = true
			return err
		}
		i, twice := place[r.Link()]
		switch {
		case !twice:
			place[r.Link()] = len(list)
			list = append(list, r)
		case r.Owner.User != "":
			list[i] = r
		}
		return err
	})
	return list, more, err
}

// linksStatement asks for each part on its own, because only then does an index
// end the search after a few rows, however many an entity has. How many is part
// of the text: SQLite makes a new plan whenever a limit that is a parameter is
// set anew, which takes longer than the search.
func linksStatement(size, most int) string {
	var parts []string
	for i := range size {
		slug := "$3"
		if i > 0 {
			slug = fmt.Sprintf("$%d", 4+i)
		}
		for _, usr := range []string{"$2", "''"} {
			for _, end := range []string{"source", "target"} {
				parts = append(parts, fmt.Sprintf(`SELECT * FROM (SELECT %d AS part, %s FROM relation
					WHERE agent = $1 AND usr = %s AND %s = %s AND valid_from <= $4 AND valid_to > $4
					ORDER BY confidence DESC, id DESC LIMIT %d) p%d`, len(parts), relationColumns, usr, end, slug, most, len(parts)))
			}
		}
	}
	return strings.Join(parts, " UNION ALL ")
}

// Relation returns the owner's relation of a name, or none.
func (k KnowledgeTx) Relation(o graph.Owner, l graph.Link) ([]graph.Relation, error) {
	return k.relations("agent = $1 AND usr = $2 AND source = $3 AND type = $4 AND target = $5", o.Agent, o.User, l.Source, l.Type, l.Target)
}

// RelationsOf returns the owner's relations with an entity, valid or not.
func (k KnowledgeTx) RelationsOf(o graph.Owner, slug string, limit int) ([]graph.Relation, error) {
	return k.relations(`id IN (SELECT id FROM relation WHERE agent = $1 AND usr = $2 AND source = $3
		UNION SELECT id FROM relation WHERE agent = $1 AND usr = $2 AND target = $3) ORDER BY id LIMIT $4`,
		o.Agent, o.User, slug, limit)
}

// RelationByID returns the owner's relation of an id, or none.
func (k KnowledgeTx) RelationByID(o graph.Owner, id string) ([]graph.Relation, error) {
	return k.relations("agent = $1 AND usr = $2 AND id = $3", o.Agent, o.User, id)
}

func (k KnowledgeTx) relations(where string, args ...any) (list []graph.Relation, err error) {
	err = k.t.Each("SELECT "+relationColumns+" FROM relation WHERE "+where, args, func(scan func(...any) error) error {
		r, err := scanRelation(scan)
		list = append(list, r)
		return err
	})
	return list, err
}
