package server

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/mcp-tools/mcp-tools/internal/approvals"
)

// withPage gives questions the addresses of their pages.
func withPage(c *Config) {
	c.Page = func(id string) string { return "http://127.0.0.1:8090/questions/" + id }
}

// pageQuestion is a question that sends a person to a page.
type pageQuestion struct{ Mode, Message, URL, ElicitationID string }

// TestPersonDecidesOnThePage has a client of 2025-11-25 that opens pages only. The call continues with the answer on the page.
func TestPersonDecidesOnThePage(t *testing.T) {
	for name, test := range map[string]struct {
		reply    string // of the client; "" for none before the answer
		answer   *approvals.Decision
		want     string
		complete bool
	}{
		"allowed":                       {`{"action":"accept"}`, new(cli(true, "")), "launched x", true},
		"denied":                        {`{"action":"accept"}`, new(cli(false, "no")), `refused: a person denied this call of launch: "no"`, true},
		"answered before the client is": {"", new(cli(true, "")), "launched x", true},
		"the form of an answer means nothing here": {`{"action":"accept","content":{"decision":"allow"}}`,
			new(cli(false, "")), "refused: a person denied this call", true},
		"declined at the client": {`{"action":"decline"}`, nil, "refused: a person denied this call of launch", false},
		"closed at the client":   {`{"action":"cancel"}`, nil, "refused: the question whether to allow launch was closed", false},
	} {
		t.Run(name, func(t *testing.T) {
			noLeaks(t)
			d := newMemoryApprovals()
			d.attended = false
			b := newTestServer(t, withApprovals(d), withPage)
			w := dial(t, b)
			w.send(handshake("2025-11-25", `{"elicitation":{"url":{}}}`)...)
			w.next()
			w.send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"launch","arguments":{"text":"x"},"_meta":{"progressToken":"p"}}}`)
			id := d.next(t)
			ask := read(t, w.next())
			var q pageQuestion
			if err := json.Unmarshal(ask.Params, &q); err != nil || ask.Method != "elicitation/create" ||
				q.Mode != "url" || q.URL != b.Page(id) || q.ElicitationID != id ||
				!strings.HasPrefix(q.Message, "launch (launch)") {
				t.Fatalf("the client was sent %+v, %v", ask, err)
			}
			if test.reply != "" {
				w.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, ask.ID, test.reply))
			}
			if test.reply != "" && test.answer != nil {
				if note := w.next(); !strings.Contains(note, "waiting for a person's approval "+id+" on "+b.Page(id)) {
					t.Fatalf("while it waits the client gets %s", note)
				}
			}
			if test.answer != nil {
				if err := d.decide(t.Context(), id, *test.answer); err != nil {
					t.Fatal(err)
				}
			}
			got := read(t, w.next())
			if test.reply == "" {
				if got.Method != "notifications/cancelled" {
					t.Fatalf("the client was sent %+v", got)
				}
				got = read(t, w.next())
			}
			if test.complete {
				if got.Method != "notifications/elicitation/complete" || !strings.Contains(string(got.Params), `"`+id+`"`) {
					t.Fatalf("the client was sent %+v", got)
				}
				got = read(t, w.next())
			}
			if !strings.HasPrefix(got.text(), test.want) {
				t.Errorf("the call got %+v", got)
			}
		})
	}
}

// TestStatelessClientOpensThePage has a client of 2026-07-28: it sends the call again when the person has agreed, and
// that request continues with the answer on the page.
func TestStatelessClientOpensThePage(t *testing.T) {
	d := newMemoryApprovals()
	d.attended = false
	b := newTestServer(t, withApprovals(d), withPage)
	w := dial(t, b)
	line := func(id, more string) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":"launch","arguments":{"text":"x"}%s,`+
			`"_meta":{%q:"2026-07-28",%q:{"name":"t","version":"1"},%q:{"elicitation":{"url":{}}}}}}`,
			id, more, mcp.MetaKeyProtocolVersion, mcp.MetaKeyClientInfo, mcp.MetaKeyClientCapabilities)
	}
	w.send(line("1", ""))
	var ask struct {
		Result struct {
			ResultType    string
			RequestState  string
			InputRequests map[string]struct {
				Method string
				Params pageQuestion
			}
		}
	}
	if err := json.Unmarshal([]byte(w.next()), &ask); err != nil {
		t.Fatal(err)
	}
	id := d.next(t)
	q := ask.Result.InputRequests[approvalKey]
	if ask.Result.ResultType != "input_required" || q.Method != "elicitation/create" || q.Params.Mode != "url" ||
		q.Params.URL != b.Page(id) {
		t.Fatalf("the client was asked %+v", ask)
	}
	w.send(line("2", fmt.Sprintf(`,"requestState":%q,"inputResponses":{"approval":{"action":"accept"}}`,
		ask.Result.RequestState)))
	if err := d.decide(t.Context(), id, cli(true, "")); err != nil {
		t.Fatal(err)
	}
	if got := read(t, w.next()); got.text() != "launched x" {
		t.Errorf("the call got %+v", got)
	}
}

// TestFormBeforePage has a client with both: the form is shown where it can be, and the page for calls that are too
// long for it. Without a page nothing sends the client there.
func TestFormBeforePage(t *testing.T) {
	long := `{"text":"` + strings.Repeat("x", maxShown) + `"}`
	for name, test := range map[string]struct {
		page  func(*Config)
		can   string
		args  string
		mode  string // of the question
		error string
	}{
		"short":                {withPage, `{"form":{},"url":{}}`, `{}`, "", ""},
		"long":                 {withPage, `{"form":{},"url":{}}`, long, "url", ""},
		"long, without a page": {func(*Config) {}, `{"form":{},"url":{}}`, long, "", "too long for a person to approve"},
		"no page":              {func(*Config) {}, `{"url":{}}`, `{}`, "", "mcp-tools approvals allow"},
	} {
		d := newMemoryApprovals()
		d.attended = false
		w := dial(t, newTestServer(t, withApprovals(d), test.page))
		w.send(handshake("2025-11-25", `{"elicitation":`+test.can+`}`)...)
		w.next()
		w.send(callLine("1", "launch", test.args))
		got := read(t, w.next())
		if test.error != "" {
			if !strings.Contains(got.text(), test.error) {
				t.Errorf("%s: it got %+v", name, got)
			}
			continue
		}
		var q pageQuestion
		if err := json.Unmarshal(got.Params, &q); err != nil || got.Method != "elicitation/create" || q.Mode != test.mode {
			t.Errorf("%s: the client was sent %.300s, %v", name, got.Params, err)
		}
		w.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"action":"cancel"}}`, got.ID))
		w.next()
	}
}
