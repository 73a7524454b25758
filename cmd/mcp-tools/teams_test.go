//go:build linux

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/store/storetest"
)

// A teamSite is a store with a team, and the settings of servers that use it.
type teamSite struct {
	t              *testing.T
	path, settings string
	dsn            string // "" for SQLite in dirs[0]
	dirs           []string
}

func newTeamSite(t *testing.T, dsn string, members ...string) *teamSite {
	s := &teamSite{t: t, path: ourselves(t), settings: crowdSettings(t, dsn), dsn: dsn}
	s.dirs = []string{t.TempDir(), t.TempDir()}
	if dsn == "" {
		s.dirs[1] = s.dirs[0]
	}
	args := []string{"teams", "create", "crew", "--lead", "lead"}
	for _, agent := range members {
		args = append(args, "--member", agent)
	}
	finish(t, s.command(0, args...))
	return s
}

// command returns a command of the program in one of the data directories.
func (s *teamSite) command(dir int, args ...string) *exec.Cmd {
	return apart(s.path, append(args, "--config", s.settings, "--data", s.dirs[dir], "--autonomy", "full")...)
}

// overStdio starts a server over stdio and returns its client.
func (s *teamSite) overStdio(dir int, agent string) link {
	s.t.Helper()
	p, err := dialPipe(s.t, s.command(dir, "--agent", agent))
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(p.kill)
	return p
}

// serve starts a server over HTTP.
func (s *teamSite) serve(dir int) (*wire, error) {
	return dialWire(s.command(dir, "serve", "--http", "127.0.0.1:0", "--sse"), "")
}

func (s *teamSite) token(dir int, agent string) string {
	s.t.Helper()
	made := finish(s.t, s.command(dir, "token", "create", "--name", agent, "--agent", agent, "--profile", "full"))
	return regexp.MustCompile(`mcpt_\w+`).FindString(made)
}

// open opens the store.
func (s *teamSite) open() *store.Store {
	if s.dsn != "" {
		return storetest.Open(s.t, s.dsn)
	}
	return storetest.Open(s.t, s.dirs[0])
}

// A listener is a link over HTTP and SSE, as older clients have it.
type listener struct {
	*process
	t           *testing.T
	post, token string
	mu          sync.Mutex
	answers     *bufio.Scanner
}

// dialSSE opens a stream to a server.
func dialSSE(t *testing.T, w *wire, token string) *listener {
	t.Helper()
	base := strings.TrimSuffix(w.url, "/mcp")
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, base+"/sse", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = res.Body.Close() })
	l := &listener{process: w.process, t: t, token: token, answers: bufio.NewScanner(res.Body)}
	l.answers.Buffer(nil, 1<<20)
	for l.post == "" && l.answers.Scan() {
		if place, ok := strings.CutPrefix(l.answers.Text(), "data: "); ok {
			whole, err := url.JoinPath(base, "/")
			if err != nil {
				t.Fatal(err)
			}
			from, err := url.Parse(whole)
			if err != nil {
				t.Fatal(err)
			}
			to, err := from.Parse(place)
			if err != nil {
				t.Fatal(err)
			}
			l.post = to.String()
		}
	}
	l.send(1, "initialize", map[string]any{"protocolVersion": "2024-11-05", "capabilities": map[string]any{},
		"clientInfo": map[string]any{"name": "t", "version": "1"}})
	return l
}

// send sends a request and returns its answer.
func (l *listener) send(id int, method string, params map[string]any) (a answered) {
	l.t.Helper()
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": id, "method": method, "params": params})
	if err != nil {
		l.t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(l.t.Context(), http.MethodPost, l.post, bytes.NewReader(body))
	if err != nil {
		l.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+l.token)
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		l.t.Fatal(err)
	}
	if err := res.Body.Close(); err != nil || res.StatusCode != http.StatusAccepted {
		l.t.Fatalf("%s: %d %v", method, res.StatusCode, err)
	}
	for l.answers.Scan() {
		data, ok := strings.CutPrefix(l.answers.Text(), "data: ")
		if ok && json.Unmarshal([]byte(data), &a) == nil && a.ID == id {
			return a
		}
	}
	l.t.Fatalf("the stream ended: %v", l.answers.Err())
	return a
}

func (l *listener) call(_ context.Context, tool string, args map[string]any) (string, bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.send(7, "tools/call", map[string]any{"name": tool, "arguments": args}).read()
}

// do makes a call that succeeds.
func do(t *testing.T, l link, tool string, args map[string]any) string {
	t.Helper()
	text, failed, err := l.call(t.Context(), tool, args)
	if err != nil || failed {
		t.Fatalf("%s %v: %s %v", tool, args, text, err)
	}
	return text
}

// overHTTP is a client of a server, with its token.
func overHTTP(w *wire, token string) link { return &wire{w.process, w.url, token} }

// TestClientsShareABoard has three clients on one board, over stdio, HTTP and SSE: with one data directory, and with
// two servers on one database.
func TestClientsShareABoard(t *testing.T) {
	for name, dsn := range map[string]func() string{
		"one directory": func() string { return "" },
		"two replicas":  func() string { return storetest.Database(t) },
	} {
		t.Run(name, func(t *testing.T) {
			s := newTeamSite(t, dsn(), "ann", "bob")
			one, err := s.serve(0)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(one.kill)
			two, err := s.serve(1)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(two.kill)
			lead := s.overStdio(0, "lead")
			ann, bob := overHTTP(one, s.token(0, "ann")), dialSSE(t, two, s.token(1, "bob"))

			do(t, lead, "team_tasks", map[string]any{"action": "create", "subject": "Draw the map", "assignee": "ann"})
			do(t, lead, "team_tasks", map[string]any{"action": "create", "subject": "Fold the map"})
			wantText(t, do(t, bob, "team_tasks", map[string]any{"action": "list"}), `"count":2`)
			wantText(t, do(t, ann, "wait", map[string]any{"for": []string{"task"}, "timeout": 60}), "Draw the map")
			wantText(t, do(t, bob, "team_tasks", map[string]any{"action": "claim"}), "Fold the map")
			wantText(t, do(t, ann, "team_tasks", map[string]any{"action": "claim"}), "Draw the map")
			do(t, ann, "team_message", map[string]any{"action": "send", "to": "bob", "text": "the map is blue"})
			wantText(t, do(t, bob, "team_message", map[string]any{"action": "read"}), "the map is blue")
			do(t, ann, "team_tasks", map[string]any{"action": "complete", "text": "it is drawn"})
			wantText(t, do(t, lead, "wait", map[string]any{"for": []string{"task"}, "timeout": 60}), "it is drawn")
			wantText(t, do(t, bob, "team_tasks", map[string]any{"action": "list", "status": "completed"}), "Draw the map")
		})
	}
}

// TestEveryTaskIsDoneOnce has twelve members do a thousand tasks while their servers are killed.
func TestEveryTaskIsDoneOnce(t *testing.T) {
	tasks := 1000
	if text := os.Getenv("MCP_TOOLS_TASKS"); text != "" {
		if _, err := fmt.Sscan(text, &tasks); err != nil {
			t.Fatal(err)
		}
	}
	const members = 12
	names := make([]string, members)
	for n := range names {
		names[n] = fmt.Sprint("w", n)
	}
	t.Run("one directory", func(t *testing.T) {
		s := newTeamSite(t, "", names...)
		doAll(t, s, names, tasks, func(n int, _ link) (link, error) { return dialPipe(t, s.command(0, "--agent", names[n])) })
	})
	t.Run("two replicas", func(t *testing.T) {
		s := newTeamSite(t, storetest.Database(t), names...)
		tokens := make([]string, members)
		for n := range names {
			tokens[n] = s.token(0, names[n])
		}
		replicas := &replicas{site: s}
		t.Cleanup(replicas.kill)
		doAll(t, s, names, tasks, func(n int, _ link) (link, error) {
			w, err := replicas.get(n % 2)
			if err != nil {
				return nil, err
			}
			return overHTTP(w, tokens[n]), nil
		})
	})
}

// replicas are two servers on one database, which are started again when they were killed.
type replicas struct {
	site *teamSite
	mu   sync.Mutex
	live [2]*wire
}

func (r *replicas) get(n int) (w *wire, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.live[n] == nil || r.live[n].dead() {
		r.live[n], err = r.site.serve(n)
	}
	return r.live[n], err
}

func (r *replicas) kill() {
	for _, w := range r.live {
		if w != nil {
			w.kill()
		}
	}
}

// doAll creates tasks and lets members do them. Now and then it kills the server of one.
func doAll(t *testing.T, s *teamSite, names []string, tasks int, start func(n int, before link) (link, error)) {
	db := s.open()
	createTasks(t, db, tasks)
	var done atomic.Int64
	kills := int64(2 * len(names))
	var working sync.WaitGroup
	for n := range names {
		working.Go(func() {
			w := &worker{t: t, name: names[n], start: func(before link) (link, error) { return start(n, before) }}
			defer w.stop()
			for w.doOne() {
				if d := done.Add(1); d%(int64(tasks)/kills+1) == 0 {
					w.live.self().kill()
				}
			}
		})
	}
	working.Wait()
	var completed, twice int
	if err := db.Row(t.Context(), "SELECT count(*) FROM team_task WHERE status = 'completed' AND result LIKE 'done by w%'",
		nil, &completed); err != nil {
		t.Fatal(err)
	}
	if err := db.Row(t.Context(), `SELECT count(*) FROM (SELECT task FROM team_event WHERE action = 'completed'
		GROUP BY task HAVING count(*) > 1) AS more`, nil, &twice); err != nil {
		t.Fatal(err)
	}
	if completed != tasks || twice > 0 {
		t.Errorf("%d of %d tasks are done, %d more than once", completed, tasks, twice)
	}
}

// createTasks inserts pending tasks, as the lead would create them.
func createTasks(t *testing.T, db *store.Store, n int) {
	t.Helper()
	if err := db.Update(t.Context(), func(x *store.Tx) error {
		var team string
		if err := x.Row("SELECT id FROM team", nil, &team); err != nil {
			return err
		}
		var rows [][]any
		for i := range n {
			rows = append(rows, []any{store.NewID(), team, i + 1, "", fmt.Sprint("task ", i), "", "pending", 0, "", "", "", "",
				"lead", false, "", 0, 0, 0, 0, "", "", 1, 1})
		}
		return x.Insert(`team_task (id, team, number, board, subject, description, status, priority, assignee, owner, result,
			usr, created_by, unstarted, session, lock_until, dispatches, start_at, percent, step, digest, created, updated)`, rows)
	}); err != nil {
		t.Fatal(err)
	}
}

// A worker is a member that claims tasks and completes them.
type worker struct {
	t     *testing.T
	name  string
	start func(before link) (link, error)
	live  link
}

func (w *worker) stop() {
	if p, ok := w.live.(*pipe); ok {
		p.kill()
	}
}

// ask makes a call until there is an answer. again reports whether an earlier try may have had an effect.
func (w *worker) ask(args map[string]any) (text string, failed, again bool) {
	for ctx := w.t.Context(); ctx.Err() == nil; again = true {
		if w.live == nil || w.live.self().dead() {
			live, err := w.start(w.live)
			if err != nil {
				continue
			}
			w.live = live
		}
		text, failed, err := w.live.call(ctx, "team_tasks", args)
		switch {
		case err == nil && !passing(text):
			return text, failed, again
		case err != nil && !errors.Is(err, errGone) && !errors.Is(err, errNotNow):
			w.t.Errorf("%s: %v", w.name, err)
			return "", true, again
		}
	}
	return "", true, again
}

var taskID = regexp.MustCompile(`"id":"([0-9a-f-]{36})"`)

// doOne does the next task, or those that the member holds since its server was killed. It reports whether there was
// one.
func (w *worker) doOne() bool {
	text, failed, again := w.ask(map[string]any{"action": "claim"})
	ids := taskID.FindStringSubmatch(text)
	if failed || again { // a claim whose answer was lost is found on the board
		text, _, _ = w.ask(map[string]any{"action": "list", "status": "in_progress"})
		var list struct {
			Tasks []struct {
				ID    string `json:"id"`
				Owner string `json:"owner_agent_key"`
			}
		}
		if err := json.Unmarshal([]byte(text), &list); err != nil {
			w.t.Errorf("%s: %q: %v", w.name, text, err)
			return false
		}
		mine := false
		for _, one := range list.Tasks {
			if one.Owner == w.name {
				w.complete(one.ID)
				mine = true
			}
		}
		return mine || !failed
	}
	if rand.IntN(100) == 0 { // killed while it works
		w.live.self().kill()
	}
	w.complete(ids[1])
	return true
}

func (w *worker) complete(id string) {
	text, failed, again := w.ask(map[string]any{"action": "complete", "task_id": id, "text": "done by " + w.name})
	if failed && !again && !strings.Contains(text, "task not in progress") {
		w.t.Errorf("%s cannot complete: %s", w.name, text)
	}
}
