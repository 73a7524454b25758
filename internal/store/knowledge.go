package store

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/mcp-tools/mcp-tools/tools/knowledge/graph"
)

// The topics under which changes of what is known are told, with the ids of the
// rows as keys.
const (
	EntityTopic   = "knowledge"
	RelationTopic = "knowledge.relation"
)

// Knowledge are the rows of entities and relations.
type Knowledge struct{ store *Store }

// Knowledge gives access to what is known.
func (s *Store) Knowledge() Knowledge { return Knowledge{s} }

// A KnowledgeTx is a transaction about what is known. Whatever it is asked for
// is looked up among what an owner has and, unless it says otherwise, what the
// owner's agent shares with all users.
type KnowledgeTx struct{ t *Tx }

// View is [Store.View].
func (k Knowledge) View(ctx context.Context, f func(KnowledgeTx) error) error {
	return k.store.View(ctx, func(t *Tx) error { return f(KnowledgeTx{t}) })
}

// Update is [Store.Update].
func (k Knowledge) Update(ctx context.Context, f func(KnowledgeTx) error) error {
	return k.store.Update(ctx, func(t *Tx) error { return f(KnowledgeTx{t}) })
}

// Sweep forgets changes that are older than age: they cannot be undone any
// more.
func (k Knowledge) Sweep(ctx context.Context, age time.Duration) (n int64, err error) {
	err = k.store.Update(ctx, func(t *Tx) error {
		n, err = t.Exec("DELETE FROM knowledge_change WHERE at < {{now}} - $1", age.Milliseconds())
		return err
	})
	return n, err
}

// Now is the database's clock.
func (k KnowledgeTx) Now() (now int64, err error) {
	err = k.t.Row("SELECT {{now}}", nil, &now)
	return now, err
}

const entityColumns = `e.id, e.agent, e.usr, e.slug, e.name, e.aliases, e.type, e.description, e.properties, e.confidence,
	e.valid_from, e.valid_to, e.origin, e.author, e.session, e.created, e.updated, e.version`

func scanEntity(scan func(...any) error) (e graph.Entity, err error) {
	var aliases, properties string
	err = scan(&e.ID, &e.Owner.Agent, &e.Owner.User, &e.Slug, &e.Name, &aliases, &e.Type, &e.Description, &properties, &e.Confidence,
		&e.Valid.From, &e.Valid.To, &e.Trace.Source, &e.Trace.Author, &e.Trace.Session, &e.Trace.Created, &e.Trace.Updated, &e.Version)
	if err == nil {
		err = errors.Join(FromJSON(aliases, &e.Aliases), FromJSON(properties, &e.Properties))
	}
	return e, err
}

func (k KnowledgeTx) entities(text string, args ...any) (list []graph.Entity, err error) {
	err = k.t.Each(text, args, func(scan func(...any) error) error {
		e, err := scanEntity(scan)
		list = append(list, e)
		return err
	})
	return list, err
}

// mostListed is how many values one statement has in a list.
const mostListed = 256

// among runs a statement for values, some at a time. %s in it becomes the list,
// whose parameters follow the others; there are few lengths of lists, so that
// there are few statements.
func (k KnowledgeTx) among(text string, args []any, values []string) (list []graph.Entity, err error) {
	for len(values) > 0 {
		chunk := values[:min(len(values), mostListed)]
		values = values[len(chunk):]
		size := 1
		for size < len(chunk) {
			size *= 4
		}
		marks, all := make([]string, size), append([]any{}, args...)
		for i := range size {
			marks[i] = fmt.Sprintf("$%d", len(args)+i+1)
			all = append(all, chunk[min(i, len(chunk)-1)])
		}
		found, err := k.entities(strings.Replace(text, "%s", strings.Join(marks, ", "), 1), all...)
		if err != nil {
			return nil, err
		}
		list = append(list, found...)
	}
	return list, nil
}

// Entities returns those with some slugs: one's own and the shared one, where
// there are both.
func (k KnowledgeTx) Entities(o graph.Owner, slugs []string) ([]graph.Entity, error) {
	return k.among("SELECT "+entityColumns+" FROM entity e WHERE e.agent = $1 AND e.usr IN ($2, '') AND e.slug IN (%s)",
		[]any{o.Agent, o.User}, slugs)
}

// ByID returns those of some ids that the owner sees.
func (k KnowledgeTx) ByID(o graph.Owner, ids []string) ([]graph.Entity, error) {
	// The concatenation keeps engines that know little of a table from reading all
	// that the agent has, where the ids are what leads to the rows.
	return k.among("SELECT "+entityColumns+" FROM entity e WHERE e.agent || '' = $1 AND e.usr || '' IN ($2, '') AND e.id IN (%s)",
		[]any{o.Agent, o.User}, ids)
}

// Named returns those that are called one of some names, given as slugs.
func (k KnowledgeTx) Named(o graph.Owner, slugs []string) ([]graph.Entity, error) {
	return k.among("SELECT "+entityColumns+` FROM entity e WHERE e.id IN (
		SELECT n.entity FROM entity_name n WHERE n.agent = $1 AND n.usr IN ($2, '') AND n.slug IN (%s))`,
		[]any{o.Agent, o.User}, slugs)
}

// Alike returns some whose names begin alike: see [graph.Head].
func (k KnowledgeTx) Alike(o graph.Owner, head string, limit int) ([]graph.Entity, error) {
	return k.entities("SELECT "+entityColumns+` FROM entity e WHERE e.id IN (
		SELECT n.entity FROM entity_name n WHERE n.agent = $1 AND n.usr IN ($2, '') AND n.head = $3 LIMIT $4)`,
		o.Agent, o.User, head, limit)
}

// List returns entities, those that are surest first. A shared one that the
// owner has as well is left out.
func (k KnowledgeTx) List(o graph.Owner, l graph.Listing) ([]graph.Entity, error) {
	return k.entities("SELECT "+entityColumns+` FROM entity e
		WHERE e.agent = $1 AND e.usr IN ($2, '') AND ($3 = '' OR e.type = $3) AND e.valid_from <= $4 AND e.valid_to > $4
			AND NOT (e.usr <> $2 AND EXISTS (SELECT 1 FROM entity own WHERE own.agent = $1 AND own.usr = $2 AND own.slug = e.slug))
		ORDER BY e.confidence DESC, e.updated DESC, e.slug LIMIT $5 OFFSET $6`,
		o.Agent, o.User, l.Type, l.At, l.Limit, l.Offset)
}

// Any returns an entity, whosever it is: for what makes an index of all.
func (k KnowledgeTx) Any(id string) ([]graph.Entity, error) {
	return k.entities("SELECT "+entityColumns+" FROM entity e WHERE e.id = $1", id)
}

// IDs returns the ids after one, of everybody's entities, in their order.
func (k KnowledgeTx) IDs(after string, limit int) (list []string, err error) {
	err = k.t.Each("SELECT id FROM entity WHERE id > $1 ORDER BY id LIMIT $2", []any{after, limit}, func(scan func(...any) error) error {
		var id string
		err := scan(&id)
		list = append(list, id)
		return err
	})
	return list, err
}

// NewID is [NewID].
func (KnowledgeTx) NewID() string { return NewID() }
