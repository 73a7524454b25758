package audit

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/store/storetest"
)

func typical() Record {
	return Record{
		Phase: Done, Call: "c_01j9zq7w3kxv", Tool: "read_file", Agent: "coder", User: "someone",
		Session:   "s_8f3a2b1c9d",
		Transport: "stdio", Profile: "coding", Risk: "reads", Verdict: "allow", Outcome: "ok",
		ArgsDigest: "0123456789abcdef0123456789abcdef", ResultDigest: "fedcba9876543210fedcba9876543210",
		Bytes: 2048, Duration: 1.234,
	}
}

func BenchmarkAppend(b *testing.B) {
	for _, engine := range []string{"sqlite", "postgres"} {
		dsn := ""
		if engine == "postgres" {
			dsn = storetest.Database(b)
		}
		w := newWorld(b, dsn)
		for _, callers := range []int{1, 16, 128} {
			b.Run(fmt.Sprintf("%s/callers=%d", engine, callers), func(b *testing.B) {
				counted := &countedRows{rowStore: w.rows}
				l := w.open(b, Options{DB: &DB{rows: counted}})
				benchmarkAppend(b, l, callers)
				if err := l.Close(); err != nil {
					b.Fatal(err)
				}
				b.ReportMetric(float64(b.N)/float64(counted.batches.Load()), "records/batch")
			})
		}
	}
}

// benchmarkAppend also says how long half of the calls took at most.
func benchmarkAppend(b *testing.B, l *Log, callers int) {
	r := typical()
	if err := l.Append(b.Context(), r); err != nil { // which begins the chain
		b.Fatal(err)
	}
	took := make([]time.Duration, b.N)
	var next atomic.Int64
	var all sync.WaitGroup
	b.ReportAllocs()
	b.ResetTimer()
	for range callers {
		all.Go(func() {
			for i := next.Add(1) - 1; i < int64(b.N); i = next.Add(1) - 1 {
				start := time.Now()
				if err := l.Append(context.Background(), r); err != nil {
					b.Error(err)
				}
				took[i] = time.Since(start)
			}
		})
	}
	all.Wait()
	b.StopTimer()
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2])/1e3, "p50-µs")
	b.ReportMetric(float64(took[len(took)*99/100])/1e3, "p99-µs")
}

type countedRows struct {
	rowStore
	batches atomic.Int64
}

func (c *countedRows) Append(ctx context.Context, from, to chainRow, records []recordRow) error {
	c.batches.Add(1)
	return c.rowStore.Append(ctx, from, to, records)
}
