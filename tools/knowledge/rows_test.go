package knowledge

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/tools/knowledge/graph"
)

func entity(o tool.Owner, name string) graph.Entity {
	return graph.Entity{
		ID: store.NewID(), Owner: o, Slug: graph.Slug(name), Name: name, Aliases: []string{"The " + name}, Type: "person",
		Description: "about " + name, Properties: map[string]string{"k": "v"}, Confidence: 0.9, Valid: graph.Always(),
		Provenance: graph.Provenance{Source: "notes", Author: "a/u", Session: "s", Created: 1, Updated: 2}, Version: 1,
	}
}

func relation(o tool.Owner, source, kind, target string, confidence float64) graph.Relation {
	return graph.Relation{
		ID: store.NewID(), Owner: o, Source: source, Type: kind, Target: target, Properties: map[string]string{"k": "v"},
		Confidence: confidence, Valid: graph.Span{From: 10, To: 20},
		Provenance: graph.Provenance{Author: "a/u", Created: 1, Updated: 2},
	}
}

// write makes one change of what an owner knows.
func (w *world) write(o tool.Owner, f func(c *change) error) {
	w.t.Helper()
	ctx := tool.With(w.t.Context(), &tool.Running{Caller: tool.Caller{Agent: o.Agent, User: o.User, Session: "s"}})
	if err := w.change(ctx, func(c *change) (string, error) { return "x", f(c) }); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) read(f func(r rows) error) {
	w.t.Helper()
	if err := w.view(w.t.Context(), f); err != nil {
		w.t.Fatal(err)
	}
}

func TestRowsRoundTrip(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		own := tool.Owner{Agent: "a", User: "u"}
		e, r := entity(own, "Ada"), relation(own, "ada", "knows", "bob", 0.5)
		bare := graph.Entity{
			ID: store.NewID(), Owner: own, Slug: "bob", Name: "Bob", Type: "person", Confidence: 1, Valid: graph.Always(),
		}
		w.write(own, func(c *change) error {
			return errors.Join(c.writeEntity(nil, &e), c.writeEntity(nil, &bare), c.writeRelation(nil, &r))
		})
		w.read(func(q rows) error {
			got, err := q.bySlug(own, []string{"ada", "bob", "carol"})
			if len(got) == 2 && got[0].Slug == "bob" {
				got[0], got[1] = got[1], got[0]
			}
			if diff := cmp.Diff([]graph.Entity{e, bare}, got); diff != "" || err != nil {
				t.Errorf("%v, -want +got:\n%s", err, diff)
			}
			links, more, err := q.relationsAt(own, []string{"ada", "bob"}, 10, 15)
			if diff := cmp.Diff([]graph.Relation{r}, links); diff != "" || more || err != nil {
				t.Errorf("%v %v -want +got:\n%s", more, err, diff)
			}
			if links, _, err := q.relationsAt(own, []string{"ada"}, 10, 20); len(links) > 0 || err != nil {
				t.Errorf("found a relation that is no longer valid: %v %v", links, err)
			}
			alike, err := q.namesWithPrefix(own, graph.Prefix("the-adb"), 5)
			if len(alike) != 1 || err != nil {
				t.Errorf("found %v, %v by the prefix of an alias", alike, err)
			}
			return nil
		})
		changes, err := w.store.Changes(t.Context(), store.Cursor{}, 10)
		if err != nil || len(changes) != 2 || changes[0].Topic != topic || changes[0].Key != e.ID {
			t.Errorf("the change feed has %v, %v", changes, err)
		}
	})
}

func TestRowsOfOtherOwnersAreInvisible(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		own, other := tool.Owner{Agent: "a", User: "u"}, tool.Owner{Agent: "a", User: "v"}
		foreign := tool.Owner{Agent: "b", User: "u"}
		ids := map[tool.Owner]string{}
		var links []string
		for _, o := range []tool.Owner{own, other, foreign, own.Shared(), foreign.Shared()} {
			e, r := entity(o, "Ada"), relation(o, "ada", "knows", "bob-"+o.Agent+o.User, 0.5)
			ids[o] = e.ID
			links = append(links, r.ID)
			w.write(o, func(c *change) error {
				return errors.Join(c.writeEntity(nil, &e), c.writeRelation(nil, &r))
			})
		}
		var all []string
		for _, id := range ids {
			all = append(all, id)
		}
		want := map[string]bool{ids[own]: true, ids[own.Shared()]: true}
		w.read(func(q rows) error {
			for name, look := range map[string]func() ([]graph.Entity, error){
				"entities": func() ([]graph.Entity, error) { return q.bySlug(own, []string{"ada"}) },
				"named":    func() ([]graph.Entity, error) { return q.byName(own, []string{"the-ada"}) },
				"by id":    func() ([]graph.Entity, error) { return q.byID(own, all) },
				"alike": func() ([]graph.Entity, error) {
					names, err := q.namesWithPrefix(own, "ada", 10)
					var list []graph.Entity
					for _, n := range names {
						found, _ := q.byID(own, []string{n.entity})
						list = append(list, found...)
					}
					return list, err
				},
			} {
				got, err := look()
				found := map[string]bool{}
				for _, e := range got {
					found[e.ID] = true
				}
				if !cmp.Equal(want, found) || err != nil {
					t.Errorf("%s: %v, %v", name, got, err)
				}
			}
			list, err := q.byConfidence(own, "", 5, 10, 0)
			if len(list) != 1 || list[0].ID != ids[own] || err != nil {
				t.Errorf("listed %v, %v", list, err)
			}
			found, _, err := q.relationsAt(own, []string{"ada"}, 10, 15)
			if len(found) != 2 || err != nil {
				t.Errorf("links: %v, %v", found, err)
			}
			for i, id := range links {
				if found, err := q.ownRelationByID(own, id); (len(found) == 1) != (i == 0) || err != nil {
					t.Errorf("relation %d: %v, %v", i, found, err)
				}
			}
			if of, err := q.ownRelationsOf(own, "ada", 10); len(of) != 1 || err != nil {
				t.Errorf("relations of ada: %v, %v", of, err)
			}
			if past, err := q.formerRows(own, 1); len(past) != 2 || err != nil {
				t.Errorf("past: %v, %v", past, err)
			}
			return nil
		})
	})
}

// TestConcurrentChangesOfOneOwner changes the knowledge of one owner concurrently: every change must have its own
// number, and none may be lost.
func TestConcurrentChangesOfOneOwner(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		const writers, each = 8, 10
		own := tool.Owner{Agent: "a", User: "u"}
		var all sync.WaitGroup
		for writer := range writers {
			all.Go(func() {
				for i := range each {
					err := w.change(as(t, "u"), func(c *change) (string, error) {
						found, err := c.bySlug(own, []string{"ada"})
						if err != nil {
							return "", err
						}
						e, old := entity(own, "Ada"), (*graph.Entity)(nil)
						if len(found) > 0 {
							old, e = &found[0], found[0]
						}
						e.Description += fmt.Sprintf(" %d.%d", writer, i)
						return "x", c.setEntity(old, &e)
					})
					if err != nil {
						t.Error(err)
					}
				}
			})
		}
		all.Wait()
		w.read(func(q rows) error {
			found, err := q.bySlug(own, []string{"ada"})
			if err != nil || len(found) != 1 || found[0].Version != writers*each {
				t.Errorf("%v, %v", found, err)
			}
			return nil
		})
		n, err := w.sweep(t.Context(), -time.Hour)
		if n != writers*each || err != nil {
			t.Errorf("%d changes were deleted, %v", n, err)
		}
		w.read(func(q rows) error {
			if past, err := q.formerRows(own, 1); len(past) > 0 || err != nil {
				t.Errorf("%v, %v remains", past, err)
			}
			return nil
		})
	})
}

func TestRelationsAtReturnsTheMostCertain(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		own := tool.Owner{Agent: "a", User: "u"}
		w.write(own, func(c *change) error {
			for i := range 50 {
				r := relation(own, "hub", "knows", fmt.Sprintf("x%d", i), float64(i+1)/100)
				if err := c.writeRelation(nil, &r); err != nil {
					return err
				}
			}
			return nil
		})
		w.write(own.Shared(), func(c *change) error {
			shared := relation(own.Shared(), "hub", "knows", "x49", 1)
			return c.writeRelation(nil, &shared)
		})
		w.read(func(q rows) error {
			links, more, err := q.relationsAt(own, []string{"hub", "x3", "missing"}, 5, 15)
			if !more || err != nil || len(links) != 6 {
				t.Fatalf("%d links, %v, %v", len(links), more, err)
			}
			for i, r := range links[:5] {
				if want := fmt.Sprintf("x%d", 49-i); r.Target != want || r.Owner != own {
					t.Errorf("link %d goes to %s of %v, not to %s", i, r.Target, r.Owner, want)
				}
			}
			if links[5].Target != "x3" {
				t.Errorf("the last is %v", links[5])
			}
			return nil
		})
	})
}
