package store_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/store/storetest"
)

// TestWork has work that is done at first, after an error, when its time comes, and at changes of its topics only.
func TestWork(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ctx, end := context.WithCancel(t.Context())
		ended, calls := make(chan bool), make(chan int)
		go func() {
			defer close(ended)
			n := 0
			s.Work(ctx, "a test", func(context.Context) (next time.Duration, err error) {
				calls <- n
				switch n++; n {
				case 1:
					return 0, errors.New("at first")
				case 2:
					return time.Millisecond, nil
				}
				return 0, nil
			}, "a", "b")
		}()
		for want := range 3 {
			if got := <-calls; got != want {
				t.Fatalf("call %d, want %d", got, want)
			}
		}
		for want, topic := range map[int]string{3: "b"} {
			change(t, s, "c", "1")
			change(t, s, topic, "1")
			if got := <-calls; got != want {
				t.Fatalf("call %d, want %d", got, want)
			}
		}
		end()
		<-ended
	})
}
