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

// TestUpdateInTurn has many callers add to rows. Some fail or panic after they have written; what they wrote
// must not stay, and what the others wrote must.
func TestUpdateInTurn(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		if err := s.Update(t.Context(), func(tx *store.Tx) error {
			_, err := tx.Exec("CREATE TABLE tally (name TEXT PRIMARY KEY, n BIGINT NOT NULL)")
			return err
		}); err != nil {
			t.Fatal(err)
		}
		odd := errors.New("odd")
		add := func(i int) (panicked any, err error) {
			defer func() { panicked = recover() }()
			key := fmt.Sprint("k", i%3)
			err = s.UpdateInTurn(t.Context(), key, func(tx *store.Tx) error {
				if _, err := tx.Exec(`INSERT INTO tally (name, n) VALUES ($1, 1)
					ON CONFLICT (name) DO UPDATE SET n = tally.n + 1`, key); err != nil {
					return err
				}
				switch i % 10 {
				case 7:
					return odd
				case 8:
					panic(i)
				case 9:
					_, err := tx.Exec("INSERT INTO tally (name, n) VALUES (NULL, NULL)")
					return err
				}
				return tx.Changed("tally", fmt.Sprint(i))
			})
			return nil, err
		}
		const callers = 300
		var all sync.WaitGroup
		for i := range callers {
			all.Go(func() {
				panicked, err := add(i)
				kind := i % 10
				if errors.Is(err, odd) != (kind == 7) || (panicked != nil) != (kind == 8) ||
					(err != nil) != (kind == 7 || kind == 9) {
					t.Errorf("caller %d: %v, panic %v", i, err, panicked)
				}
			})
		}
		all.Wait()
		var total int
		if err := s.Row(t.Context(), "SELECT sum(n) FROM tally", nil, &total); err != nil || total != callers*7/10 {
			t.Errorf("the sum is %d, %v", total, err)
		}
		changes, err := s.Changes(t.Context(), store.Cursor{}, 10*callers, "tally")
		known := map[string]bool{}
		for _, c := range changes {
			known[c.Key] = true
		}
		if err != nil || len(changes) != total || len(known) != total {
			t.Errorf("%d changes of %d keys, %v", len(changes), len(known), err)
		}
	})
}

// TestUpdateInTurnOfCancelledCallers cancels callers that wait for their turn. They return, and the others get
// their turn.
func TestUpdateInTurnOfCancelledCallers(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		begun, proceed := make(chan bool), make(chan bool)
		var all sync.WaitGroup
		all.Go(func() {
			if err := s.UpdateInTurn(t.Context(), "k", func(*store.Tx) error {
				close(begun)
				<-proceed
				return nil
			}); err != nil {
				t.Error(err)
			}
		})
		<-begun
		ctx, cancel := context.WithCancel(t.Context())
		const callers = 20
		ended := make(chan error, callers)
		for range callers {
			all.Go(func() { ended <- s.UpdateInTurn(ctx, "k", func(*store.Tx) error { return nil }) })
		}
		others := make(chan error, callers)
		for range callers {
			all.Go(func() { others <- s.UpdateInTurn(t.Context(), "k", func(*store.Tx) error { return nil }) })
		}
		cancel()
		refused := 0
		for range callers - 1 { // the one that leads next may stay
			if errors.Is(<-ended, context.Canceled) {
				refused++
			}
		}
		if refused < callers-1 {
			t.Errorf("%d callers returned", refused)
		}
		close(proceed)
		for range callers {
			if err := <-others; err != nil {
				t.Error(err)
			}
		}
		all.Wait()
	})
}
