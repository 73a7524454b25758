package store_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/store/storetest"
)

// TestCheckpointRestartsLogUnderLoad writes while there is always a reader that
// reads, as there is with many processes. SQLite's log would grow without end.
func TestCheckpointRestartsLogUnderLoad(t *testing.T) {
	s := storetest.Open(t, t.TempDir())
	ctx, cancel := context.WithCancel(t.Context())
	var readers sync.WaitGroup
	baton := make(chan struct{}) // who reads goes only when another has come
	for range 2 {
		readers.Go(func() {
			for ctx.Err() == nil {
				err := s.View(ctx, func(tx *store.Tx) error {
					var n int
					err := tx.Row("SELECT count(*) FROM rate", nil, &n)
					select {
					case baton <- struct{}{}:
					case <-baton:
					case <-ctx.Done():
					}
					return err
				})
				if err != nil && !errors.Is(err, context.Canceled) {
					t.Error(err)
				}
			}
		})
	}
	longest := int64(0)
	for n := range 1000 {
		if err := s.Update(ctx, func(tx *store.Tx) error {
			return tx.Changed("topic",
				fmt.Sprintf("%d-%64000d", n, n))
		}); err != nil {
			t.Fatal(err)
		}
		if n%25 == 0 {
			st, err := s.Status(ctx)
			if err != nil {
				t.Fatal(err)
			}
			longest = max(longest, *st.WAL)
		}
	}
	cancel()
	readers.Wait()
	if longest > 48<<20 {
		t.Errorf("the log was %d MB long", longest>>20)
	}
	t.Logf("the log was %d MB long at most", longest>>20)
}
