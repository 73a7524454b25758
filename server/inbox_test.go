package server

import (
	"strings"
	"testing"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/inbox"
	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/store/storetest"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// TestResultsEndWithWhatHasHappened checks that news stand after a result, scrubbed, whole
// though the result is cut, not in structured content, and once.
func TestResultsEndWithWhatHasHappened(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		box := inbox.New(inbox.Options{Store: s, Lease: time.Hour})
		uses := make(chan tool.Use, 10)
		b := newTestServer(t, func(c *Config) {
			c.Inbox = box
			c.Used = func(_ tool.Caller, u tool.Use) { uses <- u }
		})
		w := dial(t, b, func(c *Stdio) { c.Access.Structured = true })
		w.send(handshake("2025-11-25", "{}")...)
		w.next()
		to := inbox.ToCaller(testAccess().Caller)
		event := func(text string) {
			t.Helper()
			if _, err := box.Send(t.Context(), to,
				inbox.Event{Kind: inbox.Subagent, Subject: "sub-1", Text: text}); err != nil {
				t.Fatal(err)
			}
		}
		call := func(id, name, args string) (line string, last string) {
			t.Helper()
			w.send(callLine(id, name, args))
			line = w.next()
			r := read(t, line)
			if len(r.Result.Content) == 0 {
				t.Fatal(line)
			}
			return line, r.Result.Content[len(r.Result.Content)-1].Text
		}
		event("found " + plantedKey())
		line, last := call("2", "leaks", "{}")
		if !strings.HasPrefix(last, "1 thing happened:\n- subagent sub-1: \"found [REDACTED") {
			t.Errorf("the result ends with %q", last)
		}
		if structured := line[strings.Index(line, "structuredContent"):]; strings.Contains(structured, "happened") {
			t.Errorf("the structured content is %q", structured)
		}
		event("again")
		if _, last = call("3", "long", `{"n":100000}`); last != "1 thing happened:\n- subagent sub-1: \"again\"" {
			t.Errorf("a result that was cut ends with %q", last)
		}
		event("failed")
		if _, last = call("4", "broken", "{}"); !strings.Contains(last, "failed") {
			t.Errorf("a failure ends with %q", last)
		}
		if _, last = call("5", "echo", `{"text":"x","n":1}`); last != "x1" {
			t.Errorf("without news a result ends with %q", last)
		}
		if u := <-uses; u.Calls != 1 || u.Client == "" || u.TokensIn == 0 {
			t.Errorf("the use is %+v", u)
		}
		for told, began := 0, time.Now(); told < 3; { // soon after the response is written
			if time.Since(began) > hang {
				t.Fatalf("%d of 3 events count as delivered", told)
			}
			list, err := box.List(t.Context(), testAccess().Caller, 10)
			if err != nil || len(list) != 3 {
				t.Fatalf("the inbox has %d events, %v", len(list), err)
			}
			told = 0
			for _, e := range list {
				if e.Delivered {
					told++
				}
			}
		}
	})
}
