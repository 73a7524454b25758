package knowledge

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/tools/knowledge/graph"
)

// rows reads the tables in a transaction. Unless a method says otherwise, the rows of an owner
// include the rows that the owner's agent shares with all users.
type rows struct{ *store.Tx }

const entityColumns = `e.id, e.agent, e.usr, e.slug, e.name, e.aliases, e.type, e.description, e.properties,
	e.confidence, e.valid_from, e.valid_to, e.origin, e.author, e.session, e.created, e.updated, e.version`

func scanEntity(scan store.Scan) (e graph.Entity, err error) {
	var aliases, properties string
	p := &e.Provenance
	err = scan(&e.ID, &e.Owner.Agent, &e.Owner.User, &e.Slug, &e.Name, &aliases, &e.Type, &e.Description, &properties,
		&e.Confidence, &e.Valid.From, &e.Valid.To, &p.Source, &p.Author, &p.Session, &p.Created, &p.Updated, &e.Version)
	if err == nil {
		err = errors.Join(store.FromJSON(aliases, &e.Aliases), store.FromJSON(properties, &e.Properties))
	}
	return e, err
}

func (r rows) listEntities(where string, args ...any) ([]graph.Entity, error) {
	return store.List(r.Tx, "SELECT "+entityColumns+" FROM entity e WHERE "+where, args, scanEntity)
}

// maxInList is the length of a list of values in one statement.
const maxInList = 256

// entitiesIn lists the entities that meet a condition. %s in the condition stands for the list of values.
func (r rows) entitiesIn(where string, o tool.Owner, values []string) (list []graph.Entity, err error) {
	for chunk := range slices.Chunk(values, maxInList) {
		args := []any{o.Agent, o.User}
		condition := strings.Replace(where, "%s", store.In(&args, chunk), 1)
		found, err := r.listEntities(condition, args...)
		if err != nil {
			return nil, err
		}
		list = append(list, found...)
	}
	return list, nil
}

// bySlug returns the entities with some slugs: the owner's and the shared one where there are both.
func (r rows) bySlug(o tool.Owner, slugs []string) ([]graph.Entity, error) {
	return r.entitiesIn("e.agent = $1 AND e.usr IN ($2, '') AND e.slug IN (%s)", o, slugs)
}

// byID returns the entities of some ids that the owner sees.
func (r rows) byID(o tool.Owner, ids []string) ([]graph.Entity, error) {
	// The concatenation keeps engines without statistics from reading all entities of the agent instead of the ids.
	return r.entitiesIn("e.agent || '' = $1 AND e.usr || '' IN ($2, '') AND e.id IN (%s)", o, ids)
}

// byName returns the entities that have one of some slugs among their names.
func (r rows) byName(o tool.Owner, slugs []string) ([]graph.Entity, error) {
	return r.entitiesIn(`e.id IN (
		SELECT n.entity FROM entity_name n WHERE n.agent = $1 AND n.usr IN ($2, '') AND n.slug IN (%s))`, o, slugs)
}

// An entityName is the slug of a name, and the id of its entity.
type entityName struct{ slug, entity string }

func scanName(scan store.Scan) (n entityName, err error) {
	err = scan(&n.slug, &n.entity)
	return n, err
}

// names returns names of entities.
func (r rows) names(o tool.Owner, limit int) ([]entityName, error) {
	return store.List(r.Tx, "SELECT slug, entity FROM entity_name WHERE agent = $1 AND usr IN ($2, '') LIMIT $3",
		[]any{o.Agent, o.User, limit}, scanName)
}

// namesWithPrefix returns names that begin with a prefix, see [graph.Prefix].
func (r rows) namesWithPrefix(o tool.Owner, prefix string, limit int) ([]entityName, error) {
	return store.List(r.Tx, `SELECT slug, entity FROM entity_name
		WHERE agent = $1 AND usr IN ($2, '') AND head = $3 LIMIT $4`,
		[]any{o.Agent, o.User, prefix, limit}, scanName)
}

// byConfidence returns the entities of a type that are valid at a moment, the most certain
// first. An empty type means all. It leaves out a shared entity if the owner has its own
// version.
func (r rows) byConfidence(o tool.Owner, kind string, at int64, limit, offset int) ([]graph.Entity, error) {
	return r.listEntities(`e.agent = $1 AND e.usr IN ($2, '') AND ($3 = '' OR e.type = $3)
			AND e.valid_from <= $4 AND e.valid_to > $4 AND NOT (e.usr <> $2 AND EXISTS (
				SELECT 1 FROM entity own WHERE own.agent = $1 AND own.usr = $2 AND own.slug = e.slug))
		ORDER BY e.confidence DESC, e.updated DESC, e.slug LIMIT $5 OFFSET $6`,
		o.Agent, o.User, kind, at, limit, offset)
}

const relationColumns = `id, agent, usr, source, type, target, properties, confidence, valid_from, valid_to,
	origin, author, session, created, updated, version`

func scanRelation(scan store.Scan, before ...any) (r graph.Relation, err error) {
	var properties string
	p := &r.Provenance
	err = scan(append(before, &r.ID, &r.Owner.Agent, &r.Owner.User, &r.Source, &r.Type, &r.Target, &properties,
		&r.Confidence, &r.Valid.From, &r.Valid.To, &p.Source, &p.Author, &p.Session, &p.Created, &p.Updated,
		&r.Version)...)
	if err == nil {
		err = store.FromJSON(properties, &r.Properties)
	}
	return r, err
}

// relationsAt returns the relations that begin or end at one of at most [graph.MaxBatch]
// entities and are valid at a moment: of each entity, in each direction, of the owner and of
// the shared ones, the limit most certain. It leaves out a shared relation if the owner has its
// own version. More reports whether there are others.
func (r rows) relationsAt(
	o tool.Owner, slugs []string, limit int, at int64,
) (list []graph.Relation, more bool, err error) {
	args := []any{o.Agent, o.User, at}
	params := strings.Split(store.In(&args, slugs), ", ")
	counts, positions := map[int]int{}, map[graph.Key]int{}
	err = r.Each(relationsStatement(params, limit+1), args, func(scan store.Scan) error {
		var part int
		relation, err := scanRelation(scan, &part)
		if counts[part]++; counts[part] > limit {
			more = true
			return err
		}
		i, twice := positions[relation.Key()]
		switch {
		case !twice:
			positions[relation.Key()] = len(list)
			list = append(list, relation)
		case relation.Owner.User != "":
			list[i] = relation
		}
		return err
	})
	return list, more, err
}

// relationsStatement selects the relations of each entity and direction in a separate part, because only then does an
// index end the search after a few rows, however many relations an entity has. The limit is part of the text: SQLite
// plans a statement again whenever a limit that is a parameter changes, and this takes longer than the search.
func relationsStatement(params []string, limit int) string {
	var parts []string
	for _, param := range params {
		for _, usr := range []string{"$2", "''"} {
			for _, end := range []string{"source", "target"} {
				parts = append(parts, fmt.Sprintf(`SELECT * FROM (SELECT %d AS part, %s FROM relation
					WHERE agent = $1 AND usr = %s AND %s = %s AND valid_from <= $3 AND valid_to > $3
					ORDER BY confidence DESC, id DESC LIMIT %d) p%d`,
					len(parts), relationColumns, usr, end, param, limit, len(parts)))
			}
		}
	}
	return strings.Join(parts, " UNION ALL ")
}

func (r rows) listRelations(where string, args ...any) ([]graph.Relation, error) {
	return store.List(r.Tx, "SELECT "+relationColumns+" FROM relation WHERE "+where, args,
		func(scan store.Scan) (graph.Relation, error) { return scanRelation(scan) })
}

// ownRelation returns the owner's own relation with a key, or an empty list.
func (r rows) ownRelation(o tool.Owner, k graph.Key) ([]graph.Relation, error) {
	return r.listRelations("agent = $1 AND usr = $2 AND source = $3 AND type = $4 AND target = $5",
		o.Agent, o.User, k.Source, k.Type, k.Target)
}

// ownRelationByID returns the owner's own relation with an id, or an empty list.
func (r rows) ownRelationByID(o tool.Owner, id string) ([]graph.Relation, error) {
	return r.listRelations("agent = $1 AND usr = $2 AND id = $3", o.Agent, o.User, id)
}

// ownRelationsOf returns the owner's own relations with an entity, whenever they are valid.
func (r rows) ownRelationsOf(o tool.Owner, slug string, limit int) ([]graph.Relation, error) {
	return r.listRelations(`id IN (SELECT id FROM relation WHERE agent = $1 AND usr = $2 AND source = $3
		UNION SELECT id FROM relation WHERE agent = $1 AND usr = $2 AND target = $3) ORDER BY id LIMIT $4`,
		o.Agent, o.User, slug, limit)
}

// A changeRecord describes a change. Numbers count from 1 for each owner.
type changeRecord struct {
	number  int64
	summary string
	undone  int64 // number of the change that undid it, 0 for none
}

// changes returns the latest changes of an owner, or only the one with a number.
func (r rows) changes(o tool.Owner, number int64, limit int) ([]changeRecord, error) {
	return store.List(r.Tx, `SELECT number, summary, undone FROM knowledge_change
		WHERE agent = $1 AND usr = $2 AND (number = $3 OR $3 = 0) ORDER BY number DESC LIMIT $4`,
		[]any{o.Agent, o.User, number, limit}, func(scan store.Scan) (c changeRecord, err error) {
			err = scan(&c.number, &c.summary, &c.undone)
			return c, err
		})
}

// A formerRow is an entity or relation as it was before a change. Without either it did not exist.
type formerRow struct {
	id         string
	isRelation bool
	after      int64 // its version after the change, 0 if the change removed it
	entity     *graph.Entity
	relation   *graph.Relation
}

// formerRows returns the former rows of a change.
func (r rows) formerRows(o tool.Owner, number int64) ([]formerRow, error) {
	return store.List(r.Tx, `SELECT kind, subject, former, after FROM knowledge_past
		WHERE agent = $1 AND usr = $2 AND number = $3 ORDER BY subject`,
		[]any{o.Agent, o.User, number}, func(scan store.Scan) (f formerRow, err error) {
			var kind, former string
			err = scan(&kind, &f.id, &former, &f.after)
			switch f.isRelation = kind == "relation"; {
			case err != nil || former == "":
			case f.isRelation:
				f.relation = new(graph.Relation)
				err = store.FromJSON(former, f.relation)
			default:
				f.entity = new(graph.Entity)
				err = store.FromJSON(former, f.entity)
			}
			return f, err
		})
}
