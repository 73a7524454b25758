package server

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mcp-tools/mcp-tools/internal/approvals"
	"github.com/mcp-tools/mcp-tools/internal/audit"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/policy"
)

// silent is a client that cannot ask anybody.
func silent(t *testing.T, d *memoryApprovals) (*testServer, *wire) {
	b := newTestServer(t, withApprovals(d))
	w := dial(t, b)
	w.send(handshake("2025-11-25", `{}`)...)
	w.next()
	return b, w
}

func TestCallWaitsForTheOperator(t *testing.T) {
	for name, test := range map[string]struct {
		word     approvals.Decision
		want     string
		approval string
	}{
		"allowed": {cli(true, ""), "launched x", "cli:ann"},
		"denied": {cli(false, "use staging"), `refused: a person denied this call of launch: "use staging"`,
			"denied cli:ann"},
	} {
		t.Run(name, func(t *testing.T) {
			noLeaks(t)
			d := newMemoryApprovals()
			b, w := silent(t, d)
			w.send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"launch","arguments":{"text":"x"},"_meta":{"progressToken":"p"}}}`)
			id := d.next(t)
			if note := w.next(); !strings.Contains(note, "notifications/progress") ||
				!strings.Contains(note, "mcp-tools approvals allow "+id) {
				t.Errorf("while it waits the client gets %s", note)
			}
			if err := d.decide(t.Context(), id, test.word); err != nil {
				t.Fatal(err)
			}
			if got := read(t, w.next()); !strings.HasPrefix(got.text(), test.want) {
				t.Errorf("the call got %q", got.text())
			}
			entries := b.audit.all()
			if last := entries[len(entries)-1]; last.Approval != test.approval {
				t.Errorf("the record says %q", last.Approval)
			}
		})
	}
}

func TestNoWaitWithoutAnApprover(t *testing.T) {
	d := newMemoryApprovals()
	d.attended = false
	_, w := silent(t, d)
	w.send(callLine("1", "launch", `{}`))
	if got := read(t, w.next()); !strings.Contains(got.text(), "mcp-tools approvals allow") || !got.Result.IsError {
		t.Errorf("got %+v", got)
	}
}

// TestWaitingTakesNobodysPlace lets more calls wait than may run.
func TestWaitingTakesNobodysPlace(t *testing.T) {
	d := newMemoryApprovals()
	_, w := silent(t, d)
	const calls = 40
	for i := range calls {
		w.send(callLine(fmt.Sprint(100+i), "launch", fmt.Sprintf(`{"n":%d}`, i)))
	}
	ids := make([]string, calls)
	for i := range ids {
		ids[i] = d.next(t)
	}
	w.send(callLine("1", "echo", `{"text":"alive","n":1}`))
	if got := read(t, w.next()); got.text() != "alive1" {
		t.Fatalf("the server said %+v", got)
	}
	for _, id := range ids {
		if err := d.decide(t.Context(), id, cli(true, "")); err != nil {
			t.Fatal(err)
		}
	}
	for range ids {
		if got := read(t, w.next()); !strings.HasPrefix(got.text(), "launched") {
			t.Errorf("got %+v", got)
		}
	}
}

func TestCancelledCallWithdrawsItsQuestion(t *testing.T) {
	d := newMemoryApprovals()
	b, w := silent(t, d)
	w.send(callLine("1", "launch", `{}`))
	id := d.next(t)
	w.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`, ping("2"))
	w.next()
	w.in.Close()
	<-w.ended
	if q := d.get(id); !q.closed {
		t.Error("the question is still open")
	}
	if d.decide(t.Context(), id, cli(true, "")) == nil {
		t.Error("an answer still counts")
	}
	for _, e := range b.audit.all() {
		if e.Outcome == "ok" || e.Phase == audit.Intent {
			t.Errorf("it ran: %+v", e)
		}
	}
}

// TestOperatorAnswersFirst takes the question at the client back.
func TestOperatorAnswersFirst(t *testing.T) {
	noLeaks(t)
	d := newMemoryApprovals()
	w := dial(t, newTestServer(t, withApprovals(d)))
	w.send(handshake("2025-11-25", `{"elicitation":{}}`)...)
	w.next()
	w.send(callLine("1", "launch", `{"text":"x"}`))
	question := read(t, w.next())
	if err := d.decide(t.Context(), d.next(t), cli(true, "")); err != nil {
		t.Fatal(err)
	}
	cancelled := read(t, w.next())
	var params struct{ RequestID json.RawMessage }
	if err := json.Unmarshal(cancelled.Params, &params); err != nil || cancelled.Method != "notifications/cancelled" ||
		string(params.RequestID) != string(question.ID) {
		t.Errorf("the client got %+v, %v", cancelled, err)
	}
	if got := read(t, w.next()); got.text() != "launched x" {
		t.Errorf("the call got %+v", got)
	}
	w.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"action":"decline"}}`, question.ID), ping("9"))
	if got := read(t, w.next()); string(got.ID) != "9" {
		t.Errorf("a late answer had an effect: %+v", got)
	}
}

func TestClientAnswersFirst(t *testing.T) {
	d := newMemoryApprovals()
	w := dial(t, newTestServer(t, withApprovals(d)))
	w.send(handshake("2025-11-25", `{"elicitation":{}}`)...)
	w.next()
	for decision, want := range map[string]approvals.Decision{
		"allow":         {Allow: true, Scope: approvals.Once, Channel: "elicitation"},
		"allow_session": {Allow: true, Scope: approvals.Session, Channel: "elicitation"},
		"allow_always":  {Allow: true, Scope: approvals.Always, Channel: "elicitation"},
		"deny":          {Reason: "why", Channel: "elicitation"},
	} {
		w.send(callLine("1", "launch", `{"text":"`+decision+`"}`))
		question, id := read(t, w.next()), d.next(t)
		if !strings.Contains(string(question.Params), "this agent, in this profile and workspace, until 2") {
			t.Errorf("the question does not say what always would have meant: %s", question.Params)
		}
		reason := ""
		if decision == "deny" {
			reason = `,"reason":"why"`
		}
		w.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"action":"accept","content":{"decision":%q%s}}}`,
			question.ID, decision, reason))
		if got := read(t, w.next()); got.Result.IsError == want.Allow {
			t.Errorf("%s: got %+v", decision, got)
		}
		if diff := cmp.Diff(&want, d.get(id).decision); diff != "" {
			t.Errorf("%s: %s", decision, diff)
		}
		if d.decide(t.Context(), id, cli(true, "")) == nil {
			t.Errorf("%s: a second answer counts", decision)
		}
	}
}

// TestProgressWhileAQuestionIsOpen lets a person think for longer than clients wait
// for a call without progress.
func TestProgressWhileAQuestionIsOpen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := dial(t, newTestServer(t, withApprovals(newMemoryApprovals())))
		w.send(handshake("2025-11-25", `{"elicitation":{}}`)...)
		<-w.lines
		w.send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"launch","arguments":{"text":"x"},` +
			`"_meta":{"progressToken":7}}}`)
		question := read(t, <-w.lines)
		began := time.Now()
		for n := 1; n <= 3; n++ {
			want := fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":7,`+
				`"progress":0.00%d,"message":"waiting for an answer to a question at the client"}}`, n)
			if got := <-w.lines; got != want {
				t.Errorf("got %s", got)
			}
		}
		if waited := time.Since(began); waited != 3*noticeEvery {
			t.Errorf("three notices came after %s", waited)
		}
		w.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"action":"accept","content":{"decision":"allow"}}}`,
			question.ID))
		if got := read(t, <-w.lines); got.text() != "launched x" {
			t.Errorf("the call got %+v", got)
		}
		w.in.Close()
		<-w.ended
	})
}

// TestDenialAfterApprovalCounts has a client with a dialog that cannot be withdrawn.
func TestDenialAfterApprovalCounts(t *testing.T) {
	d := newMemoryApprovals()
	b := newTestServer(t, withApprovals(d))
	for decision, runs := range map[string]bool{"allow": true, "deny": false} {
		args := `{"text":"` + decision + `"}`
		ask := callTool(t, b, "launch", args, answering("")).InputRequest
		if ask == nil || ask.Waiting == "" {
			t.Fatalf("nothing was asked: %+v", ask)
		}
		if err := d.decide(t.Context(), ask.Waiting, cli(true, "")); err != nil {
			t.Fatal(err)
		}
		said := json.RawMessage(`{"action":"accept","content":{"decision":"` + decision + `"}}`)
		back := func(r *Request) {
			answering("")(r)
			r.Input = &InputResponse{State: ask.State, Answers: map[string]json.RawMessage{approvalKey: said}}
		}
		if got := callTool(t, b, "launch", args, back); got.Result.Failed == runs {
			t.Errorf("%s: %+v", decision, got)
		}
		if got := callTool(t, b, "launch", args, back); !got.Result.Failed {
			t.Errorf("%s: used twice: %+v", decision, got)
		}
	}
}

// TestApprovalIsVoidAfterAChange changes what the word rests on.
func TestApprovalIsVoidAfterAChange(t *testing.T) {
	for _, changed := range []bool{false, true} {
		d, s := newMemoryApprovals(), newSettles(false)
		b := newTestServer(t, withApprovals(d), withTool(t, tool.Prepared(s)))
		ask := callTool(t, b, "settles", `{}`, answering("")).InputRequest
		if got := d.get(ask.Waiting).call.Facts["Binary"]; got != "/bin/one" {
			t.Errorf("the person sees %q", got)
		}
		if changed {
			s.change("/bin/two")
		}
		got := callTool(t, b, "settles", `{}`, answering(ask.State))
		if got.Result.Failed != changed || *s.runs == 1 == changed {
			t.Errorf("changed %t: %+v, ran %d times", changed, got, *s.runs)
		}
		if changed && (got.Result.Kind != tool.Conflict || !d.get(ask.Waiting).closed) {
			t.Errorf("it got %+v", got)
		}
	}
}

func TestChoicesOfAnApproval(t *testing.T) {
	for once, want := range map[bool][]string{true: {"allow", "deny"},
		false: {"allow", "allow_session", "allow_always", "deny"}} {
		d := newMemoryApprovals()
		b := newTestServer(t, withApprovals(d), withTool(t, tool.Prepared(newSettles(once))))
		ask := callTool(t, b, "settles", `{}`, answering("")).InputRequest
		if got := enumOf(t, ask); !slices.Equal(got, want) || d.get(ask.Waiting).call.Once != once {
			t.Errorf("a person can choose from %v", got)
		}
	}
	plain := newTestServer(t) // without a desk there is nothing that could last
	ask := callTool(t, plain, "launch", `{}`, answering("")).InputRequest
	if got := enumOf(t, ask); !slices.Equal(got, []string{"allow", "deny"}) {
		t.Errorf("a person can choose from %v", got)
	}
	said := json.RawMessage(`{"action":"accept","content":{"decision":"allow_always"}}`)
	got := callTool(t, plain, "launch", `{}`, answering(ask.State),
		func(r *Request) { r.Input.Answers[approvalKey] = said })
	if !got.Result.Failed {
		t.Error("what was not offered was taken")
	}
}

func TestARuleAllows(t *testing.T) {
	d := newMemoryApprovals()
	d.rule = "r1"
	b := newTestServer(t, withApprovals(d))
	if got := callTool(t, b, "launch", `{"text":"x"}`); got.Result.Text() != "launched x" {
		t.Errorf("got %+v", got)
	}
	if entries := b.audit.all(); entries[len(entries)-1].Approval != "rule r1" {
		t.Errorf("the record says %+v", entries)
	}
}

// TestLongArgumentsGoToTheDeskOnly shows a dialog only what fits into one.
func TestLongArgumentsGoToTheDeskOnly(t *testing.T) {
	d := newMemoryApprovals()
	b := newTestServer(t, withApprovals(d))
	args := func(n int) string { return `{"text":"` + strings.Repeat("x", n) + `"}` }
	ask := callTool(t, b, "launch", args(maxShown+1), answering("")).InputRequest
	if ask == nil || ask.forClient() || len(d.get(ask.Waiting).call.Shown) < maxShown {
		t.Fatalf("asked %+v", ask)
	}
	d.attended = false
	if got := callTool(t, b, "launch", args(maxShown+2), answering("")); !strings.Contains(got.Result.Text(),
		"too long for a person") {
		t.Errorf("got %+v", got)
	}
}

func TestQuestionsAreVisibleAndScrubbed(t *testing.T) {
	d := newMemoryApprovals()
	b := newTestServer(t, withApprovals(d))
	raw, err := json.Marshal(map[string]string{"text": "\u202e\u200b " + plantedKey()})
	if err != nil {
		t.Fatal(err)
	}
	shown := d.get(callTool(t, b, "launch", string(raw), answering("")).InputRequest.Waiting).call.Shown
	if strings.Contains(shown, plantedKey()) || !strings.Contains(shown, "<U+202E><U+200B>") {
		t.Errorf("a person is shown %q", shown)
	}
}

func TestModernClientsWaitToo(t *testing.T) {
	d := newMemoryApprovals()
	w := dial(t, newTestServer(t, withApprovals(d)))
	line := strings.Replace(modernLine("1", "tools/call", `"name":"launch","arguments":{"text":"x"}`),
		`{"elicitation":{}}`, `{}`, 1)
	w.send(line)
	id := d.next(t)
	if note := w.next(); !strings.Contains(note, id) {
		t.Errorf("while it waits the client gets %s", note)
	}
	if err := d.decide(t.Context(), id, cli(true, "")); err != nil {
		t.Fatal(err)
	}
	if got := read(t, w.next()); got.text() != "launched x" {
		t.Errorf("the call got %+v", got)
	}
}

// TestApproversMakeNoCalls keeps those who decide apart from those who ask.
func TestApproversMakeNoCalls(t *testing.T) {
	s := openSite(t, func(h *HTTP) {
		list := guests()
		list["console"] = Identity{ID: "t9", Approves: true, Profiles: []string{policy.AnyProfile}}
		h.Identities = list
		h.Approvals = func(w http.ResponseWriter, _ *http.Request, who Identity) {
			writeText(w, http.StatusOK, "hello "+who.ID)
		}
		h.Verbs = &OperatorVerbs{List: h.Approvals, Call: h.Approvals}
	})
	at := func(token, path string) *visitor {
		v := s.visitor(token)
		v.path = path
		return v
	}
	for name, test := range map[string]struct {
		who    *visitor
		method string
		want   int
	}{
		"an approver looks":   {at("console", "/approvals"), http.MethodGet, http.StatusOK},
		"an approver decides": {at("console", "/approvals/abc"), http.MethodPost, http.StatusOK},
		"an approver calls":   {at("console", "/mcp"), http.MethodPost, http.StatusForbidden},
		"an approver by SSE":  {at("console", "/sse"), http.MethodGet, http.StatusForbidden},
		"an agent looks":      {at("alice", "/approvals"), http.MethodGet, http.StatusForbidden},
		"an agent decides":    {at("alice", "/approvals/abc"), http.MethodPost, http.StatusForbidden},
		"an unknown token":    {at("nobody", "/approvals"), http.MethodGet, http.StatusUnauthorized},

		"an operator":             {at("console", "/operator"), http.MethodGet, http.StatusOK},
		"an operator calls":       {at("console", "/operator/cron/list"), http.MethodPost, http.StatusOK},
		"an agent as an operator": {at("alice", "/operator"), http.MethodGet, http.StatusForbidden},
		"an agent calls a verb":   {at("alice", "/operator/cron/list"), http.MethodPost, http.StatusForbidden},
		"an unknown operator":     {at("nobody", "/operator"), http.MethodGet, http.StatusUnauthorized},
	} {
		if got := test.who.do(t.Context(), test.method, "{}"); got.status != test.want {
			t.Errorf("%s: %d %s", name, got.status, got.body)
		}
	}
	foreign := at("console", "/approvals")
	foreign.header = map[string]string{"Origin": "https://evil.example"}
	if got := foreign.do(t.Context(), http.MethodGet, ""); got.status != http.StatusForbidden {
		t.Errorf("a page of another origin got %d", got.status)
	}
	plain := openSite(t).visitor("alice")
	plain.path = "/approvals"
	if got := plain.do(t.Context(), http.MethodGet, ""); got.status != http.StatusNotFound {
		t.Errorf("without approvals: %d", got.status)
	}
}
