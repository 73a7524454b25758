package llm_test

import (
	"context"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/llm"
	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/store/storetest"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// TestHold takes the price of other work from the budgets of models.
func TestHold(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		var uses []llm.Use
		m, err := llm.NewModels(llm.Options{
			Store:   s,
			Budgets: llm.Budgets{Call: amount(t, "$1"), Day: amount(t, "$2"), Session: amount(t, "$1.50")},
			Record:  func(_ context.Context, u llm.Use) { uses = append(uses, u) },
		})
		if err != nil {
			t.Fatal(err)
		}
		ctx, other := calling(t, "u", "one"), calling(t, "v", "two")
		refused := func(ctx context.Context, price llm.Money, known bool, kind tool.Kind) {
			t.Helper()
			if _, err := m.Hold(ctx, "p/m", price, known); err == nil || tool.AsError(err).Kind != kind {
				t.Errorf("%s: %v", price, err)
			}
		}
		hold := func(ctx context.Context, price llm.Money) func(llm.Money) {
			t.Helper()
			settle, err := m.Hold(ctx, "p/m", price, true)
			if err != nil {
				t.Fatal(err)
			}
			return settle
		}
		refused(ctx, 1, false, tool.Unavailable)
		refused(ctx, 1_000_001, true, tool.TooLarge)
		first := hold(ctx, 1_000_000)
		refused(ctx, 600_000, true, tool.Refused) // of the session
		second := hold(other, 1_000_000)
		refused(calling(t, "w", "three"), 1, true, tool.Refused) // of the day
		first(0)
		second(1_000_000)
		hold(ctx, 900_000)(900_000)
		refused(calling(t, "w", "three"), 200_000, true, tool.Refused)
		if len(uses) != 3 || uses[0].Cost != 0 || uses[1].Cost != 1_000_000 || uses[1].Session != "two" {
			t.Errorf("%+v", uses)
		}
	})
}
