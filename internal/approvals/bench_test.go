package approvals

import (
	"fmt"
	"testing"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/store/storetest"
)

func benchEach(b *testing.B, f func(b *testing.B, s *Store)) {
	b.Run("sqlite", func(b *testing.B) { f(b, placeIn(b, b.TempDir()).server(b)) })
	b.Run("postgres", func(b *testing.B) { f(b, placeIn(b, storetest.Database(b)).server(b)) })
}

// BenchmarkQuestion is the life of a question: asked, answered, taken.
func BenchmarkQuestion(b *testing.B) {
	benchEach(b, func(b *testing.B, s *Store) {
		for b.Loop() {
			id := mustAsk(b, s, someCall())
			if _, err := s.Answer(b.Context(), id, yes, ann); err != nil {
				b.Fatal(err)
			}
			if _, err := s.Take(b.Context(), id, someCall()); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkAnswer measures the time of an answer from one who has connections
// of its own to one who waits.
func BenchmarkAnswer(b *testing.B) {
	each := func(b *testing.B, dsn string) {
		server, person := placeIn(b, dsn).server(b), placeIn(b, dsn).server(b)
		var all time.Duration
		for b.Loop() {
			id := mustAsk(b, server, someCall())
			heard := make(chan error, 1)
			go func() { heard <- server.Await(b.Context(), id) }()
			if _, err := person.Answer(b.Context(), id, no, ann); err != nil {
				b.Fatal(err)
			}
			said := time.Now()
			if err := <-heard; err != nil {
				b.Fatal(err)
			}
			all += time.Since(said)
		}
		b.ReportMetric(float64(all.Microseconds())/float64(b.N)/1000, "ms/answer")
	}
	b.Run("sqlite", func(b *testing.B) { each(b, b.TempDir()) })
	b.Run("postgres", func(b *testing.B) { each(b, storetest.Database(b)) })
}

// BenchmarkRules looks for the last of a hundred rules: what each call costs
// that a rule allows.
func BenchmarkRules(b *testing.B) {
	benchEach(b, func(b *testing.B, s *Store) {
		for i := range 100 {
			id := mustAsk(b, s, someCall(func(c *Call) { c.Digest = fmt.Sprint(i) }))
			if _, err := s.Answer(b.Context(), id, always(Like{}), ann); err != nil {
				b.Fatal(err)
			}
		}
		for b.Loop() {
			if _, ok, err := s.Allowed(b.Context(), someCall(func(c *Call) { c.Digest = "99" })); !ok || err != nil {
				b.Fatal(ok, err)
			}
		}
	})
}
