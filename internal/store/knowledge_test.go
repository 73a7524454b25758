package store_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/store/storetest"
	"github.com/mcp-tools/mcp-tools/tools/knowledge/graph"
)

func entity(o graph.Owner, name string) graph.Entity {
	return graph.Entity{
		ID: store.NewID(), Owner: o, Slug: graph.Slug(name), Name: name, Aliases: []string{"The " + name}, Type: "person",
		Description: "about " + name, Properties: map[string]string{"k": "v"}, Confidence: 0.9, Valid: graph.Always(),
		Trace: graph.Trace{Source: "notes", Author: "a/u", Session: "s", Created: 1, Updated: 2}, Version: 1,
	}
}

func relation(o graph.Owner, source, kind, target string, confidence float64) graph.Relation {
	return graph.Relation{
		ID: store.NewID(), Owner: o, Source: source, Type: kind, Target: target, Properties: map[string]string{"k": "v"},
		Confidence: confidence, Valid: graph.Span{From: 10, To: 20}, Trace: graph.Trace{Author: "a/u", Created: 1, Updated: 2},
	}
}

// write makes one change, and fails the test where it cannot.
func write(t *testing.T, s *store.Store, o graph.Owner, f func(tx store.KnowledgeTx, n int64) error) {
	t.Helper()
	err := s.Knowledge().Update(t.Context(), func(tx store.KnowledgeTx) error {
		number, err := tx.Begin(o, graph.Change{Author: "a/u", Session: "s"})
		if err != nil {
			return err
		}
		return f(tx, number)
	})
	if err != nil {
		t.Fatal(err)
	}
}

func view(t *testing.T, s *store.Store, f func(tx store.KnowledgeTx) error) {
	t.Helper()
	if err := s.Knowledge().View(t.Context(), f); err != nil {
		t.Fatal(err)
	}
}

func TestKnowledgeComesBackAsItWas(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		own := graph.Owner{Agent: "a", User: "u"}
		e, r := entity(own, "Ada"), relation(own, "ada", "knows", "bob", 0.5)
		bare := graph.Entity{ID: store.NewID(), Owner: own, Slug: "bob", Name: "Bob", Type: "person", Confidence: 1, Valid: graph.Always()}
		write(t, s, own, func(tx store.KnowledgeTx, n int64) error {
			return errors.Join(tx.SetEntity(n, nil, &e), tx.SetEntity(n, nil, &bare), tx.SetRelation(n, nil, &r))
		})
		view(t, s, func(tx store.KnowledgeTx) error {
			got, err := tx.Entities(own, []string{"ada", "bob", "carol"})
			if len(got) == 2 && got[0].Slug == "bob" {
				got[0], got[1] = got[1], got[0]
			}
			if diff := cmp.Diff([]graph.Entity{e, bare}, got); diff != "" || err != nil {
				t.Errorf("%v, -want +got:\n%s", err, diff)
			}
			links, more, err := tx.Links(own, []string{"ada", "bob"}, 10, 15)
			if diff := cmp.Diff([]graph.Relation{r}, links); diff != "" || more || err != nil {
				t.Errorf("%v %v -want +got:\n%s", more, err, diff)
			}
			if links, _, err := tx.Links(own, []string{"ada"}, 10, 20); len(links) > 0 || err != nil {
				t.Errorf("what is no longer true is found: %v %v", links, err)
			}
			alike, err := tx.Alike(own, graph.Head("the-adb"), 5)
			if len(alike) != 1 || err != nil {
				t.Errorf("%v, %v begin like an alias", alike, err)
			}
			return nil
		})
		changes, err := s.Changes(t.Context(), store.Cursor{}, 10)
		if err != nil || len(changes) != 3 || changes[0].Topic != store.EntityTopic || changes[0].Key != e.ID {
			t.Errorf("%v, %v were told", changes, err)
		}
	})
}

func TestKnowledgeOfOthersIsNotSeen(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		own, other, stranger := graph.Owner{Agent: "a", User: "u"}, graph.Owner{Agent: "a", User: "v"}, graph.Owner{Agent: "b", User: "u"}
		ids := map[graph.Owner]string{}
		var links []string
		for _, o := range []graph.Owner{own, other, stranger, own.Shared(), stranger.Shared()} {
			e, r := entity(o, "Ada"), relation(o, "ada", "knows", "bob-"+o.Agent+o.User, 0.5)
			ids[o] = e.ID
			links = append(links, r.ID)
			write(t, s, o, func(tx store.KnowledgeTx, n int64) error {
				return errors.Join(tx.SetEntity(n, nil, &e), tx.SetRelation(n, nil, &r))
			})
		}
		var all []string
		for _, id := range ids {
			all = append(all, id)
		}
		want := map[string]bool{ids[own]: true, ids[own.Shared()]: true}
		view(t, s, func(tx store.KnowledgeTx) error {
			for name, look := range map[string]func() ([]graph.Entity, error){
				"entities": func() ([]graph.Entity, error) { return tx.Entities(own, []string{"ada"}) },
				"named":    func() ([]graph.Entity, error) { return tx.Named(own, []string{"the-ada"}) },
				"by id":    func() ([]graph.Entity, error) { return tx.ByID(own, all) },
				"alike":    func() ([]graph.Entity, error) { return tx.Alike(own, "ada", 10) },
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
			list, err := tx.List(own, graph.Listing{At: 5, Limit: 10})
			if len(list) != 1 || list[0].ID != ids[own] || err != nil {
				t.Errorf("listed are %v, %v", list, err)
			}
			found, _, err := tx.Links(own, []string{"ada"}, 10, 15)
			if len(found) != 2 || err != nil {
				t.Errorf("links: %v, %v", found, err)
			}
			for i, id := range links {
				if found, err := tx.RelationByID(own, id); (len(found) == 1) != (i == 0) || err != nil {
					t.Errorf("relation %d: %v, %v", i, found, err)
				}
			}
			if of, err := tx.RelationsOf(own, "ada", 10); len(of) != 1 || err != nil {
				t.Errorf("relations of ada: %v, %v", of, err)
			}
			if past, err := tx.Past(own, 1); len(past) != 2 || err != nil {
				t.Errorf("past: %v, %v", past, err)
			}
			return nil
		})
	})
}

// TestChangesOfOneOwnerWait has many who change what one owner knows at once:
// every change has a number of its own, and the counts are right.
func TestChangesOfOneOwnerWait(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		const writers, each = 8, 10
		own := graph.Owner{Agent: "a", User: "u"}
		var all sync.WaitGroup
		for w := range writers {
			all.Go(func() {
				for i := range each {
					err := s.Knowledge().Update(t.Context(), func(tx store.KnowledgeTx) error {
						n, err := tx.Begin(own, graph.Change{})
						if err != nil {
							return err
						}
						rows, err := tx.Entities(own, []string{"ada"})
						if err != nil {
							return err
						}
						e, old := entity(own, "Ada"), (*graph.Entity)(nil)
						by := graph.Size{Entities: 1}
						if len(rows) > 0 {
							old, e, by = &rows[0], rows[0], graph.Size{}
						}
						e.Version = n
						e.Description += fmt.Sprintf(" %d.%d", w, i)
						if err := tx.SetEntity(n, old, &e); err != nil {
							return err
						}
						_, err = tx.End(own, n, "x", by)
						return err
					})
					if err != nil {
						t.Error(err)
					}
				}
			})
		}
		all.Wait()
		view(t, s, func(tx store.KnowledgeTx) error {
			rows, err := tx.Entities(own, []string{"ada"})
			if err != nil || len(rows) != 1 || rows[0].Version != writers*each {
				t.Errorf("%v, %v", rows, err)
			}
			return nil
		})
		n, err := s.Knowledge().Sweep(t.Context(), -time.Hour)
		if n != writers*each || err != nil {
			t.Errorf("%d changes were forgotten, %v", n, err)
		}
		view(t, s, func(tx store.KnowledgeTx) error {
			if past, err := tx.Past(own, 1); len(past) > 0 || err != nil {
				t.Errorf("%v, %v is left", past, err)
			}
			return nil
		})
	})
}

func TestLinksAreBoundedByTheirConfidence(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		own := graph.Owner{Agent: "a", User: "u"}
		write(t, s, own, func(tx store.KnowledgeTx, n int64) error {
			for i := range 50 {
				r := relation(own, "hub", "knows", fmt.Sprintf("x%d", i), float64(i+1)/100)
				if err := tx.SetRelation(n, nil, &r); err != nil {
					return err
				}
			}
			return nil
		})
		write(t, s, own.Shared(), func(tx store.KnowledgeTx, n int64) error {
			shared := relation(own.Shared(), "hub", "knows", "x49", 1)
			return tx.SetRelation(n, nil, &shared)
		})
		view(t, s, func(tx store.KnowledgeTx) error {
			links, more, err := tx.Links(own, []string{"hub", "x3", "nobody"}, 5, 15)
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
