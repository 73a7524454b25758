package inbox_test

import (
	"slices"
	"testing"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/inbox"
	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/store/storetest"
)

// BenchmarkEventToWait measures the time from adding an event until Wait returns it, in
// one process and between two.
func BenchmarkEventToWait(b *testing.B) {
	engines := map[string]func(*testing.B) string{
		"sqlite":   func(b *testing.B) string { return b.TempDir() },
		"postgres": func(b *testing.B) string { return storetest.Database(b) },
	}
	for name, dsn := range engines {
		for _, apart := range []bool{false, true} {
			what := name + "/one process"
			if apart {
				what = name + "/two processes"
			}
			b.Run(what, func(b *testing.B) {
				place := dsn(b)
				here := storetest.Open(b, place)
				there := here
				if apart {
					there = storetest.Open(b, place)
				}
				measure(b, here, there)
			})
		}
	}
}

func measure(b *testing.B, here, there *store.Store) {
	waiter, sender := inbox.New(inbox.Options{Store: here}), inbox.New(inbox.Options{Store: there})
	me := ada("1")
	var took []time.Duration
	for b.Loop() {
		returned := make(chan time.Time, 1)
		go func() {
			if _, err := waiter.Wait(b.Context(), me, "call", nil, time.Minute); err != nil {
				b.Error(err)
			}
			returned <- time.Now()
		}()
		time.Sleep(5 * time.Millisecond) // it waits by now
		began := time.Now()
		if _, err := sender.Send(b.Context(), inbox.ToCaller(me), inbox.Event{Kind: inbox.Task}); err != nil {
			b.Fatal(err)
		}
		took = append(took, (<-returned).Sub(began))
		waiter.Sent(b.Context(), me, "call", true)
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "ms-median")
	b.ReportMetric(float64(took[len(took)*9/10].Microseconds())/1000, "ms-p90")
}
