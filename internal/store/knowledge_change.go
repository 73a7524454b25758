package store

import (
	"errors"

	"github.com/mcp-tools/mcp-tools/tools/knowledge/graph"
)

// Begin begins a change of what an owner knows, and gives it the next number.
// Others who change something of the same owner's wait until it is over.
func (k KnowledgeTx) Begin(o graph.Owner, c graph.Change) (number int64, err error) {
	err = k.t.Row(`INSERT INTO knowledge_owner (agent, usr, latest, entities, relations) VALUES ($1, $2, 1, 0, 0)
		ON CONFLICT (agent, usr) DO UPDATE SET latest = knowledge_owner.latest + 1 RETURNING latest`, []any{o.Agent, o.User}, &number)
	if err != nil {
		return 0, err
	}
	_, err = k.t.Exec(`INSERT INTO knowledge_change (agent, usr, number, summary, author, session, at)
		VALUES ($1, $2, $3, $4, $5, $6, {{now}})`, o.Agent, o.User, number, c.Summary, c.Author, c.Session)
	return number, err
}

// End says what a change was, in a few words, and by how much the owner's
// knowledge grew. It returns how much there is now.
func (k KnowledgeTx) End(o graph.Owner, number int64, summary string, by graph.Size) (now graph.Size, err error) {
	_, err = k.t.Exec("UPDATE knowledge_change SET summary = $4 WHERE agent = $1 AND usr = $2 AND number = $3",
		o.Agent, o.User, number, summary)
	if err != nil {
		return now, err
	}
	err = k.t.Row(`UPDATE knowledge_owner SET entities = entities + $3, relations = relations + $4
		WHERE agent = $1 AND usr = $2 RETURNING entities, relations`,
		[]any{o.Agent, o.User, by.Entities, by.Relations}, &now.Entities, &now.Relations)
	return now, err
}

// SetEntity makes an entity of an owner be what it is from now on: old is what
// it was, nil when it is new, and without e it is gone. Its version tells what is
// written from whatever else the row will hold.
func (k KnowledgeTx) SetEntity(number int64, old, e *graph.Entity) error {
	if old != nil {
		if err := k.keep(old.Owner, number, "entity", old.ID, old, versionOf(e)); err != nil {
			return err
		}
		if _, err := k.t.Exec("DELETE FROM entity WHERE id = $1", old.ID); err != nil { // with its names
			return err
		}
	}
	if e == nil {
		return k.t.Changed(EntityTopic, old.ID)
	}
	if old == nil {
		if err := k.keep(e.Owner, number, "entity", e.ID, nil, e.Version); err != nil {
			return err
		}
	}
	aliases, err := ToJSON(e.Aliases, len(e.Aliases) == 0)
	if err != nil {
		return err
	}
	properties, err := ToJSON(e.Properties, len(e.Properties) == 0)
	if err != nil {
		return err
	}
	_, err = k.t.Exec(`INSERT INTO entity (id, agent, usr, slug, name, aliases, type, description, properties, confidence,
			valid_from, valid_to, origin, author, session, created, updated, version)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18)`,
		e.ID, e.Owner.Agent, e.Owner.User, e.Slug, e.Name, aliases, e.Type, e.Description, properties, e.Confidence,
		e.Valid.From, e.Valid.To, e.Trace.Source, e.Trace.Author, e.Trace.Session, e.Trace.Created, e.Trace.Updated, e.Version)
	if err != nil {
		return err
	}
	for _, slug := range e.Slugs() {
		_, err := k.t.Exec("INSERT INTO entity_name (agent, usr, slug, entity, head) VALUES ($1, $2, $3, $4, $5)",
			e.Owner.Agent, e.Owner.User, slug, e.ID, graph.Head(slug))
		if err != nil {
			return err
		}
	}
	return k.t.Changed(EntityTopic, e.ID)
}

// SetRelation is SetEntity for relations.
func (k KnowledgeTx) SetRelation(number int64, old, r *graph.Relation) error {
	if old != nil {
		if err := k.keep(old.Owner, number, "relation", old.ID, old, versionOfLink(r)); err != nil {
			return err
		}
		if _, err := k.t.Exec("DELETE FROM relation WHERE id = $1", old.ID); err != nil {
			return err
		}
	}
	if r == nil {
		return k.t.Changed(RelationTopic, old.ID)
	}
	if old == nil {
		if err := k.keep(r.Owner, number, "relation", r.ID, nil, r.Version); err != nil {
			return err
		}
	}
	properties, err := ToJSON(r.Properties, len(r.Properties) == 0)
	if err != nil {
		return err
	}
	_, err = k.t.Exec(`INSERT INTO relation (id, agent, usr, source, type, target, properties, confidence, valid_from, valid_to,
			origin, author, session, created, updated, version)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)`,
		r.ID, r.Owner.Agent, r.Owner.User, r.Source, r.Type, r.Target, properties, r.Confidence, r.Valid.From, r.Valid.To,
		r.Trace.Source, r.Trace.Author, r.Trace.Session, r.Trace.Created, r.Trace.Updated, r.Version)
	if err != nil {
		return err
	}
	return k.t.Changed(RelationTopic, r.ID)
}

func versionOf(e *graph.Entity) int64 {
	if e == nil {
		return 0
	}
	return e.Version
}

func versionOfLink(r *graph.Relation) int64 {
	if r == nil {
		return 0
	}
	return r.Version
}

// keep writes down what a row was before a change. What it was when the change
// touched it first counts, and the version it had when it was touched last.
func (k KnowledgeTx) keep(o graph.Owner, number int64, kind, id string, former any, after int64) error {
	text, err := ToJSON(former, former == nil)
	if err != nil {
		return err
	}
	_, err = k.t.Exec(`INSERT INTO knowledge_past (agent, usr, number, kind, subject, former, after) VALUES ($1, $2, $3, $4, $5, $6, $7)
		ON CONFLICT (agent, usr, number, subject) DO UPDATE SET after = excluded.after`, o.Agent, o.User, number, kind, id, text, after)
	return err
}

// Changes returns a change of an owner's, or the latest ones for number 0.
func (k KnowledgeTx) Changes(o graph.Owner, number int64, limit int) (list []graph.Change, err error) {
	err = k.t.Each(`SELECT number, summary, author, session, at, undone FROM knowledge_change
		WHERE agent = $1 AND usr = $2 AND (number = $3 OR $3 = 0) ORDER BY number DESC LIMIT $4`, []any{o.Agent, o.User, number, limit},
		func(scan func(...any) error) error {
			var c graph.Change
			err := scan(&c.Number, &c.Summary, &c.Author, &c.Session, &c.At, &c.Undone)
			list = append(list, c)
			return err
		})
	return list, err
}

// Past returns what a change did.
func (k KnowledgeTx) Past(o graph.Owner, number int64) (list []graph.Past, err error) {
	err = k.t.Each("SELECT kind, subject, former, after FROM knowledge_past WHERE agent = $1 AND usr = $2 AND number = $3 ORDER BY subject",
		[]any{o.Agent, o.User, number}, func(scan func(...any) error) error {
			var p graph.Past
			var kind, former string
			err := scan(&kind, &p.ID, &former, &p.After)
			switch p.Relation = kind == "relation"; {
			case former == "":
			case p.Relation:
				p.Link = new(graph.Relation)
				err = errors.Join(err, FromJSON(former, p.Link))
			default:
				p.Entity = new(graph.Entity)
				err = errors.Join(err, FromJSON(former, p.Entity))
			}
			list = append(list, p)
			return err
		})
	return list, err
}

// Undone says that a change was taken back by another.
func (k KnowledgeTx) Undone(o graph.Owner, number, by int64) error {
	_, err := k.t.Exec("UPDATE knowledge_change SET undone = $4 WHERE agent = $1 AND usr = $2 AND number = $3",
		o.Agent, o.User, number, by)
	return err
}
