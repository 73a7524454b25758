package knowledge

import (
	"context"
	"fmt"
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/tools/knowledge/graph"
)

// Undo reverts a change of the caller, unless a later change touched the same rows. Undoing is
// a change itself.
func (g *Graph) Undo(ctx context.Context, number int64) (Removed, error) {
	return g.remove(ctx, nil, func(c *change, _ []graph.Entity, done *Removed) error {
		undone, err := c.undoable(number)
		if err != nil {
			return err
		}
		former, err := c.formerRows(c.owner, number)
		if err != nil {
			return err
		}
		u := undo{
			change: c, former: former,
			entities: map[string]graph.Entity{}, relations: map[string]graph.Relation{},
		}
		for _, step := range []func() error{u.read, u.remove, u.restore, u.check} {
			if err := step(); err != nil {
				return err
			}
		}
		done.Summary = fmt.Sprintf("undid %d: %s", number, undone.summary)
		_, err = c.Exec("UPDATE knowledge_change SET undone = $4 WHERE agent = $1 AND usr = $2 AND number = $3",
			c.owner.Agent, c.owner.User, number, c.number)
		return err
	})
}

// maxLatest is how many changes the error about an unknown one names.
const maxLatest = 5

// undoable returns the record of a change that is not undone yet.
func (c *change) undoable(number int64) (changeRecord, error) {
	found, err := c.changes(c.owner, number, 1)
	if err != nil {
		return changeRecord{}, err
	}
	if number > 0 && number < c.number && len(found) == 1 {
		if by := found[0].undone; by != 0 {
			return found[0], tool.Errorf(tool.Conflict, "change %d was already undone by change %d", number, by).
				Try("to redo it undo change %d", by)
		}
		return found[0], nil
	}
	latest, err := c.changes(c.owner, 0, maxLatest)
	if err != nil {
		return changeRecord{}, err
	}
	var names []string
	for _, one := range latest {
		names = append(names, fmt.Sprintf("%d %s", one.number, one.summary))
	}
	wrong := tool.Errorf(tool.NotFound, "you have no change %d, or it is too old", number)
	if len(names) > 0 {
		return changeRecord{}, wrong.Try("your latest are: %s", strings.Join(names, "; "))
	}
	return changeRecord{}, wrong.Try("there is nothing that you can undo")
}

// undo is a change that reverts another: it removes the rows of that change, and restores the
// former ones.
type undo struct {
	*change
	former []formerRow

	entities  map[string]graph.Entity // that exist now, by id
	relations map[string]graph.Relation
}

// read reads the rows that the change left. It fails if a later change touched any of them.
func (u *undo) read() error {
	var ids []string
	for _, f := range u.former {
		if !f.isRelation {
			ids = append(ids, f.id)
			continue
		}
		found, err := u.ownRelationByID(u.owner, f.id)
		if err != nil {
			return err
		}
		if len(found) == 0 && f.after != 0 {
			return removedLater()
		}
		for _, r := range found {
			if r.Version != f.after {
				return changedLater(r.Key().String(), r.Version)
			}
			u.relations[r.ID] = r
		}
	}
	entities, err := u.byID(u.owner, ids)
	if err != nil {
		return err
	}
	for _, e := range entities {
		u.entities[e.ID] = e
	}
	for _, f := range u.former {
		e, exists := u.entities[f.id]
		switch {
		case f.isRelation:
		case !exists && f.after != 0:
			return removedLater()
		case exists && e.Version != f.after:
			return changedLater(e.Slug, e.Version)
		}
	}
	return nil
}

func removedLater() error {
	return tool.Errorf(tool.Conflict, "something that this change wrote was removed later").
		Try("undo the later change first")
}

func changedLater(what string, by int64) error {
	return tool.Errorf(tool.Conflict, "%s was changed later, by change %d", what, by).Try("undo change %d first", by)
}

// remove removes the rows of the change.
func (u *undo) remove() error {
	for _, f := range u.former {
		if r, ok := u.relations[f.id]; ok {
			if err := u.setRelation(&r, nil); err != nil {
				return err
			}
		}
		if e, ok := u.entities[f.id]; ok {
			if err := u.setEntity(&e, nil); err != nil {
				return err
			}
		}
	}
	return nil
}

// restore writes the former rows again.
func (u *undo) restore() error {
	for _, f := range u.former {
		switch {
		case f.entity != nil:
			list, err := u.bySlug(u.owner, []string{f.entity.Slug})
			if err != nil {
				return err
			}
			for _, e := range list {
				if e.Owner == u.owner {
					return changedLater(e.Slug, e.Version)
				}
			}
			if err := u.writeEntity(nil, f.entity); err != nil {
				return err
			}
		case f.relation != nil:
			existing, err := u.ownRelation(u.owner, f.relation.Key())
			if err != nil {
				return err
			}
			if len(existing) > 0 {
				return changedLater(existing[0].Key().String(), existing[0].Version)
			}
			if err := u.writeRelation(nil, f.relation); err != nil {
				return err
			}
		}
	}
	return nil
}

// check fails if a relation would be left without one of its entities.
func (u *undo) check() error {
	var ends []string
	restored := map[string]bool{} // ids of relations
	for _, f := range u.former {
		if f.relation != nil {
			restored[f.id] = true
			ends = append(ends, f.relation.Source, f.relation.Target)
		}
	}
	for _, e := range u.entities {
		ends = append(ends, e.Slug)
	}
	list, err := u.bySlug(u.owner, ends)
	if err != nil {
		return err
	}
	existing := graph.Resolve(list)
	for _, slug := range ends {
		if _, ok := existing[slug]; ok {
			continue
		}
		left, err := u.ownRelationsOf(u.owner, slug, 1)
		switch {
		case err != nil:
			return err
		case len(left) == 0:
		case restored[left[0].ID]:
			return tool.Errorf(tool.Conflict, "undoing would restore relations with %s, which no longer exists", slug).
				Try("undo the change that removed it first")
		default:
			return changedLater(left[0].Key().String(), left[0].Version)
		}
	}
	return nil
}
