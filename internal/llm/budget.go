package llm

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// An Amount is a number of tokens and their price. In a limit, 0 means no limit.
type Amount struct {
	Tokens int64
	Money  Money
}

// ParseAmount reads a limit: "500000 tokens", "$5", or both. "" means no limit.
func ParseAmount(text string) (a Amount, err error) {
	words := strings.Fields(strings.ReplaceAll(text, ",", " "))
	for i := 0; i < len(words); i++ {
		dollars, isMoney := strings.CutPrefix(words[i], "$")
		switch {
		case isMoney && a.Money == 0:
			var f float64
			if f, err = strconv.ParseFloat(dollars, 64); err == nil {
				a.Money = Money(math.Round(f * 1e6))
			}
			if err != nil || a.Money <= 0 || f > 1e9 {
				return Amount{}, fmt.Errorf("%q is not an amount of dollars", words[i])
			}
		case !isMoney && a.Tokens == 0 && i+1 < len(words) && words[i+1] == "tokens":
			if a.Tokens, err = strconv.ParseInt(words[i], 10, 64); err != nil || a.Tokens <= 0 {
				return Amount{}, fmt.Errorf("%q is not a number of tokens", words[i])
			}
			i++
		default:
			return Amount{}, fmt.Errorf("%q is not like 500000 tokens, $5, or both", text)
		}
	}
	return a, nil
}

func (a Amount) plus(b Amount) Amount { return Amount{a.Tokens + b.Tokens, a.Money + b.Money} }

func (a Amount) minus(b Amount) Amount { return Amount{a.Tokens - b.Tokens, a.Money - b.Money} }

// exceeds returns the measure in which a exceeds a limit, as text, or "".
func (a Amount) exceeds(limit Amount) string {
	switch {
	case limit.Tokens > 0 && a.Tokens > limit.Tokens:
		return fmt.Sprintf("%d of %d tokens", a.Tokens, limit.Tokens)
	case limit.Money > 0 && a.Money > limit.Money:
		return fmt.Sprintf("%s of %s", a.Money, limit.Money)
	}
	return ""
}

// Budgets limit the use of models.
type Budgets struct {
	Call      Amount // one request
	Session   Amount // a session, with the subagents that it starts
	Principal Amount // an agent and its user, in a day
	Day       Amount // all together
}

// inMoney reports whether a limit is in dollars.
func (b Budgets) inMoney() bool {
	return b.Call.Money+b.Session.Money+b.Principal.Money+b.Day.Money > 0
}

// Unpriced reports whether a model of a provider cannot be used, because there is a budget
// in dollars and the price of the model is not known.
func (o Options) Unpriced(p Provider, model string) bool {
	_, own := p.Prices[model]
	_, known := PriceOf(model)
	return o.Budgets.inMoney() && !own && !known
}

// A ledger keeps the use in the store, shared by all processes. A request reserves its maximum
// use, and gives back the rest when it has ended. The reservations of a process that dies stay
// used.
type ledger struct {
	store  *store.Store
	limits Budgets
	near   func(t *store.Tx, principal, used string) error
}

// A reservation is the most that a request may use.
type reservation struct {
	day            int64 // since 1970, in UTC
	principal      string
	owner, session string // the session, and its principal
	Amount
	purpose string // "" for none
	limit   Amount // of the principal for the purpose in a day
}

// ErrBudget is the reason, by [errors.Is], why a request fails if a budget has too little left.
var ErrBudget = errors.New("a budget for models is used up")

const ledgerTimeout = 15 * time.Second

// reserve takes an amount of all budgets, or refuses if one of them has less.
func (l *ledger) reserve(ctx context.Context, r reservation) (_ reservation, err error) {
	ctx, cancel := context.WithTimeout(ctx, ledgerTimeout)
	defer cancel()
	var refusal error
	err = l.store.UpdateInTurn(ctx, "model_use", func(t *store.Tx) error {
		refusal = nil
		if err := t.Row("SELECT {{now}} / 86400000", nil, &r.day); err != nil {
			return err
		}
		for _, row := range r.rows() {
			limit := map[string]Amount{
				ofDay: l.limits.Day, ofPrincipal: l.limits.Principal, ofSession: l.limits.Session, ofPurpose: r.limit,
			}[row.of]
			var used Amount
			if err := t.Row(`INSERT INTO model_use (day, principal, session, calls, tokens, cost)
				VALUES ($1, $2, $3, 1, $4, $5) ON CONFLICT (day, principal, session) DO UPDATE
				SET calls = model_use.calls + 1, tokens = model_use.tokens + $4, cost = model_use.cost + $5
				RETURNING tokens, cost`, []any{row.day, row.principal, row.session, r.Tokens, r.Money},
				&used.Tokens, &used.Money); err != nil {
				return err
			}
			if used.exceeds(limit) != "" {
				refusal = overspent(row, used.minus(r.Amount), r.Amount, limit)
				return refusal
			}
		}
		return nil
	})
	if err != nil && !errors.Is(err, refusal) {
		return r, fmt.Errorf("reserving a budget for a model: %w", err)
	}
	return r, err
}

// Subjects of the rows of the ledger.
const (
	ofDay       = "day"
	ofPrincipal = "principal"
	ofSession   = "session"
	ofPurpose   = "purpose"
)

// A ledgerRow is the key of a row. Rows of sessions have the day 0; rows of purposes have a
// day, and the purpose as the session.
type ledgerRow struct {
	of                 string
	day                int64
	principal, session string
}

// rows returns the rows that a reservation changes. All transactions lock them in this order.
func (r reservation) rows() []ledgerRow {
	list := []ledgerRow{{ofDay, r.day, "", ""}, {ofPrincipal, r.day, r.principal, ""}}
	if r.session != "" {
		list = append(list, ledgerRow{ofSession, 0, r.owner, r.session})
	}
	if r.purpose != "" {
		list = append(list, ledgerRow{ofPurpose, r.day, r.principal, r.purpose})
	}
	return list
}

func overspent(row ledgerRow, used, wanted, limit Amount) error {
	whose := map[string]string{
		ofDay: "all callers together", ofPrincipal: "this caller", ofSession: "this session",
		ofPurpose: "this caller for " + row.session,
	}[row.of]
	next := "ask the operator to raise models.budget." + row.of
	if row.of == ofPurpose {
		next = "ask the operator to raise the budget of " + row.session
	}
	if row.of != ofSession {
		next = "try again tomorrow (UTC), or " + next
	}
	left := fmt.Sprintf("%d tokens are left and this request may use %d", max(limit.Tokens-used.Tokens, 0),
		wanted.Tokens)
	if limit.Tokens == 0 || used.plus(wanted).Tokens <= limit.Tokens {
		left = fmt.Sprintf("%s is left and this request may use %s", max(limit.Money-used.Money, 0), wanted.Money)
	}
	return tool.Errorf(tool.Refused, "the budget of %s for models is used up: %s", whose, left).Try("%s", next).
		Because(ErrBudget)
}

// settle replaces the reserved amount by the one that was used.
func (l *ledger) settle(ctx context.Context, r reservation, used Amount) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), ledgerTimeout)
	defer cancel()
	more := used.minus(r.Amount)
	return l.store.UpdateInTurn(ctx, "model_use", func(t *store.Tx) error {
		for _, row := range r.rows() {
			list, err := store.List(t, `UPDATE model_use SET tokens = tokens + $1, cost = cost + $2
				WHERE day = $3 AND principal = $4 AND session = $5 RETURNING tokens, cost`,
				[]any{more.Tokens, more.Money, row.day, row.principal, row.session},
				func(scan store.Scan) (now Amount, err error) {
					err = scan(&now.Tokens, &now.Money)
					return now, err
				})
			if err != nil {
				return err
			}
			for _, now := range list {
				if err := l.tellNear(t, row, now.minus(used), now); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// tellNear calls near if a budget of a day has become nearly used up.
func (l *ledger) tellNear(t *store.Tx, row ledgerRow, before, now Amount) error {
	limit, ok := map[string]Amount{ofDay: l.limits.Day, ofPrincipal: l.limits.Principal}[row.of]
	if !ok || l.near == nil {
		return nil
	}
	limit.Tokens, limit.Money = limit.Tokens*4/5, limit.Money*4/5
	if words := now.exceeds(limit); words != "" && before.exceeds(limit) == "" {
		return l.near(t, row.principal, fmt.Sprintf("%d tokens and %s", now.Tokens, now.Money))
	}
	return nil
}

// useAge is the age of records of use that are removed.
const useAge = 90 * 24 * time.Hour

// Sweep removes old records of use, and sessions without any.
func Sweep(ctx context.Context, s *store.Store) error {
	return s.Update(ctx, func(t *store.Tx) error {
		if _, err := t.Exec("DELETE FROM model_use WHERE day > 0 AND day < {{now}} / 86400000 - $1",
			int64(useAge/(24*time.Hour))); err != nil {
			return err
		}
		_, err := t.Exec(`DELETE FROM model_use WHERE day = 0 AND NOT EXISTS
			(SELECT 1 FROM model_use AS recent WHERE recent.principal = model_use.principal AND recent.day > 0)`)
		return err
	})
}
