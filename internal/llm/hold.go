package llm

import (
	"context"
	"strings"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// Hold takes the price of other work of a provider, such as a picture, from the budgets of the
// caller in ctx, or refuses if one of them has less. A price that is not known is refused if
// there is a budget in dollars. settle takes the true cost. The price stays used if the process
// dies before.
func (m *Models) Hold(ctx context.Context, model string, price Money, known bool) (settle func(used Money), err error) {
	if m.o.Budgets.inMoney() && !known {
		return nil, tool.Errorf(tool.Unavailable, "the price of %q is not known, and there is a budget in dollars",
			model).
			Try("use another model, or ask the operator to set media.providers.%s.prices",
				strings.SplitN(model, "/", 2)[0])
	}
	amount := Amount{Money: price}
	if over := amount.exceeds(m.o.Budgets.Call); over != "" {
		return nil, tool.Errorf(tool.TooLarge, "the request may use %s, more than one request may use", over).
			Try("ask for less, or ask the operator to raise models.budget.call")
	}
	c := tool.CallerFrom(ctx)
	held := reservation{principal: c.Principal(), owner: c.Principal(), session: c.Session, Amount: amount}
	if m.ledger != nil {
		if held, err = m.ledger.reserve(ctx, held); err != nil {
			return nil, err
		}
	}
	begun := time.Now()
	return func(used Money) {
		if m.ledger != nil && used != price {
			if failed := m.ledger.settle(ctx, held, Amount{Money: used}); failed != nil {
				m.o.Log.Warn("the use of a model is counted as its maximum", "model", model, "err",
					failed)
			}
		}
		if m.o.Record != nil {
			m.o.Record(ctx, Use{Model: model, Begun: begun, Cost: used, Session: held.session})
		}
	}, nil
}
