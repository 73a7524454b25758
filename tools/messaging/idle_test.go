package messaging_test

import (
	"testing"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/chat"
	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/store/storetest"
	"github.com/mcp-tools/mcp-tools/tools/messaging"
)

// BenchmarkIdle measures the transactions and reads of an outbox in which 10,000 messages wait.
func BenchmarkIdle(b *testing.B) {
	s := storetest.Open(b, b.TempDir())
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
	begun, before := time.Now(), o.Looks()
	for b.Loop() {
		time.Sleep(5 * time.Second)
	}
	b.ReportMetric(float64(o.Looks()-before)/time.Since(begun).Seconds(), "queries/s")
}
