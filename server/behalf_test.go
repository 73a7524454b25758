package server

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/approvals"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/policy"
)

// TestGrantsOnlyNarrow makes calls for a caller that may do more than the one it works for.
func TestGrantsOnlyNarrow(t *testing.T) {
	b := newTestServer(t, func(c *Config) {
		c.Settings = testSettings(t, c.Tools, policy.Rules{Autonomy: policy.Full, Agents: map[string]policy.AgentRules{
			"a": {Deny: policy.List{"slow"}}, "strong": {AlsoAllow: policy.List{"slow"}},
		}})
	})
	outer := testAccess()
	outer.Narrow = policy.Narrow{Exclude: []string{"change"}}
	c := b.newCall(Request{Access: outer}, "")
	strong := tool.Caller{Agent: "strong", User: "u", Session: "sub", Depth: 1, Profile: "full"}
	for _, test := range []struct {
		narrow policy.Narrow
		want   string
	}{
		{policy.Narrow{}, "echo launch"},
		{policy.Narrow{Tools: []string{"echo", "slow", "change"}}, "echo"},
		{policy.Narrow{ReadOnly: true}, "echo"},
	} {
		raw, err := json.Marshal(c.grant().For(strong, test.narrow))
		if err != nil {
			t.Fatal(err)
		}
		var kept tool.Grant
		if err := json.Unmarshal(raw, &kept); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, name := range []string{"echo", "slow", "change", "launch"} {
			args := `{"text":"x"}`
			res := b.CallFor(t.Context(), Request{Access: AccessOf(kept), Tool: name, Args: []byte(args)}, outer.Caller)
			if res.Kind != tool.NotFound {
				got = append(got, name)
			}
		}
		listed := fmt.Sprint(b.Tools(AccessOf(kept)))
		for _, name := range []string{"slow", "change"} {
			if strings.Contains(listed, "The test tool "+name+".") {
				t.Errorf("%+v: %s is listed", test.narrow, name)
			}
		}
		if strings.Join(got, " ") != test.want {
			t.Errorf("%+v: it may call %v, want %s", test.narrow, got, test.want)
		}
	}
}

func TestCallsOnBehalfAskTheClient(t *testing.T) {
	b := newTestServer(t)
	w := dial(t, b)
	w.send(handshake("2025-06-18", `{"elicitation":{}}`)...)
	w.next()
	for _, test := range []struct {
		session, answer, want string
	}{
		{"s", "allow", "launched x"},
		{"s", "deny", "refused: a person denied this call of launch"},
		{"another", "", "refused: launch (runs) needs a person's approval, and this client cannot ask for it"},
	} {
		child := testAccess()
		child.Caller.Session, child.Caller.Depth = "sub", 1
		asker := testAccess().Caller
		asker.Session = test.session
		done := make(chan tool.Result, 1)
		go func() {
			done <- b.CallFor(t.Context(), Request{Access: child, Tool: "launch", Args: []byte(`{"text":"x"}`)}, asker)
		}()
		if test.answer != "" {
			question := read(t, w.next())
			if question.Method != "elicitation/create" {
				t.Fatalf("the client was sent %+v", question)
			}
			w.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"action":"accept","content":{"decision":%q}}}`,
				question.ID, test.answer))
		}
		if got := (<-done).Text(); !strings.HasPrefix(got, test.want) {
			t.Errorf("%s %s: got %q, want %q", test.session, test.answer, got, test.want)
		}
	}
}

// TestClientIsAskedAboutAStoredQuestion has a question of the approvals that no call of the client waits for.
func TestClientIsAskedAboutAStoredQuestion(t *testing.T) {
	desk := newMemoryApprovals()
	b := newTestServer(t, withApprovals(desk))
	w := dial(t, b)
	w.send(handshake("2025-06-18", `{"elicitation":{}}`)...)
	w.next()
	asker := testAccess().Caller
	if other := (tool.Caller{Agent: "a", User: "u", Session: "gone"}); !b.CanAsk(asker) || b.CanAsk(other) {
		t.Fatal("the client that is connected can be asked, and no other one")
	}
	q := approvals.Call{Tool: "network", Title: "Connect to a host", Principal: asker.Principal(), Shown: `{"host":"h"}`}
	for answer, want := range map[string]bool{
		`{"action":"accept","content":{"decision":"allow"}}`: true, `{"action":"cancel"}`: false,
	} {
		id, err := desk.Ask(t.Context(), q, time.Now().Add(time.Minute))
		if err != nil {
			t.Fatal(err)
		}
		answered := make(chan bool, 1)
		go func() { answered <- b.AskClient(t.Context(), asker, q, id) }()
		question := read(t, w.next())
		if question.Method != "elicitation/create" || !strings.Contains(string(question.Params), "Connect to a host") {
			t.Fatalf("the client was sent %+v", question)
		}
		w.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, question.ID, answer))
		if <-answered != want {
			t.Errorf("%s: answered is not %t", answer, want)
		}
		if d, err := desk.Take(t.Context(), id, q); (err == nil && d.Allow) != want {
			t.Errorf("%s: %+v, %v", answer, d, err)
		}
	}
}

func TestCallsOnBehalfWaitForApprovers(t *testing.T) {
	desk := newMemoryApprovals()
	b := newTestServer(t, withApprovals(desk))
	for _, allow := range []bool{true, false} {
		child := testAccess()
		child.Caller.Session, child.Caller.Depth = "sub", 1
		done := make(chan tool.Result, 1)
		go func() {
			done <- b.CallFor(t.Context(), Request{Access: child, Tool: "launch", Args: []byte(`{"text":"x"}`)},
				tool.Caller{Agent: "a", User: "u", Session: "gone"})
		}()
		if err := desk.decide(t.Context(), desk.next(t), cli(allow, "no")); err != nil {
			t.Fatal(err)
		}
		if got := <-done; got.Failed == allow {
			t.Errorf("allowed %t: %q", allow, got.Text())
		}
	}
}
