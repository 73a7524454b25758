package server

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/approvals"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// TestQuestionsOfRefusedCalls has calls that no person can be asked about at once. The user answers later.
func TestQuestionsOfRefusedCalls(t *testing.T) {
	for name, test := range map[string]struct {
		answer  approvals.Decision
		then    []string // beginnings of the results of equal calls
		records string   // of the first of them
	}{
		"allowed": {
			cli(true, ""), []string{"launched x", "refused: launch (runs) needs a person's approval"}, "cli:ann",
		},
		"denied": {
			cli(false, "use staging"), []string{`refused: a person denied this call of launch: "use staging"`,
				"refused: launch (runs) needs a person's approval"}, "denied cli:ann",
		},
	} {
		d := newMemoryApprovals()
		d.attended = false
		b := newTestServer(t, withApprovals(d))
		call := func(args string, change ...func(*Request)) string {
			return callTool(t, b, "launch", args, change...).Result.Text()
		}
		refused := call(`{"text":"x"}`)
		id := d.next(t)
		if want := `say to the user: "Please run ` + "`mcp-tools ui` in a terminal on the machine of the server and decide there, or run `mcp-tools approvals allow " + id; !strings.Contains(refused, want) {
			t.Fatalf("%s: it is refused with %s", name, refused)
		}
		if again := call(`{"text":"x"}`); again != refused {
			t.Errorf("%s: before the answer an equal call got %s", name, again)
		}
		if other := call(`{"text":"y"}`); !strings.Contains(other, "approvals allow "+d.next(t)) {
			t.Errorf("%s: another call got %s", name, other)
		}
		if err := d.decide(t.Context(), id, test.answer); err != nil {
			t.Fatal(err)
		}
		for other, change := range map[string]func(*Request){
			"session": func(r *Request) { r.Access.Caller.Session = "other" },
			"user":    func(r *Request) { r.Access.Caller.User = "other" },
		} {
			if got := call(`{"text":"x"}`, change); !strings.Contains(got, "approvals allow "+d.next(t)) {
				t.Errorf("%s: a call of another %s got %s", name, other, got)
			}
		}
		for i, want := range test.then {
			if got := call(`{"text":"x"}`); !strings.HasPrefix(got, want) {
				t.Errorf("%s: equal call %d got %s", name, i+1, got)
			} else if entries := b.audit.all(); i == 0 && entries[len(entries)-1].Approval != test.records {
				t.Errorf("%s: the record says %q", name, entries[len(entries)-1].Approval)
			}
		}
	}
}

func TestRefusedWithTheAddressOfThePage(t *testing.T) {
	d := newMemoryApprovals()
	d.attended = false
	b := newTestServer(t, withApprovals(d), withPage)
	refused := callTool(t, b, "launch", `{"text":"x"}`).Result.Text()
	if want := `say to the user: "Please decide on ` + b.Page(d.next(t)) + ` and then`; !strings.Contains(refused, want) {
		t.Errorf("it is refused with %s", refused)
	}
}

// TestRefusedWithTheDataOfTheServer: the commands for the user reach the data of the server. Clients on another machine do
// not get its path.
func TestRefusedWithTheDataOfTheServer(t *testing.T) {
	for transport, want := range map[string][]string{
		"stdio": {"`mcp-tools ui --data '/srv/my data'` in a terminal", "--data '/srv/my data'` (or deny). Then"},
		"http":  {"`mcp-tools ui` in a terminal", "` (or deny), with the same --data and --config as the server. Then"},
	} {
		d := newMemoryApprovals()
		d.attended = false
		b := newTestServer(t, withApprovals(d), func(c *Config) { c.DataFlags = "--data '/srv/my data'" })
		got := callTool(t, b, "launch", `{"text":"x"}`, func(r *Request) { r.Access.Transport = transport }).Result.Text()
		for _, words := range want {
			if !strings.Contains(got, words) || strings.Contains(got, "/srv") != (transport == "stdio") {
				t.Errorf("over %s it is refused with %s", transport, got)
			}
		}
	}
}

func TestNoQuestionIsLeftOpen(t *testing.T) {
	never := func(c *Config) { c.Settings.ApprovalWait = "never" }
	for name, test := range map[string]struct {
		config func(*Config)
		call   func(*testServer) tool.Result
		want   string
	}{
		"by the settings": {never, func(b *testServer) tool.Result {
			return callTool(t, b, "launch", `{}`).Result
		}, "the operator can allow it in the policy"},
		"in a script": {withPage, func(b *testServer) tool.Result {
			return callTool(t, b, "launch", `{}`, func(r *Request) { r.Nested = true }).Result
		}, "end the script before it"},
		"at a terminal": {withPage, func(b *testServer) tool.Result {
			return callTool(t, b, "launch", `{}`, func(r *Request) { r.Access.Transport = "cli" }).Result
		}, "mcp-tools approvals watch"},
		"a long call": {withPage, func(b *testServer) tool.Result {
			return callTool(t, b, "launch", `{"text":"`+strings.Repeat("x", maxRead)+`"}`).Result
		}, "mcp-tools approvals watch"},
		"a full store": {withPage, func(b *testServer) tool.Result {
			b.Approvals = full{b.Approvals}
			return callTool(t, b, "launch", `{}`).Result
		}, "mcp-tools approvals watch"},
	} {
		d := newMemoryApprovals()
		d.attended = false
		b := newTestServer(t, withApprovals(d), func(c *Config) { c.Settings.Limits.Args.Text = 2 * maxRead }, test.config)
		if got := test.call(b); got.Kind != tool.Refused || !strings.Contains(got.Text(), test.want) {
			t.Errorf("%s: it got %s", name, got.Text())
		}
		if len(d.questions) != 0 {
			t.Errorf("%s: a question was stored", name)
		}
	}
}

// full are approvals that take no further question.
type full struct{ Approvals }

func (full) Ask(context.Context, approvals.Call, time.Time) (string, error) {
	return "", approvals.ErrTooMany
}
