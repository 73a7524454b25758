package server

import (
	"strings"
	"testing"
	"testing/synctest"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// TestClientCancelsACall: giving up is the caller's right, and no
// failure of the tool that the operator should look into.
func TestClientCancelsACall(t *testing.T) {
	b := newTestServer(t)
	w := dial(t, b)
	w.send(callLine("1", "slow", `{"text":"x"}`))
	<-b.started
	w.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
	<-b.stopped
	w.in.Close()
	<-w.ended
	if entries := b.audit.all(); len(entries) != 1 || entries[0].Outcome != string(tool.Cancelled) {
		t.Errorf("the journal says %+v", entries)
	}
}

// TestUnansweredQuestion: no answer in time is a refusal for the model, and not the
// mistake of a client that used an old state.
func TestUnansweredQuestion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := dial(t, newTestServer(t)) // which has a minute's patience, of a clock that is not the machine's
		w.send(handshake("2025-06-18", `{"elicitation":{}}`)...)
		w.next()
		w.send(callLine("1", "launch", `{"text":"x"}`))
		w.next() // the question
		if r := read(t, w.next()); r.Error != nil ||
			!strings.Contains(r.text(), "no person approved this call of launch in time") {
			t.Errorf("got %+v, %q", r, r.text())
		}
		w.in.Close()
		<-w.ended
	})
}

// TestTooMuchStructuredContent is left out, and the result says so.
func TestTooMuchStructuredContent(t *testing.T) {
	b := newTestServer(t)
	c := b.newCall(Request{Access: testAccess()}, "")
	res := c.cut(t.Context(), tool.Text("see the data").With(map[string]any{"big": strings.Repeat("x", 10_000)}), tool.Tool{})
	if res.Data != nil || !strings.Contains(res.Text(), "structured content left out: the maximum is 10000 bytes") {
		t.Errorf("got %q with %v", res.Text(), res.Data)
	}
}

// TestStopping checks that Config.Stopping is called when the shutdown begins,
// while calls still have their grace time.
func TestStopping(t *testing.T) {
	var b *testServer
	calls := 0
	b = newTestServer(t, func(c *Config) {
		c.Stopping = func() {
			calls++
			close(b.release) // so that the call can end
		}
	})
	w := dial(t, b)
	w.send(callLine("1", "slow", `{"text":"x"}`))
	<-b.started
	w.in.Close()
	if r := read(t, w.next()); r.Error != nil {
		t.Errorf("the answer is %+v", r)
	}
	<-w.ended
	if calls != 1 {
		t.Errorf("Stopping was called %d times", calls)
	}
}
