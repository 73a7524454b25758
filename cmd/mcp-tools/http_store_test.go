package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/approvals"
	"github.com/mcp-tools/mcp-tools/internal/store/storetest"
)

// TestReplicasShareTheirTokens makes a token on one and revokes it on another.
func TestReplicasShareTheirTokens(t *testing.T) {
	pg := storetest.Postgres(t)
	settings := "store: {dsn: '" + pg.DSN("postgres") + "'}\n"
	one, two := serveRemote(t, settings), serveRemote(t, settings)
	first := one.log.find(t, `Token: (mcpt_\w+)`)
	if two.log.has("Token: ") {
		t.Error("the second replica made a first token too")
	}
	two.wants("/mcp", first, http.StatusOK)
	token := one.token("--name", "x", "--store", pg.DSN("postgres"))
	two.wants("/mcp", token, http.StatusOK)
	if err := two.run(t.Context(), new(strings.Builder), "token", "revoke", "x", "--store", pg.DSN("postgres")); err != nil {
		t.Fatal(err)
	}
	one.wants("/mcp", token, http.StatusUnauthorized)

	// While tokens cannot be checked, none is accepted, and none is revoked.
	pg.Stop(t, "fast")
	body := one.wants("/mcp", first, http.StatusServiceUnavailable)
	if body != "tokens cannot be checked at the moment; try again later\n" {
		t.Errorf("it says %q", body)
	}
	one.log.find(t, `a token could not be checked.*reading the table of tokens`)
	if res, _ := one.post("/mcp", first, "tools/list", ""); res.Header.Get("WWW-Authenticate") != "" {
		t.Error("the client is told that its token is bad")
	}
	pg.Start(t)
	one.wants("/mcp", first, http.StatusOK)
	one.wants("/mcp", token, http.StatusUnauthorized)
}

// TestReplicasAnswerForEachOther has one ask, and another take the answer.
func TestReplicasAnswerForEachOther(t *testing.T) {
	place := storetest.Database(t)
	settings := "store: {dsn: '" + place + "'}\napprovals: {wait: always}\npolicy: {autonomy: supervised}\n"
	work := t.TempDir()
	one, two := serveRemote(t, settings, "--workspace", work, "--sandbox", "host"), serveRemote(t, settings, "--workspace", work, "--sandbox", "host")
	agent := one.token("--name", "agent", "--profile", "full", "--agent", "a", "--user", "u", "--store", place)
	console := one.token("--name", "console", "--approve", "--store", place)
	run := func(r *remote, command string) <-chan string {
		got := make(chan string, 1)
		go func() {
			_, body := r.post("/mcp", agent, "tools/call", fmt.Sprintf(`"name":"exec","arguments":{"command":%q}`, command), "Mcp-Name", "exec")
			got <- body
		}()
		return got
	}
	ask := func(r *remote, method, path, body string) string {
		req, err := http.NewRequestWithContext(t.Context(), method, strings.TrimSuffix(r.url, "/mcp")+path,
			strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+console)
		req.Header.Set("Content-Type", "application/json")
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		text, err := io.ReadAll(res.Body)
		if err != nil || res.StatusCode != http.StatusOK {
			t.Fatalf("%d %s %v", res.StatusCode, text, err)
		}
		return string(text)
	}
	waiting := func(r *remote) string {
		for late := time.Now().Add(hang); time.Now().Before(late); {
			var list struct{ Approvals []approvals.Question }
			if err := json.Unmarshal([]byte(ask(r, "GET", "/approvals", "")), &list); err != nil {
				t.Fatal(err)
			}
			if len(list.Approvals) > 0 {
				return list.Approvals[0].ID
			}
		}
		t.Fatal("nothing waits")
		return ""
	}
	got := run(one, "rm -f first")
	ask(two, "POST", "/approvals/"+waiting(two), `{"decision":"allow_always"}`)
	if body := <-got; strings.Contains(body, "approv") {
		t.Errorf("after the answer: %s", body)
	}
	if body := <-run(two, "rm -f first"); strings.Contains(body, "approv") {
		t.Errorf("under the rule: %s", body)
	}
	got = run(two, "rm -f second")
	ask(one, "POST", "/approvals/"+waiting(one), `{"decision":"deny","reason":"not that one"}`)
	wantText(t, <-got, "not that one")
}
