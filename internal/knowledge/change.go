package knowledge

import (
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/tools/knowledge/graph"
)

// change is a step that is being taken: it counts what it adds and removes.
type change struct {
	tx     Tx
	owner  graph.Owner
	trace  graph.Trace // of what is new
	number int64
	by     graph.Size
	wrote  bool
}

func begin(tx Tx, o graph.Owner, trace graph.Trace) (*change, error) {
	number, err := tx.Begin(o, graph.Change{Author: trace.Author, Session: trace.Session})
	if err != nil {
		return nil, err
	}
	now, err := tx.Now()
	trace.Created, trace.Updated = now, now
	return &change{tx: tx, owner: o, trace: trace, number: number}, err
}

// traced says who changed something that was there before.
func (c *change) traced(t graph.Trace) graph.Trace {
	t.Author, t.Session, t.Updated = c.trace.Author, c.trace.Session, c.trace.Updated
	return t
}

func (c *change) setEntity(old, e *graph.Entity) error {
	if e != nil {
		e.Version = c.number
	}
	return c.restoreEntity(old, e)
}

// restoreEntity makes an entity what it was, with the version that it had.
func (c *change) restoreEntity(old, e *graph.Entity) error {
	c.wrote = true
	c.by.Entities += grown(old != nil, e != nil)
	return c.tx.SetEntity(c.number, old, e)
}

func (c *change) setRelation(old, r *graph.Relation) error {
	if r != nil {
		r.Version = c.number
	}
	return c.restoreRelation(old, r)
}

// restoreRelation makes a relation what it was, with the version that it had.
func (c *change) restoreRelation(old, r *graph.Relation) error {
	c.wrote = true
	c.by.Relations += grown(old != nil, r != nil)
	return c.tx.SetRelation(c.number, old, r)
}

func grown(before, after bool) int64 {
	switch {
	case before == after:
		return 0
	case after:
		return 1
	}
	return -1
}

// end ends the step, or undoes it when it changed nothing or made too much.
func (c *change) end(summary string) error {
	if !c.wrote {
		return errSame
	}
	now, err := c.tx.End(c.owner, c.number, graph.Cut(summary, 200), c.by)
	if err != nil {
		return err
	}
	if c.by.Entities > 0 && now.Entities > mostEntities || c.by.Relations > 0 && now.Relations > mostRelations {
		return tool.Errorf(tool.TooLarge, "there would be %d entities and %d relations, the most is %d and %d",
			now.Entities, now.Relations, mostEntities, mostRelations).Try("remove what is not needed any more")
	}
	return nil
}
