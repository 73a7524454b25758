package agents

import (
	"context"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/store/storetest"
	"github.com/mcp-tools/mcp-tools/tools/agents/acp"
)

// A spender is a program that says twice what it has used.
type spender struct{}

func (spender) Run(ctx context.Context, r *Run) (string, error) {
	m := &meter{run: r}
	for _, used := range []acp.Usage{{Input: 150, Dollars: 0.5}, {Input: 150, Output: 100, Dollars: 0.75}} {
		m.note(used)
		if err := m.save(ctx); err != nil {
			return "what it had", err
		}
	}
	return "all", nil
}

func TestUsageOfProgramsCounts(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		w, lead := newWorld(t, s), caller("lead", "s1")
		for tokens, reason := range map[int]string{0: "", 200: "250 tokens of at most 200"} {
			w.engine = w.open(func(o *Options) {
				o.Limits.Tree = Tree{Tokens: tokens}
				o.Executors = map[string]Executor{"spender": spender{}}
			})
			id, err := w.engine.Spawn(w.as(caller("lead", reason)), Spawn{Kind: "spender", Task: "x"})
			if err != nil {
				t.Fatal(err)
			}
			k := w.end(lead, id)
			if k.Tokens != 250 || k.Cost != 750_000 {
				t.Errorf("it used %d tokens and %s", k.Tokens, k.Cost)
			}
			want(t, "the reason", k.Reason, reason)
			if (k.Reason == "") != (reason == "") {
				t.Errorf("reason %q", k.Reason)
			}
			if err := w.engine.Close(); err != nil { // it would work for the next one, with other limits
				t.Error(err)
			}
		}
	})
}
