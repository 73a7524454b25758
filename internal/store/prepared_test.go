package store_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/store/storetest"
)

// TestNestedSameStatement reads rows of a statement within rows of
// the same one, and ends some early.
func TestNestedSameStatement(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		if s.Engine() == "postgres" {
			t.Skip("a connection of PostgreSQL reads one result at a time")
		}
		const text = "WITH RECURSIVE n(i) AS (SELECT $1 UNION ALL SELECT i + 1 FROM n WHERE i < $2) SELECT i FROM n"
		enough := errors.New("enough")
		for range 3 {
			sum := 0
			err := s.View(t.Context(), func(tx *store.Tx) error {
				return tx.Each(text, []any{1, 10}, func(scan func(...any) error) error {
					var outer int
					if err := scan(&outer); err != nil {
						return err
					}
					err := tx.Each(text, []any{outer, 100}, func(scan func(...any) error) error {
						var inner int
						if err := scan(&inner); err != nil {
							return err
						}
						if sum += inner; inner == outer+2 {
							return enough
						}
						return nil
					})
					if !errors.Is(err, enough) {
						t.Errorf("the inner rows: %v", err)
					}
					return nil
				})
			})
			if err != nil || sum != 195 {
				t.Errorf("the sum is %d, %v", sum, err)
			}
		}
	})
}

// TestStatementCacheEviction has more than a connection remembers, and some that are
// wrong or given up.
func TestStatementCacheEviction(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		for round := range 2 {
			for i := range 400 {
				var got int
				err := s.View(t.Context(), func(tx *store.Tx) error {
					return tx.Row(fmt.Sprintf("SELECT %d + 0 * length($1)", i), []any{"x"}, &got)
				})
				if err != nil || got != i {
					t.Fatalf("round %d: statement %d says %d, %v", round, i, got, err)
				}
			}
			err := s.View(t.Context(), func(tx *store.Tx) error {
				return tx.Row("SELECT nothing FROM nowhere", nil,
					new(int))
			})
			if err == nil {
				t.Error("a wrong statement is right")
			}
			ctx, cancel := context.WithCancel(t.Context())
			err = s.View(ctx, func(tx *store.Tx) error {
				return tx.Each("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n", nil,
					func(func(...any) error) error {
						cancel()
						return nil
					})
			})
			cancel()
			if err == nil {
				t.Error("what never ends has ended")
			}
		}
	})
}
