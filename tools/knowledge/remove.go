package knowledge

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/text"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/tools/knowledge/graph"
)

// remove is the tool that removes and merges entities, and undoes changes.
type remove struct{ graph *Graph }

type removeArgs struct {
	Entity    string   `json:"entity,omitempty" jsonschema:"entity to remove with its relations" alias:"name,entity_id" maxlen:"400"`
	MergeInto string   `json:"merge_into,omitempty" jsonschema:"entity to merge it into" alias:"into,mergeInto" maxlen:"400"`
	Relation  *keyArgs `json:"relation,omitempty" jsonschema:"relation to remove"`
	Undo      int64    `json:"undo,omitempty" jsonschema:"change number to undo" alias:"change"`
}

func (remove) Spec() tool.Spec {
	return tool.Spec{
		Name: "knowledge_graph_remove", Group: group, Title: "Remove knowledge", Risk: tool.Writes,
		Doc: `Removes one of your entities or relations, merges two entities, or undoes a change.
Returns a change number for undo.`,
		Also:     []string{"knowledge_graph_merge"},
		Keywords: "graph entity relation forget delete merge duplicate same wrong undo",
	}
}

func (t remove) Do(ctx context.Context, a removeArgs) (tool.Result, error) {
	given := 0
	for _, isGiven := range []bool{a.Entity != "", a.Relation != nil, a.Undo != 0} {
		if isGiven {
			given++
		}
	}
	if given != 1 || a.MergeInto != "" && a.Entity == "" {
		return tool.Result{}, tool.Errorf(tool.Invalid, "send exactly one of entity, relation and undo").
			Try("to merge a duplicate send entity and merge_into")
	}
	done, err := t.do(ctx, a)
	if err != nil {
		return tool.Result{}, err
	}
	lines := append([]string{done.Summary}, done.Notes...)
	lines = append(lines, fmt.Sprintf("change %d; to undo it use knowledge_graph_remove with undo %[1]d", done.Change))
	return tool.Text(strings.Join(lines, "\n")), nil
}

func (t remove) do(ctx context.Context, a removeArgs) (Removed, error) {
	switch {
	case a.Undo != 0:
		return t.graph.Undo(ctx, a.Undo)
	case a.MergeInto != "":
		return t.graph.Merge(ctx, graph.CleanLine(a.Entity), graph.CleanLine(a.MergeInto))
	case a.Entity != "":
		return t.graph.Remove(ctx, graph.CleanLine(a.Entity))
	}
	key, err := new(reports).key("relation", *a.Relation)
	if err != nil {
		return Removed{}, err
	}
	return t.graph.RemoveRelation(ctx, key)
}

// Removed is the result of a removal, a merge or an undo.
type Removed struct {
	Change  int64
	Summary string
	Notes   []string
}

// maxMoved is how many relations one change removes or moves.
const maxMoved = 10_000

// remove runs f as a change, with the entities that some names mean.
func (g *Graph) remove(
	ctx context.Context, names []string, f func(c *change, found []graph.Entity, done *Removed) error,
) (done Removed, err error) {
	o, err := tool.OwnerFrom(ctx)
	if err != nil {
		return done, err
	}
	err = g.change(ctx, func(c *change) (string, error) {
		done = Removed{Change: c.number}
		found := make([]graph.Entity, len(names))
		for i, name := range names {
			e, err := c.resolve(o, name)
			if err != nil {
				return "", err
			}
			found[i] = e
		}
		err := f(c, found, &done)
		return done.Summary, err
	})
	return done, g.suggest(ctx, o, err)
}

// own returns the owner's version of an entity, and whether there is a shared one. It refuses if there is only that.
func (c *change) own(e graph.Entity) (own graph.Entity, isShared bool, err error) {
	list, err := c.bySlug(c.owner, []string{e.Slug})
	if err != nil {
		return own, false, err
	}
	isOwn := false
	for _, version := range list {
		if version.Owner == c.owner {
			own, isOwn = version, true
		} else {
			isShared = true
		}
	}
	if !isOwn {
		return own, isShared, tool.Errorf(tool.Refused, "%s is shared by all users, so you cannot remove it", e.Slug).
			Try("to correct it add your own version, which takes precedence for you")
	}
	return own, isShared, nil
}

// relationsOf returns the owner's relations with an entity.
func (c *change) relationsOf(slug string) ([]graph.Relation, error) {
	list, err := c.ownRelationsOf(c.owner, slug, maxMoved+1)
	if err == nil && len(list) > maxMoved {
		err = tool.Errorf(tool.TooLarge, "%s has more than %d relations, too many for one change", slug, maxMoved).
			Try("remove some of its relations first")
	}
	return list, err
}

// Remove removes an entity of the caller, with the caller's relations to it.
func (g *Graph) Remove(ctx context.Context, name string) (Removed, error) {
	return g.remove(ctx, []string{name}, func(c *change, found []graph.Entity, done *Removed) error {
		own, isShared, err := c.own(found[0])
		if err != nil {
			return err
		}
		relations, err := c.relationsOf(own.Slug)
		if err != nil {
			return err
		}
		for i := range relations {
			if err := c.setRelation(&relations[i], nil); err != nil {
				return err
			}
		}
		done.Summary = fmt.Sprintf("removed %s and %s", own.Slug, text.Plural(len(relations), "relation"))
		if isShared {
			done.Notes = append(done.Notes, "the shared entity of that name stays")
		}
		return c.setEntity(&own, nil)
	})
}

// RemoveRelation removes a relation of the caller. The key may have any names of the entities.
func (g *Graph) RemoveRelation(ctx context.Context, key graph.Key) (Removed, error) {
	names := []string{key.Source, key.Target}
	return g.remove(ctx, names, func(c *change, found []graph.Entity, done *Removed) error {
		key := graph.Key{Source: found[0].Slug, Type: key.Type, Target: found[1].Slug}
		own, err := c.ownRelation(c.owner, key)
		if err != nil {
			return err
		}
		if len(own) == 0 {
			return tool.Errorf(tool.NotFound, "you have no relation %s", key).
				Try("list yours with knowledge_graph_search and from %q; shared ones cannot be removed", key.Source)
		}
		done.Summary = "removed " + key.String()
		return c.setRelation(&own[0], nil)
	})
}

// Merge adds everything known about one entity to another, and removes the first.
func (g *Graph) Merge(ctx context.Context, name, into string) (Removed, error) {
	return g.remove(ctx, []string{name, into}, func(c *change, found []graph.Entity, done *Removed) error {
		if found[0].Slug == found[1].Slug {
			return tool.Errorf(tool.Invalid, "%q and %q are the same entity, %s", name, into, found[0].Slug).
				Try("name two different entities")
		}
		from, isShared, err := c.own(found[0])
		if err != nil {
			return err
		}
		if isShared {
			done.Notes = append(done.Notes, fmt.Sprintf("the shared entity %s stays", from.Slug))
		}
		target, err := c.mergeInto(found[1], from)
		if err != nil {
			return err
		}
		moved, merged, err := c.moveRelations(from.Slug, target.Slug)
		if err != nil {
			return err
		}
		done.Summary = fmt.Sprintf("merged %s into %s: %s moved, %d merged with others",
			from.Slug, target.Slug, text.Plural(moved, "relation"), merged)
		return c.setEntity(&from, nil)
	})
}

// mergeInto adds the knowledge about from to target. If target is only shared, the owner gets
// its own version.
func (c *change) mergeInto(target, from graph.Entity) (graph.Entity, error) {
	list, err := c.bySlug(c.owner, []string{target.Slug})
	if err != nil {
		return target, err
	}
	base := graph.Entity{
		ID: store.NewID(), Owner: c.owner, Slug: target.Slug, Name: target.Name, Type: target.Type,
		Confidence: from.Confidence, Valid: target.Valid, Provenance: c.provenance,
	}
	var old *graph.Entity
	for i := range list {
		if list[i].Owner == c.owner {
			old, base = &list[i], list[i]
		}
	}
	from.Type, from.Valid = "", graph.Span{}
	merged, _ := base.Merge(from)
	merged.Provenance = c.updated(merged.Provenance)
	return merged, c.setEntity(old, &merged)
}

// moveRelations moves the relations of one entity to another. It merges relations that both
// have, and removes relations between the two.
func (c *change) moveRelations(from, to string) (moved, merged int, err error) {
	relations, err := c.relationsOf(from)
	if err != nil {
		return 0, 0, err
	}
	for i := range relations {
		old, r := &relations[i], relations[i]
		if r.Source == from {
			r.Source = to
		}
		if r.Target == from {
			r.Target = to
		}
		existing, err := c.ownRelation(c.owner, r.Key())
		switch {
		case err != nil:
		case r.Source == r.Target:
			err = c.setRelation(old, nil)
		case len(existing) > 0:
			both, _ := existing[0].Merge(r)
			both.Provenance = c.updated(both.Provenance)
			merged++
			err = cmp.Or(c.setRelation(old, nil), c.setRelation(&existing[0], &both))
		default:
			r.Provenance = c.updated(r.Provenance)
			moved++
			err = c.setRelation(old, &r)
		}
		if err != nil {
			return moved, merged, err
		}
	}
	return moved, merged, nil
}
