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

// BenchmarkWaitOtherProcess measures the time from the commit of another process to the end of a wait.
func BenchmarkWaitOtherProcess(b *testing.B) {
	for name, dsn := range map[string]func() string{
		"sqlite": b.TempDir, "postgres": func() string { return storetest.Database(b) },
	} {
		b.Run(name, func(b *testing.B) {
			at := dsn()
			one, other := storetest.Open(b, at), storetest.Open(b, at)
			defer other.Urgent()()
			round := func() {
				woken := other.Wait("a")
				b.StartTimer()
				if err := one.Update(b.Context(), func(t *store.Tx) error { return t.Changed("a", "1") }); err != nil {
					b.Fatal(err)
				}
				<-woken
				b.StopTimer()
				time.Sleep(20 * time.Millisecond) // the next one comes out of quiet
			}
			round() // it begins to listen
			b.ResetTimer()
			for range b.N {
				round()
			}
		})
	}
}
