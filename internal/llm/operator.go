package llm

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/room"
	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// Room returns the verbs for operators to see the use of models, and the check of the providers. key
// returns the key of a provider.
func Room(settings func() Settings, key func(provider string) (string, error)) *room.Room {
	o := &operator{settings: settings}
	return &room.Room{
		Name: "models", Title: "See the use of language models and its costs",
		Open: func(h *room.Host) error { o.store = h.Store; return nil },
		Verbs: []room.Verb{
			room.Do(room.Verb{
				Name: "costs", Title: "List the requests, tokens and costs of models by day and caller", Risk: tool.Reads,
				Where: room.Operator,
				Doc: `costs lists the use of language models that went through the servers on this store: by
subagents, scheduled jobs, bridged servers, and for the knowledge graph. Days are in
UTC, the latest first, with the sum of all callers before each of them. Running
requests count with the most that they can use. Records are kept for 90 days.`,
				Example: "  mcp-tools models costs\n  mcp-tools models costs --days 1 --output json",
			}, o.costs),
			room.Do(room.Verb{
				Name: "budgets", Title: "List what is used of the budgets of models", Risk: tool.Reads, Where: room.Operator,
				Doc: `budgets lists what was used today (UTC) of models.budget.day and models.budget.principal, and by
sessions of models.budget.session. Callers and sessions that have used nothing are left out.`,
			}, o.budgets),
		},
		Checks: []room.Check{check(settings, key)},
	}
}

// operator has the verbs of models.
type operator struct {
	store    *store.Store
	settings func() Settings
}

// A Spent budget is what a subject of a budget has used of it.
type Spent struct {
	Of     string `json:"of"`             // day, principal or session: the name of the setting
	Caller string `json:"caller"`         // "" for all together
	Name   string `json:"name,omitempty"` // of the session
	Used   Amount `json:"used"`
	Limit  Amount `json:"limit"` // 0 is no limit
}

func (o *operator) budgets(ctx context.Context, _ struct{}) (tool.Result, error) {
	options, err := o.settings().Options()
	if err != nil {
		return tool.Result{}, err
	}
	list, err := SpentBudgets(ctx, o.store, options.Budgets)
	if err != nil {
		return tool.Result{}, err
	}
	head := []string{"BUDGET", "WHOSE", "USED", "LIMIT"}
	return room.Rows(list, "No budget of models is set, or nothing of one is used.", head, func(s Spent) []string {
		return []string{s.Of, cmp.Or(s.Name, s.Caller, "(all)"), s.Used.String(), s.Limit.String()}
	}), nil
}

// String returns an amount in the form of a setting.
func (a Amount) String() string {
	switch {
	case a.Money == 0:
		return fmt.Sprintf("%d tokens", a.Tokens)
	case a.Tokens == 0:
		return a.Money.String()
	}
	return fmt.Sprintf("%d tokens, %s", a.Tokens, a.Money)
}

// maxSpent limits the subjects of SpentBudgets.
const maxSpent = 100

// SpentBudgets returns what is used of budgets: today by all callers and by each, and by sessions that had a request
// today. The most used come first.
func SpentBudgets(ctx context.Context, s *store.Store, b Budgets) ([]Spent, error) {
	if s.Unused() || b.Day == (Amount{}) && b.Principal == (Amount{}) && b.Session == (Amount{}) {
		return nil, nil
	}
	list, err := store.Select(ctx, s, `SELECT day, principal, session, tokens, cost FROM model_use
		WHERE day = {{now}} / 86400000 AND session = '' OR day = 0 AND principal IN (SELECT principal FROM model_use AS recent
			WHERE recent.day = {{now}} / 86400000)
		ORDER BY tokens DESC, principal, session LIMIT $1`, []any{maxSpent}, func(scan store.Scan) (one Spent, err error) {
		var day int64
		err = scan(&day, &one.Caller, &one.Name, &one.Used.Tokens, &one.Used.Money)
		switch {
		case day == 0:
			one.Of, one.Limit = ofSession, b.Session
		case one.Caller == "":
			one.Of, one.Limit = ofDay, b.Day
		default:
			one.Of, one.Limit = ofPrincipal, b.Principal
		}
		return one, err
	})
	return slices.DeleteFunc(list, func(one Spent) bool { return one.Limit == (Amount{}) }), err
}

// A Cost is the use of models on a day: by all callers, by one, or by one for a purpose.
type Cost struct {
	Day     string `json:"day"`
	Caller  string `json:"caller,omitempty"`  // agent and user; "" for the sum of all callers
	Purpose string `json:"purpose,omitempty"` // part of the caller's use
	Calls   int64  `json:"calls"`
	Tokens  int64  `json:"tokens"`
	Cost    Money  `json:"cost_micros"` // in millionths of a dollar
}

type costsArgs struct {
	Days int `json:"days,omitempty" jsonschema:"days to list, with today" default:"7" min:"1" max:"90"`
}

func (o *operator) costs(ctx context.Context, a costsArgs) (tool.Result, error) {
	list, err := Costs(ctx, o.store, a.Days)
	if err != nil {
		return tool.Result{}, err
	}
	head := []string{"DAY", "CALLER", "PURPOSE", "CALLS", "TOKENS", "COST"}
	return room.Rows(list, "No models were used on these days.", head, func(c Cost) []string {
		return []string{c.Day, cmp.Or(c.Caller, "(all)"), c.Purpose, fmt.Sprint(c.Calls), fmt.Sprint(c.Tokens), c.Cost.String()}
	}), nil
}

// Costs returns the use of models on the last days, the latest day first, and on each day the sum of all callers first.
func Costs(ctx context.Context, s *store.Store, days int) ([]Cost, error) {
	if s.Unused() {
		return nil, nil
	}
	return store.Select(ctx, s, `SELECT day, principal, session, calls, tokens, cost FROM model_use
		WHERE day > {{now}} / 86400000 - $1 ORDER BY day DESC, principal, session`, []any{days},
		func(scan store.Scan) (c Cost, err error) {
			var day int64
			err = scan(&day, &c.Caller, &c.Purpose, &c.Calls, &c.Tokens, &c.Cost)
			c.Day = time.UnixMilli(day * 86_400_000).UTC().Format(time.DateOnly)
			return c, err
		})
}
