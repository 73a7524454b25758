package knowledge

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/mcp-tools/mcp-tools/index"
	"github.com/mcp-tools/mcp-tools/internal/store/storetest"
	api "github.com/mcp-tools/mcp-tools/tools/knowledge"
	"github.com/mcp-tools/mcp-tools/tools/knowledge/graph"
)

// BenchmarkKnowledge measures walks and searches among 20,000 entities and
// 100,000 relations, of which a tenth have one end in common.
func BenchmarkKnowledge(b *testing.B) {
	b.Run("sqlite", func(b *testing.B) {
		benchKnowledge(b, newWorld(b, storetest.Open(b, b.TempDir()).Knowledge()))
	})
	b.Run("postgres", func(b *testing.B) {
		benchKnowledge(b, newWorld(b, storetest.Open(b, storetest.Database(b)).Knowledge()))
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
	for depth := 1; depth <= graph.MostDepth; depth += 2 {
		measure(fmt.Sprintf("walk-%d", depth), func() error {
			_, err := w.Walk(ctx, api.Query{From: some(), Depth: depth, Limit: 20})
			return err
		})
	}
	measure("hub-3", func() error {
		_, err := w.Walk(ctx, api.Query{From: "thing-0", Depth: 3, Limit: 20})
		return err
	})
	measure("list", func() error {
		_, err := w.Find(ctx, api.Query{Text: "*", Limit: 20})
		return err
	})
	measure("add", func() error {
		_, err := w.Add(ctx, nil, []graph.Relation{{Source: some(), Type: "new", Target: "thing-1", Confidence: random.Float64()}})
		return err
	})
	finder := w.finder.(*rereading)
	if _, _, err := finder.Search(ctx, index.Query{Text: "thing", Scopes: []string{"nobody"}}); err != nil {
		b.Fatal(err)
	}
	w.Graph.finder = still{finder.index}
	measure("find", func() error {
		_, err := w.Find(ctx, api.Query{Text: fmt.Sprintf("word%d blue", random.IntN(500)), Limit: 20})
		return err
	})
}

// still is a finder whose index is as it should be.
type still struct{ index *index.Index }

func (s still) Search(ctx context.Context, q index.Query) (index.Result, bool, error) {
	found, err := s.index.Search(ctx, q)
	return found, true, err
}

func fill(b *testing.B, w *world) {
	random := rand.New(rand.NewPCG(2, 2))
	o := graph.Owner{Agent: "a", User: "u"}
	err := w.update(b.Context(), func(tx Tx) error {
		c, err := begin(tx, o, graph.Trace{})
		if err != nil {
			return err
		}
		for i := range manyEntities {
			e := graph.Entity{
				ID: tx.NewID(), Owner: o, Slug: fmt.Sprintf("thing-%d", i), Name: fmt.Sprintf("Thing %d", i), Type: "concept",
				Description: fmt.Sprintf("a blue thing about word%d and word%d", random.IntN(500), random.IntN(500)),
				Confidence:  random.Float64(), Valid: graph.Always(),
			}
			if err := c.setEntity(nil, &e); err != nil {
				return err
			}
		}
		for i := range manyRelations {
			r := graph.Relation{
				ID: tx.NewID(), Owner: o, Source: fmt.Sprintf("thing-%d", random.IntN(manyEntities)), Type: fmt.Sprintf("t%d", i),
				Target: fmt.Sprintf("thing-%d", random.IntN(manyEntities)*min(i%10, 1)), Confidence: random.Float64(), Valid: graph.Always(),
			}
			if err := c.setRelation(nil, &r); err != nil {
				return err
			}
		}
		return c.end("filled")
	})
	if err != nil {
		b.Fatal(err)
	}
}
