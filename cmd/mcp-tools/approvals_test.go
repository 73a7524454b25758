package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mcp-tools/mcp-tools/server/identity"

	"github.com/mcp-tools/mcp-tools/cmd/mcp-tools/app"

	"github.com/mcp-tools/mcp-tools/internal/approvals"
	"github.com/mcp-tools/mcp-tools/internal/audit"
	"github.com/mcp-tools/mcp-tools/internal/blob"
	"github.com/mcp-tools/mcp-tools/internal/config"
	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/tokens"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/policy"
	"github.com/mcp-tools/mcp-tools/scrub"
	"github.com/mcp-tools/mcp-tools/server"
	"github.com/mcp-tools/mcp-tools/tools/results"
)

// launch is a tool about which a person is asked.
type launch struct{ runs *atomic.Int64 }

type launchArgs struct {
	Path    string `json:"path" jsonschema:"where to"`
	Content string `json:"content,omitempty" jsonschema:"what"`
}

func (launch) Spec() tool.Spec {
	return tool.Spec{Name: "launch", Group: "test", Title: "Launch", Doc: "It launches.", Risk: tool.Runs}
}

func (l launch) Do(_ context.Context, a launchArgs) (tool.Result, error) {
	l.runs.Add(1)
	return tool.Textf("launched %s", a.Path), nil
}

// pad is a server with that tool, over HTTP, with tokens, a record and the
// approvals of a data directory.
type pad struct {
	*remote
	runs *atomic.Int64
}

func newPad(t *testing.T, wait server.Wait) *pad {
	t.Helper()
	p := &pad{&remote{t: t, dir: t.TempDir(), log: &logbook{news: make(chan struct{})}}, new(atomic.Int64)}
	data := filepath.Join(p.dir, "data")
	set, err := tool.NewSet(tool.New(launch{p.runs}))
	if err != nil {
		t.Fatal(err)
	}
	rules, _ := policy.Compile(policy.Rules{}, set.Catalogue())
	mask, err := scrub.New(scrub.Options{})
	if err != nil {
		t.Fatal(err)
	}
	rows, err := store.Open(t.Context(), store.Options{DSN: data})
	if err != nil {
		t.Fatal(err)
	}
	record, err := audit.Open(audit.Options{DB: audit.NewDB(rows), Dir: data, Version: "test"})
	if err != nil {
		t.Fatal(err)
	}
	kept := results.New(blob.New(blob.Options{Store: rows, Place: blob.NewDatabase(rows)}), data, blob.Limits{})
	table := tokens.New(tokens.Options{DB: rows})
	d := approvals.New(approvals.Options{DB: rows})
	s, err := server.New(server.Config{
		Name: "test", Version: "test", Tools: set, Scrub: mask, AuditLog: record, Results: kept, Approvals: d,
		Log: slog.New(slog.DiscardHandler),
		Settings: server.Settings{Policy: rules, ApprovalTimeout: hang, ApprovalWait: wait, Limits: server.Limits{
			PerMinute: 10_000, Burst: 10_000, Running: 10, Queued: 10, TotalRunning: 10, Idle: 10, Timeout: hang,
			Args: tool.DefaultLimits(), Result: 10_000, ResultHard: 10_000, RepeatWarn: 100, RepeatStop: 100,
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	ids := &identity.Sources{Table: table, Listed: func() map[string]config.Token { return nil }}
	web := httptest.NewServer((&server.HTTP{
		Server: s, Identities: ids, Approvals: app.ServeApprovals(d), Base: server.Access{
			Caller: tool.Caller{Workspace: p.dir},
		},
		MaxMessage: 1 << 20, MaxSessions: 10, SessionIdle: time.Hour,
	}).Handler())
	p.url = web.URL + "/mcp"
	t.Cleanup(func() {
		s.Close()
		web.Close()
		if err := errors.Join(d.Close(), table.Close(), record.Close(), rows.Close()); err != nil {
			t.Error(err)
		}
	})
	return p
}

// launch calls the tool as a client that cannot ask; what it got comes later.
func (p *pad) launch(token, path, content string) <-chan string {
	got := make(chan string, 1)
	params := fmt.Sprintf(`"name":"launch","arguments":{"path":%q,"content":%q}`, path, content)
	go func() {
		_, body := p.post("/mcp", token, "tools/call", params, "Mcp-Name", "launch")
		got <- body
	}()
	return got
}

// approvals runs the command and returns what it printed.
func (p *pad) approvals(args ...string) string {
	p.t.Helper()
	var out strings.Builder
	if err := p.run(
		p.t.Context(), &out, append(append([]string{"approvals"}, args...), "--data", filepath.Join(p.dir, "data"))...,
	); err != nil {
		return "error: " + err.Error()
	}
	return out.String()
}

// waiting is the id of the call that waits.
func (p *pad) waiting() string {
	p.t.Helper()
	deadline := time.Now().Add(hang)
	for time.Now().Before(deadline) {
		var open []approvals.Question
		if err := json.Unmarshal([]byte(p.approvals("list", "--output", "json")), &open); err != nil {
			p.t.Fatal(err)
		}
		if len(open) > 0 {
			return open[0].ID
		}
	}
	p.t.Fatal("nothing waits")
	return ""
}

func wantText(t *testing.T, got, want string) {
	t.Helper()
	if !strings.Contains(got, want) {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestApprovedOnTheCommandLine(t *testing.T) {
	p := newPad(t, server.WaitAlways)
	agent := p.token("--name", "agent", "--profile", "full", "--agent", "a", "--user", "u")
	got := p.launch(agent, "src/a.go", "\u202ehidden")
	id := p.waiting()
	sheet := p.approvals("show", id)
	for _, want := range []string{"Launch (launch)", "runs code, or acts in your name", "\nUser: u\n", "Caller: a/u", "  path: src/a.go\n", "<U+202E>hidden"} {
		wantText(t, sheet, want)
	}
	wantText(t, p.approvals("list"), id+"  launch  runs  a/u")
	wantText(t, p.approvals("allow", id), id+": allowed.")
	wantText(t, <-got, "launched src/a.go")
	wantText(t, p.approvals("allow", id), "already answered")

	got = p.launch(agent, "src/a.go", "x")
	wantText(t, p.approvals("deny", p.waiting(), "--reason", "use the other one"), ": denied.")
	wantText(t, <-got, `a person denied this call of launch: \"use the other one\"`)
	if p.runs.Load() != 1 {
		t.Errorf("it ran %d times", p.runs.Load())
	}
	record := p.recorded(`"approval":"denied cli:` + app.SystemUser() + `"`)
	wantText(t, record, `"approval":"cli:`+app.SystemUser()+`"`)
	wantText(t, record, `"approval":"question `+id+`"`)
}

// recorded waits until the record of calls has a text, and returns all of it.
func (p *pad) recorded(text string) string {
	p.t.Helper()
	var out strings.Builder
	for deadline := time.Now().Add(time.Minute); !strings.Contains(out.String(), text); {
		out.Reset()
		if err := p.run(
			p.t.Context(), &out, "audit", "export", "--data", filepath.Join(p.dir, "data"),
		); err != nil || time.Now().After(deadline) {
			p.t.Fatalf("%s is not in the record (%v): %s", text, err, out.String())
		}
	}
	return out.String()
}

func TestRulesOnTheCommandLine(t *testing.T) {
	p := newPad(t, server.WaitAlways)
	agent := p.token("--name", "agent", "--profile", "full", "--agent", "a", "--user", "u")
	other := p.token("--name", "other", "--profile", "full", "--agent", "b", "--user", "u")
	got := p.launch(agent, "src/a.go", "x")
	id := p.waiting()
	wide := []string{"allow", id, "--always", "--expires", "7d", "--match", "path=src/**", "--any", "content"}
	if text := p.approvals(wide...); !strings.Contains(text, "add --yes") {
		t.Errorf("a rule was made unasked: %s", text)
	}
	if text := p.log.find(t, `(?s)(Allows: .*of the tool;)`); !strings.Contains(text, `content anything`) || !strings.Contains(text, "Past calls: 0 with") {
		t.Errorf("the rule is shown as %s", text)
	}
	wantText(t, p.approvals(append(wide, "--yes")...), "and equal calls too")
	wantText(t, <-got, "launched")
	for _, path := range []string{"src/b.go", "src/deep/c.go"} {
		wantText(t, <-p.launch(agent, path, "y"), "launched "+path)
	}
	for token, path := range map[string]string{agent: "src/../b.go", other: "src/b.go"} {
		got := p.launch(token, path, "y")
		wantText(t, p.approvals("deny", p.waiting()), "denied")
		wantText(t, <-got, "a person denied")
	}
	list := p.approvals("rules")
	wantText(t, list, `always  launch  a/u`)
	rule := regexp.MustCompile(`(?m)^([a-z2-7]{12}) `).FindStringSubmatch(list)[1]
	wantText(t, p.approvals("forget", rule), "need an approval again")
	got = p.launch(agent, "src/b.go", "z")
	wantText(t, p.approvals("allow", p.waiting(), "--session", "--yes"), "and equal calls too")
	wantText(t, <-got, "launched")
	wantText(t, <-p.launch(agent, "src/b.go", "z"), "launched")
	got = p.launch(agent, "src/b.go", "zz")
	p.approvals("deny", p.waiting())
	<-got
	if p.runs.Load() != 5 {
		t.Errorf("it ran %d times", p.runs.Load())
	}
}

func TestApprovedOverHTTP(t *testing.T) {
	p := newPad(t, server.WaitAttended)
	agent := p.token("--name", "agent", "--profile", "full", "--agent", "a", "--user", "u")
	console := p.token("--name", "console", "--approve")
	elsewhere := p.token("--name", "elsewhere", "--approve", "--user", "v")
	wantText(t, <-p.launch(agent, "x", ""), "mcp-tools approvals allow") // no approver is there
	ask := func(token, method, path, body string) (int, string) {
		r, err := http.NewRequestWithContext(t.Context(), method, strings.TrimSuffix(p.url, "/mcp")+path,
			strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+token)
		r.Header.Set("Content-Type", "application/json")
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		text, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		return res.StatusCode, string(text)
	}
	if code, body := ask(console, "GET", "/approvals", ""); code != http.StatusOK {
		t.Fatalf("%d %s", code, body)
	}
	got := p.launch(agent, "x", "") // now the console looks
	id := p.waiting()
	for name, try := range map[string]struct {
		token string
		code  int
	}{"the agent itself": {agent, 403}, "another user's approver": {elsewhere, 404}, "a stranger": {"mcpt_no", 401}} {
		if code, body := ask(try.token, "POST", "/approvals/"+id, `{"decision":"allow"}`); code != try.code {
			t.Errorf("%s: %d %s", name, code, body)
		}
	}
	if res, body := p.post("/mcp", console, "tools/call", `"name":"launch","arguments":{"path":"x"}`, "Mcp-Name", "launch"); res.StatusCode != http.StatusForbidden {
		t.Errorf("an approver calls: %d %s", res.StatusCode, body)
	}
	if code, body := ask(console, "POST", "/approvals/"+id, `{"decision":"allow"}`); code != http.StatusOK {
		t.Errorf("%d %s", code, body)
	}
	wantText(t, <-got, "launched x")
	if p.runs.Load() != 1 {
		t.Errorf("it ran %d times", p.runs.Load())
	}
}
