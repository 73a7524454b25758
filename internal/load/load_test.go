package load

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

// A fake answers as a server does, and remembers what it was asked.
type fake struct {
	mu       sync.Mutex
	sessions map[string]bool
	seen     []string
	done     func() // called after 40 calls
}

func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	session := r.Header.Get("Mcp-Session-Id")
	if r.Header.Get("Authorization") != "Bearer T" {
		w.WriteHeader(401)
		return
	}
	if r.Method == http.MethodDelete {
		delete(f.sessions, session)
		return
	}
	var m struct {
		ID     int
		Method string
		Params struct {
			Name      string
			Arguments map[string]any
		}
	}
	if err := json.NewDecoder(r.Body).Decode(&m); err != nil {
		w.WriteHeader(400)
		return
	}
	if m.Method == "initialize" {
		id := fmt.Sprint("s", len(f.seen), len(f.sessions))
		f.sessions[id] = true
		w.Header().Set("Mcp-Session-Id", id)
		_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":0,"result":{}}`)
		return
	}
	if !f.sessions[session] {
		w.WriteHeader(404)
		return
	}
	if m.Method != "tools/call" {
		w.WriteHeader(202)
		return
	}
	f.seen = append(f.seen, m.Params.Name+" "+fmt.Sprint(m.Params.Arguments))
	if len(f.seen) == 40 {
		f.done()
	}
	switch m.Params.Name {
	case "stream":
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\"}\n\ndata: {\"jsonrpc\":\"2.0\",\"id\":%d,\"result\":{\"content\":[]}}\n\n", m.ID)
	case "busy":
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%d,"result":{"isError":true,"content":[{"type":"text","text":"busy: too many calls"}]}}`, m.ID)
	case "away":
		delete(f.sessions, session)
		w.WriteHeader(404)
	case "unknown":
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%d,"error":{"code":-32602,"message":"no"}}`, m.ID)
	case "elsewhere":
		http.Redirect(w, r, "http://127.0.0.1:1/", http.StatusTemporaryRedirect)
	}
}

func TestRun(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	f := &fake{sessions: map[string]bool{}, done: cancel}
	s := httptest.NewServer(f)
	defer s.Close()
	p, err := Read([]byte("agents: 4\nfor: 1m\nthink: 0s-1ms\ncalls:\n" +
		"- {tool: stream, args: {text: 'a{agent} c{n}', list: ['{n}']}}\n- {tool: busy}\n- {tool: away}\n- {tool: unknown}\n- {tool: elsewhere}\n"))
	if err != nil {
		t.Fatal(err)
	}
	r, err := Run(ctx, Target{s.URL, []string{"T"}}, p)
	if err != nil {
		t.Fatal(err)
	}
	if r.Agents != 4 || r.Calls < 30 || r.Rows[0].Name != Sessions || r.Rows[0].Count < 4 || r.Rate <= 0 {
		t.Errorf("%+v", r)
	}
	for _, row := range r.Rows {
		want := row.Count
		if row.Name == Sessions || row.Name == "stream" {
			want = 0
		}
		if row.Failed != want || row.Count > 0 && (row.P50 <= 0 || row.Max < row.P99) {
			t.Errorf("%+v", row)
		}
	}
	for kind, n := range r.Errors {
		if n <= 0 || !strings.Contains("busy: busy, away: HTTP 404, unknown: error -32602, elsewhere: HTTP 307", kind) {
			t.Errorf("%s: %d", kind, n)
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if seen := strings.Join(f.seen, "\n"); strings.Contains(seen, "{n}") || len(f.sessions) > 0 {
		t.Errorf("%d sessions are left; %s", len(f.sessions), seen)
	}
}

func TestWrongToken(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(401)
		time.AfterFunc(20*time.Millisecond, cancel)
	}))
	defer s.Close()
	p, _ := Read([]byte(DefaultPlan))
	p.Agents = 1
	r, err := Run(ctx, Target{s.URL, []string{"wrong"}}, p)
	if err != nil || r.Calls != 0 || r.Errors["(session): HTTP 401"] != 1 {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestPlans(t *testing.T) {
	for text, want := range map[string]string{
		DefaultPlan:                         "",
		"":                                  "the plan has 0 calls",
		"agents: 0\ncalls: [{tool: x}]":     "agents is 0",
		"agents: 99999\ncalls: [{tool: x}]": "agents is 99999",
		"for: 9h\ncalls: [{tool: x}]":       "for is 9h0m0s",
		"ramp: 1m\ncalls: [{tool: x}]":      "ramp is 1m0s",
		"timeout: 0s\ncalls: [{tool: x}]":   "timeout is 0s",
		"calls: [{weight: 1}]":              "needs a tool",
		"calls: [{tool: x, weight: -1}]":    "needs a tool",
		"think: 5s-1s\ncalls: [{tool: x}]":  "is not a range",
		"think: soon\ncalls: [{tool: x}]":   "invalid duration",
		"agent: 3":                          "field agent not found",
		"[":                                 "the plan",
	} {
		p, err := Read([]byte(text))
		if err == nil {
			err = p.Check()
		}
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: %v", text, err)
		}
	}
	for text, ok := range map[string]bool{
		"https://host/mcp": true, "http://127.0.0.1:8080/mcp": true, "http://localhost/mcp": true, "http://host/mcp": false, "host": false, "ftp://x": false,
	} {
		if err := (Target{text, []string{"T"}}).Check(); (err == nil) != ok {
			t.Errorf("%q: %v", text, err)
		}
	}
}
