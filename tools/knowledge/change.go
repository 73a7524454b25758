package knowledge

import (
	"context"
	"errors"

	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/text"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/tools/knowledge/graph"
)

// A change is one change of an owner's knowledge within a transaction. It writes rows, keeps
// the former rows for Undo, and counts the growth of the knowledge.
type change struct {
	rows
	owner      tool.Owner
	provenance graph.Provenance // of new rows
	number     int64

	entities, relations int64 // added, or removed if negative
	wrote               bool

	former  [][]any        // rows of knowledge_past
	written map[string]int // their positions, by the id of the row that was written
}

// errUnchanged ends a transaction that would change nothing.
var errUnchanged = errors.New("nothing changed")

// maxSummary is the length of the summary of a change, in bytes.
const maxSummary = 200

// change runs f as one change of the caller's knowledge. f returns a summary.
func (g *Graph) change(ctx context.Context, f func(c *change) (summary string, err error)) error {
	o, err := tool.OwnerFrom(ctx)
	if err != nil {
		return err
	}
	caller := tool.CallerFrom(ctx)
	return g.store.UpdateInTurn(ctx, scope(o), func(t *store.Tx) error {
		c := &change{rows: rows{t}, owner: o, written: map[string]int{}}
		c.provenance = graph.Provenance{Author: caller.Principal(), Session: caller.Session}
		if err := c.begin(); err != nil {
			return err
		}
		summary, err := f(c)
		if err != nil {
			return err
		}
		return c.end(text.Clip(summary, maxSummary))
	})
}

// begin gives the change the next number. Other changes of the same owner wait until the transaction ends.
func (c *change) begin() error {
	err := c.Row(`INSERT INTO knowledge_owner (agent, usr, latest, entities, relations) VALUES ($1, $2, 1, 0, 0)
		ON CONFLICT (agent, usr) DO UPDATE SET latest = knowledge_owner.latest + 1 RETURNING latest, {{now}}`,
		[]any{c.owner.Agent, c.owner.User}, &c.number, &c.provenance.Created)
	c.provenance.Updated = c.provenance.Created
	return err
}

// end records the change and checks the limits.
func (c *change) end(summary string) error {
	if !c.wrote {
		return errUnchanged
	}
	p := c.provenance
	err := c.Insert("knowledge_change (agent, usr, number, summary, author, session, at)",
		[][]any{{c.owner.Agent, c.owner.User, c.number, summary, p.Author, p.Session, p.Created}})
	if err != nil {
		return err
	}
	err = c.Insert("knowledge_past (agent, usr, number, kind, subject, former, after)", c.former)
	if err != nil {
		return err
	}
	var entities, relations int64
	err = c.Row(`UPDATE knowledge_owner SET entities = entities + $3, relations = relations + $4
		WHERE agent = $1 AND usr = $2 RETURNING entities, relations`,
		[]any{c.owner.Agent, c.owner.User, c.entities, c.relations}, &entities, &relations)
	if err != nil {
		return err
	}
	if c.entities > 0 && entities > maxEntities || c.relations > 0 && relations > maxRelations {
		return tool.Errorf(tool.TooLarge, "this would make %d entities and %d relations; the maximum is %d and %d",
			entities, relations, maxEntities, maxRelations).Try("remove entities that are no longer needed")
	}
	return nil
}

// updated returns the provenance of a row that existed before, as this change leaves it.
func (c *change) updated(p graph.Provenance) graph.Provenance {
	p.Author, p.Session, p.Updated = c.provenance.Author, c.provenance.Session, c.provenance.Updated
	return p
}

// setEntity replaces old by e. A nil old adds e, a nil e removes old.
func (c *change) setEntity(old, e *graph.Entity) error {
	if e != nil {
		e.Version = c.number
	}
	return c.writeEntity(old, e)
}

// writeEntity is setEntity without a new version, for rows that Undo restores.
func (c *change) writeEntity(old, e *graph.Entity) error {
	c.wrote = true
	if old != nil {
		c.entities--
		after := int64(0)
		if e != nil {
			after = e.Version
		}
		if err := c.keep("entity", old.ID, old, after); err != nil {
			return err
		}
		if _, err := c.Exec("DELETE FROM entity WHERE id = $1", old.ID); err != nil { // also deletes its names
			return err
		}
	}
	if e == nil {
		return c.Changed(topic, old.ID)
	}
	c.entities++
	if old == nil {
		if err := c.keep("entity", e.ID, nil, e.Version); err != nil {
			return err
		}
	}
	if err := c.insertEntity(e); err != nil {
		return err
	}
	return c.Changed(topic, e.ID)
}

func (c *change) insertEntity(e *graph.Entity) error {
	aliases, err := store.ToJSON(e.Aliases, len(e.Aliases) == 0)
	if err != nil {
		return err
	}
	properties, err := store.ToJSON(e.Properties, len(e.Properties) == 0)
	if err != nil {
		return err
	}
	p := e.Provenance
	_, err = c.Exec(`INSERT INTO entity (id, agent, usr, slug, name, aliases, type, description, properties, confidence,
			valid_from, valid_to, origin, author, session, created, updated, version)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18)`,
		e.ID, e.Owner.Agent, e.Owner.User, e.Slug, e.Name, aliases, e.Type, e.Description, properties, e.Confidence,
		e.Valid.From, e.Valid.To, p.Source, p.Author, p.Session, p.Created, p.Updated, e.Version)
	if err != nil {
		return err
	}
	var names [][]any
	for _, slug := range e.Slugs() {
		names = append(names, []any{e.Owner.Agent, e.Owner.User, slug, e.ID, graph.Prefix(slug)})
	}
	return c.Insert("entity_name (agent, usr, slug, entity, head)", names)
}

// setRelation replaces old by r. A nil old adds r, a nil r removes old.
func (c *change) setRelation(old, r *graph.Relation) error {
	if r != nil {
		r.Version = c.number
	}
	return c.writeRelation(old, r)
}

// writeRelation is setRelation without a new version, for rows that Undo restores.
func (c *change) writeRelation(old, r *graph.Relation) error {
	c.wrote = true
	if old != nil {
		c.relations--
		after := int64(0)
		if r != nil {
			after = r.Version
		}
		if err := c.keep("relation", old.ID, old, after); err != nil {
			return err
		}
		if _, err := c.Exec("DELETE FROM relation WHERE id = $1", old.ID); err != nil {
			return err
		}
	}
	if r == nil {
		return nil
	}
	c.relations++
	if old == nil {
		if err := c.keep("relation", r.ID, nil, r.Version); err != nil {
			return err
		}
	}
	properties, err := store.ToJSON(r.Properties, len(r.Properties) == 0)
	if err != nil {
		return err
	}
	p := r.Provenance
	_, err = c.Exec(`INSERT INTO relation (id, agent, usr, source, type, target, properties, confidence,
			valid_from, valid_to, origin, author, session, created, updated, version)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)`,
		r.ID, r.Owner.Agent, r.Owner.User, r.Source, r.Type, r.Target, properties, r.Confidence,
		r.Valid.From, r.Valid.To, p.Source, p.Author, p.Session, p.Created, p.Updated, r.Version)
	return err
}

// keep stores the former version of a row. If the change writes a row twice, the first former
// value and the last version count.
func (c *change) keep(kind, id string, former any, after int64) error {
	encoded, err := store.ToJSON(former, former == nil)
	if at, twice := c.written[id]; twice {
		c.former[at][len(c.former[at])-1] = after
		return nil
	}
	c.written[id] = len(c.former)
	c.former = append(c.former, []any{c.owner.Agent, c.owner.User, c.number, kind, id, encoded, after})
	return err
}
