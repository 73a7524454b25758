package knowledge

import (
	"context"
	"fmt"

	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/tools/knowledge"
	"github.com/mcp-tools/mcp-tools/tools/knowledge/graph"
)

// mostMoved is how many relations one step removes or moves.
const mostMoved = 10_000

// removing takes one step for a caller. What is wrong with a name is said with
// the names that are like it.
func (g *Graph) removing(ctx context.Context, names []string, step func(c *change, found []graph.Entity, done *knowledge.Done) error) (done knowledge.Done, err error) {
	o, trace, err := owner(ctx)
	if err != nil {
		return done, err
	}
	var wrong error
	unknown := ""
	err = g.update(ctx, func(tx Tx) error {
		done, wrong = knowledge.Done{}, nil
		c, err := begin(tx, o, trace)
		if err != nil {
			return err
		}
		found := make([]graph.Entity, len(names))
		for i, name := range names {
			if found[i], wrong, err = resolve(tx, o, name); err != nil || wrong != nil {
				unknown = name
				return firstOf(err, wrong)
			}
		}
		if err := step(c, found, &done); err != nil {
			return err
		}
		done.Change = c.number
		return c.end(done.Summary)
	})
	if wrong != nil {
		return done, g.suggest(ctx, o, unknown, wrong)
	}
	return done, err
}

func firstOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// own returns the owner's row of an entity, and refuses what is only shared.
func (c *change) own(e graph.Entity) (own graph.Entity, shared bool, err error) {
	rows, err := c.tx.Entities(c.owner, []string{e.Slug})
	if err != nil {
		return own, false, err
	}
	found := false
	for _, row := range rows {
		if row.Owner == c.owner {
			own, found = row, true
		} else {
			shared = true
		}
	}
	if !found {
		return own, shared, tool.Errorf(tool.Refused, "%s is shared by all users, and not yours to remove", e.Slug).
			Try("add what you know better of it yourself: it comes first for you")
	}
	return own, shared, nil
}

// links are the owner's relations with an entity.
func (c *change) links(slug string) ([]graph.Relation, error) {
	list, err := c.tx.RelationsOf(c.owner, slug, mostMoved+1)
	if err == nil && len(list) > mostMoved {
		err = tool.Errorf(tool.TooLarge, "%s has more than %d relations, too many for one step", slug, mostMoved).
			Try("remove some of its relations first")
	}
	return list, err
}

// Remove removes an entity of the caller's, with the caller's relations to it.
func (g *Graph) Remove(ctx context.Context, name string) (knowledge.Done, error) {
	return g.removing(ctx, []string{name}, func(c *change, found []graph.Entity, done *knowledge.Done) error {
		own, shared, err := c.own(found[0])
		if err != nil {
			return err
		}
		links, err := c.links(own.Slug)
		if err != nil {
			return err
		}
		for i := range links {
			if err := c.setRelation(&links[i], nil); err != nil {
				return err
			}
		}
		done.Summary = fmt.Sprintf("removed %s and %s", own.Slug, counted(len(links), "relation"))
		if shared {
			done.Notes = append(done.Notes, "what all users share of it stays")
		}
		return c.setEntity(&own, nil)
	})
}

func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// Unlink removes a relation of the caller's.
func (g *Graph) Unlink(ctx context.Context, link graph.Link) (knowledge.Done, error) {
	return g.removing(ctx, []string{link.Source, link.Target}, func(c *change, found []graph.Entity, done *knowledge.Done) error {
		link := graph.Link{Source: found[0].Slug, Type: link.Type, Target: found[1].Slug}
		text := link.Source + " " + link.Type + " " + link.Target
		own, err := c.tx.Relation(c.owner, link)
		if err != nil {
			return err
		}
		if len(own) == 0 {
			return tool.Errorf(tool.NotFound, "you have no relation %s", text).
				Try("see knowledge_graph_search from %s; what all users share is not yours to remove", link.Source)
		}
		done.Summary = "removed " + text
		return c.setRelation(&own[0], nil)
	})
}

// Merge makes one entity of two.
func (g *Graph) Merge(ctx context.Context, name, into string) (knowledge.Done, error) {
	return g.removing(ctx, []string{name, into}, func(c *change, found []graph.Entity, done *knowledge.Done) error {
		if found[0].Slug == found[1].Slug {
			return tool.Errorf(tool.Invalid, "%q and %q are already one entity, %s", name, into, found[0].Slug).Try("name two")
		}
		from, shared, err := c.own(found[0])
		if err != nil {
			return err
		}
		if shared {
			done.Notes = append(done.Notes, fmt.Sprintf("what all users share of %s stays", from.Slug))
		}
		target, err := c.target(found[1], from)
		if err != nil {
			return err
		}
		moved, joined, err := c.move(from.Slug, target.Slug)
		if err != nil {
			return err
		}
		done.Summary = fmt.Sprintf("merged %s into %s: %s moved, %d joined others", from.Slug, target.Slug, counted(moved, "relation"), joined)
		return c.setEntity(&from, nil)
	})
}

// target adds to the entity that stays what is known of the one that goes. Of
// one that is only shared, the owner gets a row of their own.
func (c *change) target(into, from graph.Entity) (graph.Entity, error) {
	rows, err := c.tx.Entities(c.owner, []string{into.Slug})
	if err != nil {
		return into, err
	}
	var old *graph.Entity
	for i := range rows {
		if rows[i].Owner == c.owner {
			old = &rows[i]
		}
	}
	base := graph.Entity{
		ID: c.tx.NewID(), Owner: c.owner, Slug: into.Slug, Name: into.Name, Type: into.Type,
		Confidence: from.Confidence, Valid: into.Valid, Trace: c.trace,
	}
	if old != nil {
		base = *old
	}
	from.Type, from.Valid = "", graph.Span{}
	merged, _ := base.Merge(from)
	merged.Trace = c.traced(merged.Trace)
	return merged, c.setEntity(old, &merged)
}

// move makes an entity's relations those of another. One that the other has
// already joins it, and one between the two is no more.
func (c *change) move(from, to string) (moved, joined int, err error) {
	links, err := c.links(from)
	if err != nil {
		return 0, 0, err
	}
	for i := range links {
		old, r := &links[i], links[i]
		if r.Source == from {
			r.Source = to
		}
		if r.Target == from {
			r.Target = to
		}
		twin, err := c.tx.Relation(c.owner, r.Link())
		switch {
		case err != nil:
			return moved, joined, err
		case r.Source == r.Target:
			err = c.setRelation(old, nil)
		case len(twin) > 0:
			both, _ := twin[0].Merge(r)
			both.Trace = c.traced(both.Trace)
			joined++
			err = firstOf(c.setRelation(old, nil), c.setRelation(&twin[0], &both))
		default:
			r.Trace = c.traced(r.Trace)
			moved++
			err = c.setRelation(old, &r)
		}
		if err != nil {
			return moved, joined, err
		}
	}
	return moved, joined, nil
}
