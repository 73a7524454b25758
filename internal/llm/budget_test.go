package llm_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/llm"
	"github.com/mcp-tools/mcp-tools/internal/llm/llmtest"
	"github.com/mcp-tools/mcp-tools/internal/room"
	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/store/storetest"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// calling returns the context of a call.
func calling(t *testing.T, user, session string) context.Context {
	return tool.With(t.Context(), &tool.Running{Caller: tool.Caller{Agent: "a", User: user, Session: session}})
}

func amount(t *testing.T, text string) llm.Amount {
	t.Helper()
	a, err := llm.ParseAmount(text)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// open returns the models of a process that uses a store.
func open(t *testing.T, s *store.Store, p *llmtest.Server, b llm.Budgets) *llm.Models {
	t.Helper()
	provider := p.Provider(llm.OpenAI)
	provider.Models = []string{"test", "unpriced"}
	provider.Prices = map[string]llm.Price{"test": {Input: 2, Output: 10, CacheRead: 1}}
	models, err := llm.NewModels(llm.Options{Providers: []llm.Provider{provider}, HTTP: p.HTTP(t), Store: s, Budgets: b})
	if err != nil {
		t.Fatal(err)
	}
	return models
}

// brief returns a request that reserves about 1,000 tokens.
func brief() llm.Request {
	r := hello()
	r.MaxTokens = 980
	return r
}

func TestBudgetsHoldForAllProcesses(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		p := llmtest.New(t)
		p.Answer(func(llmtest.Request) llmtest.Turn {
			return llmtest.Turn{Text: "x", Usage: llm.Usage{Input: 100, Output: 400}}
		})
		b := llm.Budgets{
			Session: amount(t, "2000 tokens"), Principal: amount(t, "3000 tokens"), Day: amount(t, "4000 tokens"),
		}
		processes := []*llm.Models{open(t, s, p, b), open(t, s, p, b)}
		done := map[string]int{}
		for i, test := range []struct{ user, session string }{
			{"u", "s1"}, {"u", "s1"}, {"u", "s1"}, {"u", "s1"}, // the fourth may use 2,500
			{"u", "s2"}, {"u", "s2"}, {"u", "s2"},
			{"v", "s1"}, {"v", "s1"}, {"v", "s1"},
		} {
			_, err := processes[i%2].Complete(calling(t, test.user, test.session), brief())
			if err == nil {
				done[test.user+" "+test.session]++
			} else if kindOf(err) != tool.Refused || !strings.Contains(err.Error(), "tokens are left") {
				t.Errorf("call %d: %v", i, err)
			}
		}
		for who, want := range map[string]int{"u s1": 3, "u s2": 2, "v s1": 2} {
			if done[who] != want {
				t.Errorf("%s: %d requests, want %d", who, done[who], want)
			}
		}
		spent, err := llm.SpentBudgets(t.Context(), s, b)
		var got []string
		for _, one := range spent {
			got = append(got, fmt.Sprintf("%s %s %s: %s of %s", one.Of, one.Caller, one.Name, one.Used, one.Limit))
		}
		want := []string{"day  : 3500 tokens, $0.029400 of 4000 tokens", "principal a/u : 2500 tokens, $0.021000 of 3000 tokens",
			"session a/u s1: 1500 tokens, $0.012600 of 2000 tokens"}
		if err != nil || len(got) != 6 || !slices.Equal(got[:3], want) {
			t.Errorf("spent are %q, %v", got, err)
		}
	})
}

func TestBudgetsHoldForRequestsAtTheSameTime(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		p := llmtest.New(t)
		gate := make(chan struct{})
		p.Answer(func(llmtest.Request) llmtest.Turn { return llmtest.Turn{Wait: gate} })
		models := open(t, s, p, llm.Budgets{Day: amount(t, "5500 tokens")})
		var refused atomic.Int32
		var all sync.WaitGroup
		for i := range 20 {
			all.Go(func() {
				if _, err := models.Complete(calling(t, fmt.Sprint(i), "s"), brief()); err != nil {
					if refused.Add(1) == 15 {
						close(gate) // the others hold the budget until now
					}
				}
			})
		}
		all.Wait()
		if refused.Load() != 15 {
			t.Errorf("%d requests were refused", refused.Load())
		}
		if _, err := models.Complete(calling(t, "u", "s"), brief()); err != nil {
			t.Errorf("what was reserved and not used is lost: %v", err)
		}
	})
}

func TestBudgetsInDollars(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		p := llmtest.New(t)
		models := open(t, s, p, llm.Budgets{Call: amount(t, "$0.005"), Principal: amount(t, "$0.012")})
		p.Answer(func(llmtest.Request) llmtest.Turn {
			return llmtest.Turn{Text: "x", Usage: llm.Usage{Input: 100, Output: 400, CacheRead: 50}}
		})
		ctx := calling(t, "u", "s")
		reply, err := models.Complete(ctx, brief())
		if err != nil || reply.Cost.String() != "$0.004250" { // 100 * 2 + 400 * 10 + 50 * 1 millionths
			t.Fatalf("%s, %v", reply.Cost, err)
		}
		if got := p.Requests()[0].MaxTokens; got < 256 || got > 500 {
			t.Errorf("the budget of a call leaves a reply of %d tokens", got)
		}
		if _, err := models.Complete(ctx, brief()); err != nil {
			t.Error(err)
		}
		if _, err := models.Complete(ctx, brief()); kindOf(err) != tool.Refused ||
			!strings.Contains(err.Error(), "$0.003500 is left") {
			t.Error(err)
		}
		long := brief()
		long.System = strings.Repeat("long ", 5000)
		if _, err := models.Complete(ctx, long); kindOf(err) != tool.TooLarge {
			t.Error(err)
		}
		unpriced := brief()
		unpriced.Model = "unpriced"
		if _, err := models.Complete(ctx, unpriced); kindOf(err) != tool.Unavailable ||
			!strings.Contains(err.Error(), "models.providers.openai.prices") {
			t.Error(err)
		}
	})
}

// TestSubagentsUseTheBudgetOfTheirOwner has callers of other names work for one session.
func TestSubagentsUseTheBudgetOfTheirOwner(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		models := open(t, s, llmtest.New(t), llm.Budgets{Session: amount(t, "1015 tokens")})
		r := brief()
		r.Owner = tool.Caller{Agent: "a", User: "u", Session: "top"}
		for i, who := range []string{"u", "other", "third"} {
			_, err := models.Complete(calling(t, who, "sub-"+who), r)
			if fits := i < 2; fits != (err == nil) { // each uses 15 tokens, and may use 1,000
				t.Errorf("%s: %v", who, err)
			}
		}
	})
}

// TestSweepKeepsWhatCounts removes old rows.
func TestSweepKeepsWhatCounts(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		models := open(t, s, llmtest.New(t), llm.Budgets{})
		for _, user := range []string{"old", "new"} {
			if _, err := models.Complete(calling(t, user, "s"), brief()); err != nil {
				t.Fatal(err)
			}
		}
		err := s.Update(t.Context(), func(tx *store.Tx) error {
			_, err := tx.Exec("UPDATE model_use SET day = day - 91 WHERE principal = 'a/old' AND day > 0")
			return err
		})
		if err = errors.Join(err, llm.Sweep(t.Context(), s)); err != nil {
			t.Fatal(err)
		}
		left := map[string]int{}
		err = s.View(t.Context(), func(tx *store.Tx) error {
			return tx.Each("SELECT principal, count(*) FROM model_use GROUP BY principal", nil,
				func(row store.Scan) error {
					var who string
					var n int
					err := row(&who, &n)
					left[who] = n
					return err
				})
		})
		if err != nil || left["a/old"] != 0 || left["a/new"] != 2 || left[""] != 1 {
			t.Errorf("%v, %v", left, err)
		}
	})
}

func TestParseAmount(t *testing.T) {
	for text, want := range map[string]llm.Amount{
		"": {}, "500 tokens": {Tokens: 500}, "$5": {Money: 5_000_000}, "$0.5, 10 tokens": {Tokens: 10, Money: 500_000},
	} {
		if got, err := llm.ParseAmount(text); err != nil || got != want {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
	}
	for _, text := range []string{"5", "tokens", "-5 tokens", "$0", "$-1", "$1 $2", "$NaN", "5 dollars",
		"1 tokens 2 tokens"} {
		if got, err := llm.ParseAmount(text); err == nil {
			t.Errorf("%q: %+v", text, got)
		}
	}
}

func TestPrices(t *testing.T) {
	for name, ends := range map[string]string{
		"gpt-4o-2024-08-06": "2027-01-14", "claude-sonnet-4-20250514": "2026-06-15", "claude-opus-5-5": "0001-01-01",
	} {
		price, ok := llm.PriceOf(name)
		if end := llm.EndOf(name).Format("2006-01-02"); !ok || end != ends || price.Output <= price.Input {
			t.Errorf("%s: %+v, %t, ends %s", name, price, ok, end)
		}
	}
	if _, ok := llm.PriceOf("qwen3"); ok {
		t.Error("qwen3 has a price")
	}
	if p, err := llm.ParsePrice("3/15.5"); err != nil ||
		p != (llm.Price{Input: 3, Output: 15.5, CacheRead: 3, CacheWrite: 3}) {
		t.Errorf("%+v, %v", p, err)
	}
	for _, text := range []string{"", "3", "3/x", "-1/2", "3/Inf"} {
		if p, err := llm.ParsePrice(text); err == nil {
			t.Errorf("%q: %+v", text, p)
		}
	}
}

// TestNoCredentialIsSent checks that everything in a request is scrubbed.
func TestNoCredentialIsSent(t *testing.T) {
	p := llmtest.New(t)
	models, err := llm.NewModels(llm.Options{
		Providers: []llm.Provider{p.Provider(llm.Anthropic)}, HTTP: p.HTTP(t),
		Scrub: func(text string) string { return strings.ReplaceAll(text, "hunter2", "[REDACTED]") },
	})
	if err != nil {
		t.Fatal(err)
	}
	r := llm.Request{System: "hunter2", Messages: []llm.Message{
		{Role: llm.User, Text: "hunter2"},
		{Role: llm.Assistant, Text: "hunter2", Calls: []llm.ToolCall{{ID: "1", Name: "x", Args: `{"a":"hunter2"}`}}},
		{Role: llm.User, Results: []llm.ToolResult{{ID: "1", Text: "hunter2"}}},
	}}
	if _, err := models.Complete(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	if sent := fmt.Sprintf("%+v", p.Requests()[0]); strings.Contains(sent, "hunter2") ||
		strings.Count(sent, "[REDACTED]") != 5 {
		t.Errorf("sent %s", sent)
	}
	if r.Messages[1].Calls[0].Args != `{"a":"hunter2"}` || r.System != "hunter2" {
		t.Error("the request of the caller has changed")
	}
}

// TestCosts lists the use of two callers, with the sum of all first.
func TestCosts(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		p := llmtest.New(t)
		p.Answer(func(llmtest.Request) llmtest.Turn {
			return llmtest.Turn{Text: "x", Usage: llm.Usage{Input: 100, Output: 400}}
		})
		if list, err := llm.Costs(t.Context(), s, 7); err != nil || len(list) != 0 {
			t.Errorf("without use there are %+v, %v", list, err)
		}
		m := open(t, s, p, llm.Budgets{})
		for _, user := range []string{"u", "v", "v", "old"} {
			if _, err := m.Complete(calling(t, user, "s"), brief()); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.Update(t.Context(), func(tx *store.Tx) error {
			_, err := tx.Exec("UPDATE model_use SET day = day - 7 WHERE principal LIKE '%/old' AND day > 0")
			return err
		}); err != nil {
			t.Fatal(err)
		}
		r := llm.Room(nil, nil)
		verb, _ := r.Verb("costs")
		plan, err := r.Prepare(t.Context(), verb, &room.Host{Store: s}, []byte(`{}`))
		if err != nil {
			t.Fatal(err)
		}
		got, err := plan.Run(t.Context())
		table, _ := got.Data.(room.Table)
		list, _ := table.Items.([]llm.Cost)
		if err != nil || len(list) != 3 {
			t.Fatalf("listed are %+v, %v", list, err)
		}
		for i, want := range []struct {
			caller        string
			calls, tokens int64
		}{{"", 4, 2000}, {"/u", 1, 500}, {"/v", 2, 1000}} {
			c := list[i]
			if !strings.HasSuffix(c.Caller, want.caller) || want.caller == "" && c.Caller != "" || c.Calls != want.calls ||
				c.Tokens != want.tokens || c.Cost <= 0 || c.Day == "" {
				t.Errorf("%+v, want %+v", c, want)
			}
		}
	})
}
