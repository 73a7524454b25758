//go:build linux

package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/inbox"
	"github.com/mcp-tools/mcp-tools/internal/jobs"
	"github.com/mcp-tools/mcp-tools/internal/llm"
	"github.com/mcp-tools/mcp-tools/internal/llm/llmtest"
	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/store/storetest"
)

// modelSettings are settings with the models of a provider.
func modelSettings(model *llmtest.Server, more string) string {
	return fmt.Sprintf(`models:
  providers:
    fake: {kind: anthropic, url: %q, key: "env:FAKE_KEY", models: [test]}
%s`, model.URL+"/v1", more)
}

// A parent is a server process whose client starts subagents.
type parent struct {
	t   *testing.T
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

func startParent(t *testing.T, data, ws, settings string) *parent {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	name, file := filepath.Join(dir, "mcp-tools"), filepath.Join(dir, "config.yaml")
	if err := os.Symlink(self, name); err != nil { // TestMain goes by the name
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(settings), 0o600); err != nil {
		t.Fatal(err)
	}
	p := &parent{t: t, cmd: exec.Command(name, "--data", data, "--workspace", ws, "--config", file)}
	p.cmd.Env = append(os.Environ(), "GORACE=atexit_sleep_ms=0", "FAKE_KEY="+llmtest.Key)
	in, errIn := p.cmd.StdinPipe()
	out, errOut := p.cmd.StdoutPipe()
	for _, err := range []error{errIn, errOut, p.cmd.Start()} {
		if err != nil {
			t.Fatal(err)
		}
	}
	p.in, p.out = in, bufio.NewReader(out)
	t.Cleanup(p.kill)
	return p
}

func (p *parent) kill() {
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait() // an error does not matter
}

// send sends a call.
func (p *parent) send(tool string, args any) {
	p.t.Helper()
	line, err := json.Marshal(map[string]any{
		"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": map[string]any{"name": tool, "arguments": args},
	})
	if err != nil {
		p.t.Fatal(err)
	}
	if _, err := p.in.Write(append(line, '\n')); err != nil {
		p.t.Fatal(err)
	}
}

// call makes a call and returns the text of the result.
func (p *parent) call(tool string, args any) string {
	p.t.Helper()
	p.send(tool, args)
	for {
		answer, err := p.out.ReadBytes('\n')
		if err != nil {
			p.t.Fatalf("no answer: %q, %v", answer, err)
		}
		var m struct {
			ID     *int
			Result struct{ Content []struct{ Text string } }
		}
		if err := json.Unmarshal(answer, &m); err != nil {
			p.t.Fatal(err)
		}
		if m.ID == nil {
			continue
		}
		var text []string
		for _, part := range m.Result.Content {
			text = append(text, part.Text)
		}
		return strings.Join(text, "\n")
	}
}

// subagentID returns the id of a subagent in a text.
func subagentID(t *testing.T, text string) string {
	t.Helper()
	_, rest, found := strings.Cut(text, "id=")
	id, _, _ := strings.Cut(rest, ")")
	if !found {
		t.Fatalf("no id in %q", text)
	}
	return id
}

// TestSubagentsOfAKilledServerEnd starts 100 subagents, and kills their server when some
// have ended, some are in a call, and some have not begun.
func TestSubagentsOfAKilledServerEnd(t *testing.T) {
	const total, beforeKill = 100, 30
	data, ws, model := t.TempDir(), t.TempDir(), llmtest.New(t)
	ended := make(chan struct{}, 10*total)
	model.Answer(func(r llmtest.Request) llmtest.Turn {
		n := strings.TrimPrefix(r.Messages[0].Text, "write number ")
		switch results := r.Last().Results; {
		case len(results) == 0:
			return llmtest.Turn{Calls: []llm.ToolCall{
				llmtest.Call("call-1", "write_file", map[string]string{"path": n + ".txt", "content": n}),
			}}
		case strings.HasPrefix(results[0].Text, "unknown:"):
			ended <- struct{}{}
			return llmtest.Say("nobody knows about %s", n)
		default:
			ended <- struct{}{}
			return llmtest.Say("wrote %s: %s", n, results[0].Text)
		}
	})
	settings := modelSettings(model, "subagents: {running: 200, children: 200, tree_total: 200}\n")
	first := startParent(t, data, ws, settings)
	for n := range total {
		if got := first.call("spawn", map[string]any{"task": fmt.Sprint("write number ", n)}); !strings.Contains(got,
			"accepted") {
			t.Fatal(got)
		}
	}
	for range beforeKill {
		<-ended
	}
	first.kill()
	second := startParent(t, data, ws, settings)
	s := storetest.Open(t, data)
	queue := jobs.Queue{Store: s, Kind: "subagent"}
	all := func() (list []jobs.Job) {
		if err := s.View(t.Context(), func(tx *store.Tx) (err error) {
			list, err = queue.List(tx, "", jobs.Queued, jobs.Running, jobs.Done, jobs.Failed, jobs.Cancelled)
			return err
		}); err != nil {
			t.Fatal(err)
		}
		return list
	}
	stop := time.After(hang)
	for open := -1; open != 0; {
		changed := s.Wait(jobs.Topic)
		open = 0
		for _, j := range all() {
			if !j.State.Final() {
				open++
			}
		}
		select {
		case <-changed:
		case <-time.After(time.Second):
		case <-stop:
			t.Fatalf("%d subagents do not end", open)
		}
	}
	again, unknown := 0, 0
	for _, j := range all() {
		var what struct{ Text string }
		if err := json.Unmarshal([]byte(j.Payload), &what); err != nil {
			t.Fatal(err)
		}
		n := strings.TrimPrefix(what.Text, "write number ")
		written, err := os.ReadFile(filepath.Join(ws, n+".txt"))
		switch {
		case j.State != jobs.Done || !strings.Contains(j.Result, " "+n):
			t.Errorf("subagent %s ended as %s with %q, %q", n, j.State, j.Result, j.Reason)
		case strings.HasPrefix(j.Result, "nobody"):
			unknown++
		case err != nil || string(written) != n:
			t.Errorf("subagent %s has written %q, %v; it says %q", n, written, err, j.Result)
		}
		if j.Attempt > 1 {
			again++
		}
	}
	if len(all()) != total || again == 0 {
		t.Errorf("there are %d subagents, and %d of them were begun again", len(all()), again)
	}
	told := map[string]int{}
	if err := s.View(t.Context(), func(tx *store.Tx) error {
		return tx.Each("SELECT subject FROM inbox WHERE kind = $1", []any{string(inbox.Subagent)},
			func(scan store.Scan) error {
				var id string
				err := scan(&id)
				told[id]++
				return err
			})
	}); err != nil {
		t.Fatal(err)
	}
	if len(told) != total {
		t.Errorf("the inbox has %d ends", len(told))
	}
	t.Logf("%d were begun again, %d calls have an unknown outcome", again, unknown)
	if got := second.call("spawn", map[string]any{"action": "wait", "id": all()[0].ID}); !strings.Contains(got,
		"completed") {
		t.Errorf("another session of the same user gets %q", got)
	}
}

// TestASubagentIsCancelledFromAnotherProcess has two servers on one data directory.
func TestASubagentIsCancelledFromAnotherProcess(t *testing.T) {
	data, ws, model := t.TempDir(), t.TempDir(), llmtest.New(t)
	asked := make(chan struct{}, 1)
	model.Answer(func(llmtest.Request) llmtest.Turn {
		asked <- struct{}{}
		return llmtest.Turn{Wait: make(chan struct{})} // never
	})
	settings := modelSettings(model, "")
	first, second := startParent(t, data, ws, settings), startParent(t, data, ws, settings)
	id := subagentID(t, first.call("spawn", map[string]any{"task": "think"}))
	<-asked
	if got := second.call("spawn", map[string]any{"action": "cancel", "id": id}); got != "Task '"+id+"' cancelled." {
		t.Errorf("cancel: %q", got)
	}
	got := first.call("spawn", map[string]any{"action": "wait", "id": id})
	if !strings.Contains(got, "Subagent 'think' cancelled") {
		t.Errorf("wait: %q", got)
	}
}

// TestASubagentHasNoMorePowers has a model that tries everything that its parent may not do.
func TestASubagentHasNoMorePowers(t *testing.T) {
	model := llmtest.New(t)
	var r *remote
	secret := "ghp" + "_" + strings.Repeat("A1b2", 9)
	var tried atomic.Bool
	answers := make(chan []llm.ToolResult, 1)
	model.Answer(func(q llmtest.Request) llmtest.Turn {
		if tried.Swap(true) {
			answers <- q.Last().Results
			return llmtest.Say("nothing")
		}
		turn := llmtest.Turn{}
		for i, c := range []struct{ name, args string }{
			{"read_file", `{"path":"open.txt"}`},
			{"write_file", `{"path":"x","content":"x"}`},                  // narrowed away
			{"exec", `{"command":"id"}`},                                  // denied to subagents
			{"read_file", `{"path":"../../../../../../../etc/passwd"}`},   // outside
			{"read_file", `{"path":"` + r.dir + `/config.yaml"}`},         // the server's own
			{"session_status", `{}`},                                      // denied to subagents
			{"spawn", `{"task":"more"}`},                                  // too deep
			{"delegate", `{"agent":"x","task":"more"}`},                   // likewise
			{"memory_search", `{"query":"x"}`},                            // denied to subagents
			{"tool_call", `{"name":"exec","arguments":{"command":"id"}}`}, // in disguise
		} {
			turn.Calls = append(turn.Calls, llm.ToolCall{ID: fmt.Sprint("c", i), Name: c.name, Args: c.args})
		}
		return turn
	})
	ws := t.TempDir()
	if err := os.WriteFile(filepath.Join(ws, "open.txt"), []byte("token "+secret+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	r = serveRemote(t, strings.Replace(modelSettings(model, ""), `"env:FAKE_KEY"`, keyFile(t), 1), "--workspace", ws)
	token := r.token("--profile", "full", "--agent", "a", "--user", "u")
	_, body := r.post("/mcp", token, "tools/call", `"name":"spawn","arguments":{"task":"break out","mode":"sync"}`,
		"X-MCP-Exclude-Tools", "write_file", "Mcp-Name", "spawn")
	if !strings.Contains(body, "completed") {
		t.Fatalf("the parent got %s", body)
	}
	for i, got := range <-answers {
		switch {
		case i == 0 && (strings.Contains(got.Text, secret) || !strings.Contains(got.Text, "token")):
			t.Errorf("it reads %q", got.Text)
		case i > 0 && !got.Failed:
			t.Errorf("call %d is a success: %q", i, got.Text)
		}
	}
}

// keyFile returns a reference to a file with the key of the provider.
func keyFile(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(file, []byte(llmtest.Key), 0o600); err != nil {
		t.Fatal(err)
	}
	return `"file:` + file + `"`
}

// TestTasksOfATeamEndWithTheirSubagents has a lead create tasks for a member without a client. Its subagents end them:
// with a result, with a reason, and by themselves.
func TestTasksOfATeamEndWithTheirSubagents(t *testing.T) {
	data, model := t.TempDir(), llmtest.New(t)
	settings := modelSettings(model, `connections: {stdio: {agent: lead, profile: full}}
policy: {autonomy: full}
agents: {lead: {delegate_to: [ann]}, ann: {}}
`)
	finish(t, apart(ourselves(t), "--data", data, "teams", "create", "crew", "--lead", "lead", "--member", "ann"))
	model.Answer(func(r llmtest.Request) llmtest.Turn {
		task := r.Messages[0].Text
		_, id, _ := strings.Cut(task, "(id: ")
		id, _, _ = strings.Cut(id, ")")
		switch {
		case strings.Contains(task, "Broken"):
			return llmtest.Turn{Status: 400, Text: "no such thing"}
		case len(r.Messages) > 1:
			return llmtest.Say("It is 42.")
		case strings.Contains(task, "By myself"):
			return llmtest.Turn{Calls: []llm.ToolCall{llmtest.Call("1", "team_tasks",
				map[string]any{"action": "complete", "task_id": id, "text": "It is 7."})}}
		}
		return llmtest.Turn{Calls: []llm.ToolCall{llmtest.Call("1", "team_tasks",
			map[string]any{"action": "progress", "task_id": id, "percent": 50})}}
	})
	p := startParent(t, data, t.TempDir(), settings)
	p.call("team_tasks", map[string]any{"action": "list"})
	for subject, want := range map[string]string{"Count": "It is 42.", "Broken": "no such thing", "By myself": "It is 7."} {
		made := p.call("team_tasks", map[string]any{"action": "create", "subject": subject, "assignee": "ann"})
		_, id, _ := strings.Cut(made, "(id=")
		id, _, _ = strings.Cut(id, ",")
		eventually(t, subject, func() bool {
			got := p.call("team_tasks", map[string]any{"action": "get", "task_id": id})
			state := "completed"
			if subject == "Broken" {
				state = "failed"
			}
			return strings.Contains(got, state) && strings.Contains(got, want)
		})
	}
}
