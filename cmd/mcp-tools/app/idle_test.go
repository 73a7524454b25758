package app

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/jobs"
	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/store/storetest"
	"github.com/mcp-tools/mcp-tools/tools/memory/embed/embedtest"
	"github.com/mcp-tools/mcp-tools/tools/messaging"
	"github.com/mcp-tools/mcp-tools/tools/messaging/chat"
)

// idleSettings open all rooms that work in the background.
const idleSettings = `
models: {providers: {local: {url: "http://127.0.0.1:1/v1", models: [small]}}}
memory: {embeddings: {url: %q, model: m}}
messaging:
  channels:
    ops: {kind: webhook, url: "http://127.0.0.1:1/hook"}
%s
  approvers: {ada: ["ops:ada"]}
  notify: [{to: ["ops:ada"]}]
agents: {helper: {}}
store: {dsn: %q}
limits: {calls_per_minute: 1000000}
`

// TestIdleServer counts the statements of a server that nobody calls, with 10,000 jobs and messages that wait for
// tomorrow. A server that pulls a silent channel renews its lease of the channel, and does nothing else.
// MCP_TOOLS_IDLE is the time to count, instead of a few seconds.
func TestIdleServer(t *testing.T) {
	for _, name := range []string{"sqlite", "postgres", "sqlite, pulling", "postgres, pulling"} {
		engine, _, pulling := strings.Cut(name, ", ")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dsn, pulled := t.TempDir(), ""
			if engine == "postgres" {
				dsn = storetest.Database(t)
			}
			if pulling {
				pulled = `    pulled: {kind: telegram, token: "env:SECRET", receive: pull, url: "` + silentBot(t) + `"}`
			}
			a, call := serveIdle(t, dsn, pulled)
			for name, args := range map[string]string{
				"memory_store": `{"key":"boat","content":"the boat is blue"}`, "memory_search": `{"query":"boat"}`,
				"datetime": `{}`, "wait": `{"timeout":1}`,
			} {
				call(name, args)
			}
			fillQueues(t, a)
			a.outbox.Start()
			var mu sync.Mutex
			var statements []string
			renewals := 0
			a.store.Trace(func(statement string) {
				mu.Lock()
				defer mu.Unlock()
				statement = strings.Join(strings.Fields(statement), " ")
				if pulling && slices.ContainsFunc(ofRenewals(), func(part string) bool { return strings.HasPrefix(statement, part) }) {
					renewals++
				} else {
					statements = append(statements, statement)
				}
			})
			const limit = 2 * time.Minute
			quiet := 12 * time.Second
			if text := os.Getenv("MCP_TOOLS_IDLE"); text != "" {
				var err error
				if quiet, err = time.ParseDuration(text); err != nil {
					t.Fatal(err)
				}
			}
			// What the calls have caused ends first, for example the upload of their records.
			count := func() int { mu.Lock(); defer mu.Unlock(); return len(statements) }
			for begun, before := time.Now(), -1; ; {
				if now := count(); now == before {
					break
				} else if time.Since(begun) > limit {
					t.Fatalf("%d statements, and no %s without one:\n%s", now, quiet, tally(statements))
				} else {
					before = now
				}
				select {
				case <-time.After(quiet):
				case <-t.Context().Done():
					return
				}
			}
			mu.Lock()
			defer mu.Unlock()
			t.Logf("%d statements before %s without one, %d for the lease", len(statements), quiet, renewals)
		})
	}
}

// ofRenewals returns the beginnings of the statements for the renewal of a lease. With SQLite the change feed looks what
// a commit has changed.
func ofRenewals() []string {
	return []string{"UPDATE chat_receiver", "BEGIN", "begin", "commit", "PRAGMA data_version", "SELECT seq, topic FROM change"}
}

// silentBot returns the URL of a Telegram at which nothing arrives.
func silentBot(t *testing.T) string {
	bot := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		select {
		case <-r.Context().Done():
		case <-time.After(50 * time.Second):
		}
		fmt.Fprint(w, `{"ok":true,"result":[]}`)
	}))
	t.Cleanup(bot.Close)
	return bot.URL
}

// tally counts equal statements, the most frequent first.
func tally(list []string) string {
	times := map[string]int{}
	for _, s := range list {
		times[s]++
	}
	var lines []string
	for s, n := range times {
		lines = append(lines, fmt.Sprintf("%6d %.200s", n, s))
	}
	slices.SortFunc(lines, func(a, b string) int { return strings.Compare(b, a) })
	return strings.Join(lines, "\n")
}

// serveIdle serves a client over pipes, with all rooms.
func serveIdle(t *testing.T, dsn, channel string) (a *App, call func(tool, args string)) {
	t.Helper()
	endpoint := embedtest.New(t, "boat ship")
	dir := t.TempDir()
	settings := filepath.Join(dir, "config.yaml")
	if err := os.WriteFile(settings, fmt.Appendf(nil, idleSettings, endpoint.URL+"/v1", channel, dsn), 0o600); err != nil {
		t.Fatal(err)
	}
	serverIn, toServer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	fromServer, serverOut, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	env := &Env{
		In: serverIn, Out: serverOut, Err: io.Discard, Environ: func() []string { return nil },
		Getenv: func(name string) string { return map[string]string{"SECRET": strings.Repeat("s3cret", 4)}[name] },
		Data:   filepath.Join(dir, "data"), ConfigFile: settings,
	}
	a, err = env.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- a.Serve(context.WithoutCancel(t.Context()), true) }()
	answers := bufio.NewScanner(fromServer)
	answers.Buffer(nil, 10<<20)
	t.Cleanup(func() {
		toServer.Close()
		if err := <-served; err != nil {
			t.Error(err)
		}
		a.Close()
		_ = fromServer.Close() // open until here, or the server could not notify its client
	})
	n := 0
	send := func(method, params string) {
		t.Helper()
		n++
		if _, err := fmt.Fprintf(toServer, `{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`+"\n", n, method,
			params); err != nil {
			t.Fatal(err)
		}
		for answers.Scan() {
			var answer struct {
				ID     int
				Error  json.RawMessage
				Result struct{ IsError bool }
			}
			if err := json.Unmarshal(answers.Bytes(), &answer); err != nil {
				t.Fatal(err)
			}
			if answer.Error != nil || answer.Result.IsError {
				t.Fatal(answers.Text())
			}
			if answer.ID == n {
				return
			}
		}
		t.Fatal("no answer", answers.Err())
	}
	send("initialize", `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"test","version":"1"}}`)
	return a, func(tool, args string) { send("tools/call", fmt.Sprintf(`{"name":%q,"arguments":%s}`, tool, args)) }
}

// fillQueues adds 10,000 jobs of all kinds, and 10,000 messages.
func fillQueues(t *testing.T, a *App) {
	t.Helper()
	due := time.Now().Add(24 * time.Hour)
	err := a.store.Update(t.Context(), func(x *store.Tx) error {
		for i := range 10_000 {
			for _, kind := range []string{"cron", "subagent"}[:1+i%2] {
				q := &jobs.Queue{Store: a.store, Kind: kind}
				if _, _, err := q.Enqueue(x, jobs.New{Owner: "s", Payload: "{}", Due: due}); err != nil {
					return err
				}
			}
			if _, _, err := a.outbox.Put(x, messaging.Post{
				Channel: "ops", Due: due, Message: chat.Message{Chat: string(rune('a' + i%26)), Text: "later"},
			}); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
