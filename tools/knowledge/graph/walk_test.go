package graph

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// memory is a Reader of a graph in memory.
type memory struct {
	relations []Relation
	entities  map[string]Entity
	limit     int
	read      int // relations returned so far
}

func (m *memory) Relations(_ context.Context, slugs []string, limit int) (list []Relation, more bool, err error) {
	if len(slugs) > MaxBatch || len(slugs) == 0 {
		return nil, false, fmt.Errorf("asked for the relations of %d entities", len(slugs))
	}
	known := map[string]bool{}
	for _, slug := range slugs {
		out, in := 0, 0
		for _, r := range m.relations {
			if r.Source != slug && r.Target != slug {
				continue
			}
			n := &out
			if r.Target == slug {
				n = &in
			}
			if *n++; *n > min(m.limit, limit) {
				more = true
				continue
			}
			if !known[r.ID] {
				known[r.ID] = true
				list = append(list, r)
			}
		}
	}
	m.read += len(list)
	return list, more, nil
}

func (m *memory) Entities(_ context.Context, slugs []string) (map[string]Entity, error) {
	found := map[string]Entity{}
	for _, slug := range slugs {
		if e, ok := m.entities[slug]; ok {
			found[slug] = e
		}
	}
	return found, nil
}

// randomGraph returns a graph in which some ends of relations do not exist.
func randomGraph(random *rand.Rand, nodes, relations int) *memory {
	m := &memory{entities: map[string]Entity{}, limit: math.MaxInt}
	name := func() string { return fmt.Sprintf("n%d", random.IntN(nodes)) }
	for range nodes * 9 / 10 {
		slug := name()
		m.entities[slug] = Entity{Slug: slug}
	}
	for i := range relations {
		r := Relation{
			ID: fmt.Sprint(i), Source: name(), Type: "t", Target: name(), Confidence: float64(1+random.IntN(100)) / 100,
		}
		if r.Source != r.Target {
			m.relations = append(m.relations, r)
		}
	}
	slices.SortStableFunc(m.relations, func(a, b Relation) int { return cmp.Compare(b.Confidence, a.Confidence) })
	return m
}

// naive returns the strength of every entity by trying every path.
func (m *memory) naive(from string, depth int) map[string]float64 {
	best := map[string]float64{}
	var try func(at string, left int, strength float64, on []string)
	try = func(at string, left int, strength float64, on []string) {
		if left == 0 {
			return
		}
		for _, r := range m.relations {
			other := r.Target
			if r.Target == at {
				other = r.Source
			} else if r.Source != at {
				continue
			}
			if _, there := m.entities[other]; !there || slices.Contains(on, other) {
				continue
			}
			s := strength * r.Confidence * decay
			best[other] = max(best[other], s)
			try(other, left-1, s, append(slices.Clone(on), other))
		}
	}
	try(from, depth, 1, []string{from})
	return best
}

func TestWalkFindsTheBestPaths(t *testing.T) {
	for seed := range uint64(300) {
		random := rand.New(rand.NewPCG(seed, 1))
		m := randomGraph(random, 3+random.IntN(12), random.IntN(24))
		depth := 1 + random.IntN(MaxDepth)
		want := m.naive("n0", depth)
		got, cut, err := Walk(t.Context(), m, "n0", depth)
		if err != nil || cut || len(got) != len(want) {
			t.Fatalf("seed %d: found %d of %d, truncated %v, %v", seed, len(got), len(want), cut, err)
		}
		last := 1.0
		for _, n := range got {
			if math.Abs(n.Strength-want[n.Entity.Slug]) > 1e-9 {
				t.Errorf("seed %d: the strength of %s is %v, not %v", seed, n.Entity.Slug, n.Strength, want[n.Entity.Slug])
			}
			if n.Strength > last {
				t.Errorf("seed %d: %s comes after weaker entities", seed, n.Entity.Slug)
			}
			last = n.Strength
			checkPath(t, n, depth)
		}
	}
}

// checkPath checks that the path of a node leads to it.
func checkPath(t *testing.T, n Node, depth int) {
	t.Helper()
	at, strength := "n0", 1.0
	for _, r := range n.Path {
		switch at {
		case r.Source:
			at = r.Target
		case r.Target:
			at = r.Source
		default:
			t.Fatalf("the path to %s is broken at %s", n.Entity.Slug, at)
		}
		strength *= r.Confidence * decay
	}
	if at != n.Entity.Slug || len(n.Path) > depth || math.Abs(strength-n.Strength) > 1e-9 {
		t.Errorf("a path of %d steps leads to %s, not to %s, with strength %v", len(n.Path), at, n.Entity.Slug, strength)
	}
}

func TestWalkKeepsItsLimits(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	m := randomGraph(random, 3000, 30_000)
	m.entities["n0"] = Entity{Slug: "n0"}
	for i := range 2500 { // a hub
		m.relations = append(m.relations, Relation{
			ID: fmt.Sprint("h", i), Source: "n0", Type: "h", Target: fmt.Sprint("n", i+1), Confidence: 0.5,
		})
	}
	m.limit = MaxRelations
	got, cut, err := Walk(t.Context(), m, "n0", 3)
	if err != nil || !cut || len(got) != MaxNodes {
		t.Errorf("found %d, truncated %v, %v", len(got), cut, err)
	}
	if limit := maxReadRelations + MaxBatch*2*MaxRelations; m.read > limit {
		t.Errorf("%d relations were read, the maximum is %d", m.read, limit)
	}
}
