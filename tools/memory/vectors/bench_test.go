package vectors_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/tools/memory"
	"github.com/mcp-tools/mcp-tools/tools/memory/embed/embedtest"
	"github.com/mcp-tools/mcp-tools/tools/memory/indexer/embeddings"
)

// long is an encoder of random vectors of 768 numbers.
type long struct{ *rand.Rand }

func (l long) Query(context.Context, string) ([]float32, error) {
	v := make([]float32, 768)
	for i := range v {
		v[i] = float32(l.NormFloat64())
	}
	return v, nil
}

func (l long) Texts(ctx context.Context, texts []string) (list [][]float32, err error) {
	for range texts {
		v, err := l.Query(ctx, "")
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	return list, nil
}

// BenchmarkNear finds what is near among many pieces of one owner, on SQLite.
func BenchmarkNear(b *testing.B) {
	for _, pieces := range []int{20_000, 100_000} {
		b.Run(fmt.Sprint(pieces), func(b *testing.B) {
			dir := b.TempDir()
			w := newWorldWith(b, dir, filepath.Join(dir, "search"), long{rand.New(rand.NewPCG(1, 1))}, "long")
			w.fill(b, pieces)
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			q := embeddings.Query{
				Text: "x", Scopes: []string{memory.Scope(tool.Owner{Agent: "a", User: "ada"}),
					memory.Scope(tool.Owner{Agent: "a"})},
				Now: time.Now(), Limit: 28,
			}
			began := time.Now()
			for {
				if _, err := w.embeddings.Near(b.Context(), q); err == nil {
					break
				}
			}
			b.Logf("the first took %s", time.Since(began).Round(time.Millisecond))
			runtime.GC()
			runtime.ReadMemStats(&after)
			var took []time.Duration
			for b.Loop() {
				began := time.Now()
				if _, err := w.embeddings.Near(b.Context(), q); err != nil {
					b.Fatal(err)
				}
				took = append(took, time.Since(began))
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-us")
			b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-us")
			b.ReportMetric(float64(int64(after.HeapAlloc)-int64(before.HeapAlloc))/(1<<20), "MiB")
		})
	}
}

// fill has the worker make vectors of documents of ten pieces.
func (w *world) fill(b *testing.B, pieces int) {
	for n := range pieces / 10 {
		var text strings.Builder
		for s := range 10 {
			fmt.Fprintf(&text, "# Section %d of %d\n\n%s\n\n", s, n, strings.Repeat("some words ", 80))
		}
		c := memory.Change{Owner: tool.Owner{Agent: "a", User: "ada"}, Path: fmt.Sprintf("memory/d%d.md", n),
			Text: text.String()}
		if _, _, err := w.rows.Put(b.Context(), c); err != nil {
			b.Fatal(err)
		}
	}
	began := time.Now()
	w.work(b)
	w.settled(b)
	b.Logf("%d vectors were made in %s", pieces, time.Since(began).Round(time.Millisecond))
}

// BenchmarkWork measures how fast vectors come from an endpoint on this machine.
func BenchmarkWork(b *testing.B) {
	for b.Loop() {
		dir := b.TempDir()
		w := newWorld(b, dir, filepath.Join(dir, "search"), embedtest.New(b))
		w.fill(b, 2000)
	}
}
