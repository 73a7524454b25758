package server

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/policy"
)

// memoryDesk is a Desk for the tests of the server. What the real one makes of
// processes and files, its own tests say.
type memoryDesk struct {
	mu       sync.Mutex
	attended bool
	rule     string // allows everything
	laid     map[string]*laid
	news     chan string // ids of questions
}

type laid struct {
	petition Petition
	word     *Word
	over     bool
	decided  chan struct{} // closed when it is open no more
}

func newMemoryDesk() *memoryDesk {
	return &memoryDesk{attended: true, laid: map[string]*laid{}, news: make(chan string, 1000)}
}

func (d *memoryDesk) Allowed(context.Context, Petition) (string, bool, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.rule, d.rule != "", nil
}

func (d *memoryDesk) Attended(context.Context) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.attended
}

func (d *memoryDesk) Ask(_ context.Context, p Petition) (string, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	id := fmt.Sprintf("q%d", len(d.laid)+1)
	d.laid[id] = &laid{petition: p, decided: make(chan struct{})}
	d.news <- id
	return id, nil
}

func (d *memoryDesk) get(id string) *laid {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.laid[id]
}

func (d *memoryDesk) Await(ctx context.Context, id string) error {
	select {
	case <-d.get(id).decided:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (d *memoryDesk) Answer(_ context.Context, id string, w Word) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	q := d.laid[id]
	switch {
	case q.over || q.word != nil && (w.Allow || !q.word.Allow):
		return ErrUnanswered
	case q.word == nil:
		close(q.decided)
	}
	q.word = &w
	return nil
}

func (d *memoryDesk) Take(_ context.Context, id string, p Petition) (Word, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	q := d.laid[id]
	if q.over || q.word == nil || q.petition.Digest != p.Digest || q.petition.Basis != p.Basis {
		q.over = true
		return Word{}, ErrUnanswered
	}
	q.over = true
	return *q.word, nil
}

func (d *memoryDesk) Withdraw(id string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.laid[id].over = true
}

func (d *memoryDesk) Past(context.Context, Petition) (int, bool) { return 7, true }

// next is the id of the next question that was laid out.
func (d *memoryDesk) next(t *testing.T) string {
	t.Helper()
	select {
	case id := <-d.news:
		return id
	case <-time.After(hang):
		t.Fatal("nothing was asked")
		return ""
	}
}

func withDesk(d *memoryDesk) func(*Config) {
	return func(c *Config) {
		c.Desk = d
		c.Settings.ApprovalWait = WaitAttended
	}
}

func cli(allow bool, reason string) Word {
	return Word{Allow: allow, Scope: Once, Reason: reason, Channel: "cli", By: "ann"}
}

// settles is a tool whose calls rest on a fact that may change.
type settles struct {
	act[none]
	mu   *sync.Mutex
	fact *string
	once bool
	runs *int
	// prepared counts how often a call was prepared.
	prepared *int
}

func newSettles(once bool) settles {
	fact, runs, prepared := "/bin/one", 0, 0
	return settles{
		act: act[none]{spec: tool.Spec{Name: "settles", Group: "test", Title: "settles", Doc: "It settles.", Risk: tool.Runs}},
		mu:  new(sync.Mutex), fact: &fact, once: once, runs: &runs, prepared: &prepared,
	}
}

func (s settles) Prepare(context.Context, none) (tool.Plan, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	*s.prepared++
	return tool.Plan{Once: s.once, Facts: s.facts, Run: s.run}, nil
}

func (s settles) facts(context.Context) (tool.Facts, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return tool.Facts{"Binary": *s.fact}, nil
}

func (s settles) run(context.Context) (tool.Result, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	*s.runs++
	return tool.Text("settled"), nil
}

func (s settles) change(fact string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	*s.fact = fact
}

func withTool(t *testing.T, one tool.Tool) func(*Config) {
	return func(c *Config) {
		set, err := tool.NewSet(one)
		if err != nil {
			t.Fatal(err)
		}
		wait := c.Settings.ApprovalWait
		c.Tools, c.Settings = set, testSettings(t, set, policy.Rules{})
		c.Settings.ApprovalWait = wait
	}
}

// enumOf is what a person can choose from.
func enumOf(t *testing.T, ask *Ask) []string {
	t.Helper()
	raw, err := json.Marshal(ask.Questions[approvalKey].Params)
	if err != nil {
		t.Fatal(err)
	}
	var form struct {
		RequestedSchema struct {
			Properties struct {
				Decision struct{ Enum []string }
			}
		}
	}
	if err := json.Unmarshal(raw, &form); err != nil {
		t.Fatal(err)
	}
	return form.RequestedSchema.Properties.Decision.Enum
}
