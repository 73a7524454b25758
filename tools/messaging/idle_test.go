package messaging_test

import (
	"testing"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/chat"
	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/store/storetest"
	"github.com/mcp-tools/mcp-tools/tools/messaging"
)

// BenchmarkIdle counts, at the database server, the queries of an outbox in which 10,000 messages wait.
func BenchmarkIdle(b *testing.B) {
	s := storetest.Open(b, storetest.Database(b))
	o := messaging.NewOutbox(messaging.OutboxOptions{Store: s, Accounts: accounts(newService(), "telegram")})
	if err := s.Update(b.Context(), func(t *store.Tx) error {
		for i := range 10_000 {
			p := messaging.Post{
				Channel: "telegram", Due: time.Now().Add(time.Hour),
				Message: chat.Message{Chat: string(rune('a' + i%26)), Text: "later"},
			}
			if _, _, err := o.Put(t, p); err != nil {
				return err
			}
		}
		return nil
	}); err != nil {
		b.Fatal(err)
	}
	o.Start()
	defer o.Close()
	queries := func() (n float64) {
		if err := s.Row(b.Context(), `SELECT xact_commit + xact_rollback FROM pg_stat_database
			WHERE datname = current_database()`, nil, &n); err != nil {
			b.Fatal(err)
		}
		return n
	}
	begun, before := time.Now(), queries()
	for b.Loop() {
		time.Sleep(10 * time.Second)
	}
	b.ReportMetric((queries()-before)/time.Since(begun).Seconds(), "queries/s")
}
