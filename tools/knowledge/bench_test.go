package knowledge

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/mcp-tools/mcp-tools/index"
	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/store/storetest"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/tools/knowledge/graph"
)

// BenchmarkKnowledge measures walks and searches among 20,000 entities and 100,000 relations. A tenth of the relations
// end at the same entity.
func BenchmarkKnowledge(b *testing.B) {
	b.Run("sqlite", func(b *testing.B) {
		benchKnowledge(b, newWorld(b, storetest.Open(b, b.TempDir())))
	})
	b.Run("postgres", func(b *testing.B) {
		benchKnowledge(b, newWorld(b, storetest.Open(b, storetest.Database(b))))
	})
}

const manyEntities, manyRelations = 20_000, 100_000

func benchKnowledge(b *testing.B, w *world) {
	start := time.Now()
	fill(b, w)
	b.Logf("filled in %v", time.Since(start).Round(time.Millisecond))
	random := rand.New(rand.NewPCG(1, 1))
	some := func() string { return fmt.Sprintf("thing-%d", random.IntN(manyEntities)) }
	measure := func(name string, f func() error) {
		b.Run(name, func(b *testing.B) {
			var took []time.Duration
			for b.Loop() {
				start := time.Now()
				if err := f(); err != nil {
					b.Fatal(err)
				}
				took = append(took, time.Since(start))
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
			b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "p99-ms")
		})
	}
	ctx := as(b, "u")
	for depth := 1; depth <= graph.MaxDepth; depth += 2 {
		measure(fmt.Sprintf("walk-%d", depth), func() error {
			_, err := w.Walk(ctx, Query{From: some(), Depth: depth, Limit: 20})
			return err
		})
	}
	measure("hub-3", func() error {
		_, err := w.Walk(ctx, Query{From: "thing-0", Depth: 3, Limit: 20})
		return err
	})
	measure("list", func() error {
		_, err := w.Find(ctx, Query{Text: "*", Limit: 20})
		return err
	})
	measure("add", func() error {
		r := graph.Relation{Source: some(), Type: "new", Target: "thing-1", Confidence: random.Float64()}
		_, err := w.Add(ctx, nil, []graph.Relation{r})
		return err
	})
	searcher := w.searcher.(*rereading)
	if _, _, err := searcher.Search(ctx, index.Query{Text: "thing", Scopes: []string{"none"}}); err != nil {
		b.Fatal(err)
	}
	w.searcher = still{searcher.index}
	measure("find", func() error {
		_, err := w.Find(ctx, Query{Text: fmt.Sprintf("word%d blue", random.IntN(500)), Limit: 20})
		return err
	})
}

// still is a Searcher with an index that is up to date.
type still struct{ index *index.Index }

func (s still) Search(ctx context.Context, q index.Query) (index.Result, bool, error) {
	found, err := s.index.Search(ctx, q)
	return found, true, err
}

func fill(b *testing.B, w *world) {
	random := rand.New(rand.NewPCG(2, 2))
	o := tool.Owner{Agent: "a", User: "u"}
	err := w.change(as(b, o.User), func(c *change) (string, error) {
		for i := range manyEntities {
			e := graph.Entity{
				ID: store.NewID(), Owner: o, Slug: fmt.Sprintf("thing-%d", i), Name: fmt.Sprintf("Thing %d", i), Type: "concept",
				Description: fmt.Sprintf("a blue thing about word%d and word%d", random.IntN(500), random.IntN(500)),
				Confidence:  random.Float64(), Valid: graph.Always(),
			}
			if err := c.setEntity(nil, &e); err != nil {
				return "", err
			}
		}
		for i := range manyRelations {
			r := graph.Relation{
				ID: store.NewID(), Owner: o, Type: fmt.Sprintf("t%d", i), Valid: graph.Always(),
				Confidence: random.Float64(),
				Source:     fmt.Sprintf("thing-%d", random.IntN(manyEntities)),
				Target:     fmt.Sprintf("thing-%d", random.IntN(manyEntities)*min(i%10, 1)),
			}
			if err := c.setRelation(nil, &r); err != nil {
				return "", err
			}
		}
		return "filled", nil
	})
	if err != nil {
		b.Fatal(err)
	}
}
