package llm

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/room"
	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// Room returns the verbs for operators to see the use of models, and the check of the providers. key
// returns the key of a provider.
func Room(settings func() Settings, key func(provider string) (string, error)) *room.Room {
	o := new(operator)
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
		},
		Checks: []room.Check{check(settings, key)},
	}
}

// operator has the verbs of models.
type operator struct{ store *store.Store }

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
