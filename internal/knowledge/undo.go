package knowledge

import (
	"context"
	"fmt"
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/tools/knowledge"
	"github.com/mcp-tools/mcp-tools/tools/knowledge/graph"
)

// latest is how many changes are named to who asks for one that is not there.
const latest = 5

// Undo takes a change back. That is a change, too, and can be undone.
func (g *Graph) Undo(ctx context.Context, number int64) (knowledge.Done, error) {
	return g.removing(ctx, nil, func(c *change, _ []graph.Entity, done *knowledge.Done) error {
		what, err := c.undoable(number)
		if err != nil {
			return err
		}
		past, err := c.tx.Past(c.owner, number)
		if err != nil {
			return err
		}
		u := undoing{change: c, past: past}
		if err := firstError(u.collect, u.remove, u.restore, u.check); err != nil {
			return err
		}
		done.Summary = fmt.Sprintf("undid %d: %s", number, what.Summary)
		return c.tx.Undone(c.owner, number, c.number)
	})
}

func firstError(steps ...func() error) error {
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// undoable looks a change up.
func (c *change) undoable(number int64) (graph.Change, error) {
	found, err := c.tx.Changes(c.owner, number, 1)
	if err != nil {
		return graph.Change{}, err
	}
	if number > 0 && number < c.number && len(found) == 1 {
		if by := found[0].Undone; by != 0 {
			return found[0], tool.Errorf(tool.Conflict, "change %d was already undone by change %d", number, by).
				Try("to have it again undo change %d", by)
		}
		return found[0], nil
	}
	list, err := c.tx.Changes(c.owner, 0, latest+1)
	if err != nil {
		return graph.Change{}, err
	}
	var names []string
	for _, one := range list {
		if one.Number != c.number { // the one that is just being made
			names = append(names, fmt.Sprintf("%d %s", one.Number, one.Summary))
		}
	}
	wrong := tool.Errorf(tool.NotFound, "there is no change %d of yours, or it is too old", number)
	if len(names) > 0 {
		wrong = wrong.Try("your latest are: %s", strings.Join(names, "; "))
	}
	return graph.Change{}, wrong
}

// undoing is a change that takes another back: first whatever that one wrote
// goes, then what was there before returns.
type undoing struct {
	*change
	past []graph.Past

	entities  map[string]graph.Entity // that are there now, by id
	relations map[string]graph.Relation
}

// collect finds what the change has left, as long as nothing else has touched
// it since.
func (u *undoing) collect() error {
	u.entities, u.relations = map[string]graph.Entity{}, map[string]graph.Relation{}
	var ids []string
	for _, p := range u.past {
		if !p.Relation {
			ids = append(ids, p.ID)
			continue
		}
		found, err := u.tx.RelationByID(u.owner, p.ID)
		if err != nil {
			return err
		}
		if len(found) == 0 && p.After != 0 {
			return goneSince()
		}
		for _, r := range found {
			if r.Version != p.After {
				return changedSince(r.Source+" "+r.Type+" "+r.Target, r.Version)
			}
			u.relations[r.ID] = r
		}
	}
	rows, err := u.tx.ByID(u.owner, ids)
	if err != nil {
		return err
	}
	for _, e := range rows {
		u.entities[e.ID] = e
	}
	for _, p := range u.past {
		e, there := u.entities[p.ID]
		switch {
		case p.Relation:
		case !there && p.After != 0:
			return goneSince()
		case there && e.Version != p.After:
			return changedSince(e.Slug, e.Version)
		}
	}
	return nil
}

func goneSince() error {
	return tool.Errorf(tool.Conflict, "something of it was removed since").Try("undo the later change that removed it first")
}

func changedSince(what string, by int64) error {
	return tool.Errorf(tool.Conflict, "%s was changed since, by change %d", what, by).Try("undo change %d first", by)
}

// remove removes relations, then entities, that have to go or to be replaced.
func (u *undoing) remove() error {
	for _, p := range u.past {
		if r, ok := u.relations[p.ID]; ok {
			if err := u.setRelation(&r, nil); err != nil {
				return err
			}
		}
		if e, ok := u.entities[p.ID]; ok {
			if err := u.setEntity(&e, nil); err != nil {
				return err
			}
		}
	}
	return nil
}

// restore puts back what was there before.
func (u *undoing) restore() error {
	for _, p := range u.past {
		switch {
		case p.Entity != nil:
			rows, err := u.tx.Entities(u.owner, []string{p.Entity.Slug})
			if err != nil {
				return err
			}
			for _, e := range rows {
				if e.Owner == u.owner {
					return changedSince(e.Slug, e.Version)
				}
			}
			if err := u.restoreEntity(nil, p.Entity); err != nil {
				return err
			}
		case p.Link != nil:
			twin, err := u.tx.Relation(u.owner, p.Link.Link())
			if err != nil {
				return err
			}
			if len(twin) > 0 {
				return changedSince(twin[0].Source+" "+twin[0].Type+" "+twin[0].Target, twin[0].Version)
			}
			if err := u.restoreRelation(nil, p.Link); err != nil {
				return err
			}
		}
	}
	return nil
}

// check makes sure that no relation is left without its ends.
func (u *undoing) check() error {
	var ends []string
	returned := map[string]bool{}
	for _, p := range u.past {
		if p.Link != nil {
			returned[p.ID] = true
			ends = append(ends, p.Link.Source, p.Link.Target)
		}
	}
	for _, e := range u.entities {
		ends = append(ends, e.Slug)
	}
	rows, err := u.tx.Entities(u.owner, ends)
	if err != nil {
		return err
	}
	there := graph.Seen(rows)
	for _, slug := range ends {
		if _, ok := there[slug]; ok {
			continue
		}
		left, err := u.tx.RelationsOf(u.owner, slug, 1)
		if err != nil {
			return err
		}
		if len(left) > 0 && !returned[left[0].ID] {
			return changedSince(left[0].Source+" "+left[0].Type+" "+left[0].Target, left[0].Version)
		}
		if len(left) > 0 {
			return tool.Errorf(tool.Conflict, "%s is no more, and relations with it would return", slug).
				Try("undo the change that removed it first")
		}
	}
	return nil
}
