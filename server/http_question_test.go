package server

import (
	"crypto/tls"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
)

// TestQuestionStaysOpen lets a question stay open for longer than any one
// write or read may take.
func TestQuestionStaysOpen(t *testing.T) {
	for name, secure := range map[string]bool{"HTTP/1.1": false, "HTTP/2": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				certificate, pool := selfSigned(t)
				s, p, shut := stillSite(t, func(h *HTTP) {
					if secure {
						h.TLS = &tls.Config{Certificates: []tls.Certificate{certificate}}
					}
				})
				v := s.visitor("alice")
				if secure {
					transport := &http.Transport{
						DialContext: p.dial, ForceAttemptHTTP2: true,
						TLSClientConfig: &tls.Config{RootCAs: pool, ServerName: "127.0.0.1"},
					}
					defer transport.CloseIdleConnections()
					v.web, v.base = &http.Client{Transport: transport}, "https://localhost"
				}
				lines := handshake("2025-11-25", `{"elicitation":{}}`)
				v.session = v.post(lines[0]).header.Get(mcp.HeaderSessionID)
				v.version = "2025-11-25"
				v.post(lines[1])
				call := v.listen(t, callLine("1", "launch", `{"text":"x"}`))
				question := read(t, <-call.data)
				if question.Method != string(mcp.MethodElicitationCreate) {
					t.Fatalf("no question was asked: %+v", question)
				}
				<-time.After(writeLimit + bodyLimit/2)
				v.post(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"action":"accept","content":{"decision":"allow"}}}`, question.ID))
				if got := read(t, <-call.data); got.text() != "launched x" {
					t.Errorf("the call got %+v", got)
				}
				call.close()
				v.web.CloseIdleConnections()
				shut()
			})
		})
	}
}

// TestManyQuestionsAtOnce asks more than may run at a time, and answers the
// last question first. Other messages are not delayed, and a response that comes
// twice, or without a request, has no effect.
func TestManyQuestionsAtOnce(t *testing.T) {
	noLeaks(t)
	w := dial(t, newTestServer(t))
	w.send(handshake("2025-11-25", `{"elicitation":{}}`)...)
	w.next()
	const calls = 40
	var questions []reply
	for i := range calls {
		w.send(callLine(fmt.Sprint(1000+i), "launch", fmt.Sprintf(`{"n":%d}`, i)))
	}
	for range calls {
		questions = append(questions, read(t, w.next()))
	}
	w.send(ping(`"alive"`))
	if r := read(t, w.next()); string(r.ID) != `"alive"` {
		t.Errorf("the ping got %+v", r)
	}
	for i := range questions {
		q := questions[calls-1-i]
		for range 2 {
			w.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"action":"accept","content":{"decision":"allow"}}}`,
				q.ID))
		}
		if r := read(t, w.next()); !strings.HasPrefix(r.text(), "launched") {
			t.Errorf("got %+v", r)
		}
	}
	if more := w.rest(); len(more) > 0 {
		t.Errorf("too much: %q", more)
	}
}

func TestQuestionsEndWithTheInput(t *testing.T) {
	noLeaks(t)
	w := dial(t, newTestServer(t))
	w.send(handshake("2025-11-25", `{"elicitation":{}}`)...)
	w.next()
	w.send(callLine("1", "launch", `{}`))
	w.next()
	got := w.rest()
	if len(got) != 1 || !strings.Contains(got[0], "no person approved") {
		t.Errorf("got %q", got)
	}
}

// TestOperatorMayTakeTime lets a call wait, without a word from us,
// for longer than any one write or read may take.
func TestOperatorMayTakeTime(t *testing.T) {
	for name, secure := range map[string]bool{"HTTP/1.1": false, "HTTP/2": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := newMemoryApprovals()
				certificate, pool := selfSigned(t)
				s, p, shut := stillSite(t, func(h *HTTP) {
					h.Server.Approvals = d
					next := h.Server.settings().Settings
					next.ApprovalWait, next.ApprovalTimeout = WaitAlways, 10*writeLimit
					if err := h.Server.Apply(next); err != nil {
						t.Error(err)
					}
					if secure {
						h.TLS = &tls.Config{Certificates: []tls.Certificate{certificate}}
					}
				})
				v := s.visitor("alice").modern("tools/call", "launch")
				if secure {
					transport := &http.Transport{
						DialContext: p.dial, ForceAttemptHTTP2: true,
						TLSClientConfig: &tls.Config{RootCAs: pool, ServerName: "127.0.0.1"},
					}
					defer transport.CloseIdleConnections()
					v.web, v.base = &http.Client{Transport: transport}, "https://localhost"
				}
				got := make(chan answer, 1)
				line := strings.NewReplacer(`{"elicitation":{}}`, `{}`, `,"progressToken":1`, ``).
					Replace(modernLine("1", "tools/call", `"name":"launch","arguments":{"text":"x"}`))
				go func() { got <- v.post(line) }()
				id := d.next(t)
				<-time.After(3 * (writeLimit + bodyLimit))
				if err := d.decide(t.Context(), id, cli(true, "")); err != nil {
					t.Fatal(err)
				}
				if a := <-got; !strings.Contains(a.body, "launched x") {
					t.Errorf("the call got %d %s %v", a.status, a.body, a.err)
				}
				v.web.CloseIdleConnections()
				shut()
			})
		})
	}
}
