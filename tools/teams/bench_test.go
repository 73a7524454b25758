package teams

import (
	"fmt"
	"sync"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/store/storetest"
)

// BenchmarkClaim measures claims by twelve members at once.
func BenchmarkClaim(b *testing.B) {
	for name, dsn := range map[string]func() string{
		"sqlite":   b.TempDir,
		"postgres": func() string { return storetest.Database(b) },
	} {
		b.Run(name, func(b *testing.B) {
			w := newCrew(b, storetest.Open(b, dsn()), Options{}, Settings{})
			seat, err := w.board(w.as("lead"))
			w.must(err)
			for from := 0; from < b.N; from += 500 {
				w.must(seat.update(b.Context(), func(c *change) error { return addTasks(c, from, min(from+500, b.N)) }))
			}
			b.ResetTimer()
			var working sync.WaitGroup
			work := make(chan struct{}, b.N)
			for range b.N {
				work <- struct{}{}
			}
			close(work)
			for i := range 12 {
				agent := []string{"lead", "ann", "bob", "rev"}[i%4]
				working.Go(func() {
					for range work {
						seat, err := w.Teams.board(w.as(agent))
						if err == nil {
							_, err = seat.Claim(b.Context(), "")
						}
						if err != nil {
							b.Error(err)
							return
						}
					}
				})
			}
			working.Wait()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "claims/s")
		})
	}
}

// addTasks inserts pending tasks, which is faster than to create them.
func addTasks(c *change, from, to int) error {
	var rows [][]any
	for n := from; n < to; n++ {
		rows = append(rows, []any{store.NewID(), c.team.ID, c.name, n + 1, fmt.Sprint("task ", n), "", "pending", 0, "",
			"",
			"", "u", "lead", false, "", 0, 0, 0, "", 1, 1, 0, ""})
	}
	return c.Insert("team_task ("+taskColumns+", start_at, digest)", rows)
}
