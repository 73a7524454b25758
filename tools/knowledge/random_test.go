package knowledge

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/tools/knowledge/graph"
)

// TestUndoAllInReverse makes random changes and undoes them, the last first. After each undo the contents must be what
// they were before that change.
func TestUndoAllInReverse(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		random := rand.New(rand.NewPCG(7, 7))
		w.must("", "add", `{"entities": [{"name": "n0", "description": "shared"}, {"name": "n1"}], "relations": [{"source": "n0", "type": "t", "target": "n1"}]}`)
		var before []contents
		name := func() string { return fmt.Sprintf("n%d", random.IntN(8)) }
		for len(before) < 60 {
			now := w.contents("u")
			var err error
			switch random.IntN(6) {
			case 0:
				_, err = w.Remove(as(t, "u"), name())
			case 1:
				_, err = w.Merge(as(t, "u"), name(), name())
			case 2:
				_, err = w.RemoveRelation(as(t, "u"), graph.Key{Source: name(), Type: "t", Target: name()})
			default:
				var added Added
				a := graph.Entity{Name: name(), Description: name(), Confidence: random.Float64()}
				b := graph.Entity{Name: name()}
				link := graph.Relation{Source: a.Name, Type: "t", Target: b.Name, Confidence: random.Float64()}
				added, err = w.Add(as(t, "u"), []graph.Entity{a, b}, []graph.Relation{link})
				if err == nil && added.Change == 0 {
					continue
				}
			}
			if err == nil {
				before = append(before, now)
			} else if known := (*tool.Error)(nil); !errors.As(err, &known) {
				t.Fatal(err)
			}
		}
		for n := len(before); n > 0; n-- {
			if _, err := w.Undo(as(t, "u"), int64(n)); err != nil {
				t.Fatalf("undoing %d: %v", n, err)
			}
			if diff := gocmp.Diff(before[n-1], w.contents("u")); diff != "" {
				t.Fatalf("after undoing change %d, -want +got:\n%s", n, diff)
			}
		}
	})
}

// TestWalkSeesWhatTheOwnerSees compares walks over rows of three owners with all paths over what the owner sees.
func TestWalkSeesWhatTheOwnerSees(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		random := rand.New(rand.NewPCG(3, 3))
		const nodes = 9
		sees := map[string]map[graph.Key]float64{"u": {}, "": {}, "v": {}}
		for _, user := range []string{"", "u", "v"} {
			var entities []graph.Entity
			for i := range nodes {
				if user == "" || i%2 == 0 {
					entities = append(entities, graph.Entity{Name: fmt.Sprintf("n%d", i)})
				}
			}
			var relations []graph.Relation
			for range 2 * nodes {
				a, b := random.IntN(nodes), random.IntN(nodes)
				r := graph.Relation{
					Source: fmt.Sprintf("n%d", a), Type: "t", Target: fmt.Sprintf("n%d", b),
					Confidence: float64(1+random.IntN(99)) / 100,
				}
				if a != b && sees[user][r.Key()] == 0 {
					relations = append(relations, r)
					sees[user][r.Key()] = r.Confidence
				}
			}
			if _, err := w.Add(as(t, user), entities, relations); err != nil {
				t.Fatal(err)
			}
		}
		for _, user := range []string{"u", "v"} { // own relations take precedence
			for link, confidence := range sees[""] {
				if _, own := sees[user][link]; !own {
					sees[user][link] = confidence
				}
			}
		}
		for user, links := range sees {
			for depth := 1; depth <= 4; depth++ {
				want := map[string]float64{}
				everyPath(links, "n1", depth, 1, []string{"n1"}, want)
				walked, err := w.Walk(as(t, user), Query{From: "n1", Depth: depth, Limit: 100})
				if err != nil || walked.Total != len(want) || walked.Truncated {
					t.Fatalf("%q, depth %d: %d of %d, %v", user, depth, walked.Total, len(want), err)
				}
				for _, n := range walked.Nodes {
					if math.Abs(n.Strength-want[n.Entity.Slug]) > 1e-9 {
						t.Errorf("%q, depth %d: the strength of %s is %v, not %v", user, depth, n.Entity.Slug, n.Strength, want[n.Entity.Slug])
					}
				}
			}
		}
	})
}

func everyPath(
	links map[graph.Key]float64, at string, left int, strength float64, on []string, best map[string]float64,
) {
	if left == 0 {
		return
	}
	for link, confidence := range links {
		other := link.Target
		if other == at {
			other = link.Source
		} else if link.Source != at {
			continue
		}
		if slices.Contains(on, other) {
			continue
		}
		next := strength * confidence * 0.8
		best[other] = max(best[other], next)
		everyPath(links, other, left-1, next, append(slices.Clone(on), other), best)
	}
}
