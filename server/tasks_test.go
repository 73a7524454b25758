package server

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/mcp-tools/mcp-tools/internal/inbox"
	"github.com/mcp-tools/mcp-tools/internal/store/storetest"
)

// A taskReply is a response to a request about a task, as far as tests look into it.
type taskReply struct {
	Result struct {
		ResultType, TaskID, Status, StatusMessage string
		Result                                    struct{ Content []struct{ Text string } }
		InputRequests                             map[string]any
	}
	Error struct {
		Code    int
		Message string
	}
}

// follower sends requests of a client that follows tasks.
type follower struct {
	t *testing.T
	w *wire
}

func (f follower) do(method, params string) (r taskReply) {
	f.t.Helper()
	f.w.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":"x","method":%q,"params":{%s,%s}}`, method, params,
		meta(newest, `{"elicitation":{},"extensions":{"io.modelcontextprotocol/tasks":{}}}`)))
	if err := json.Unmarshal([]byte(f.w.next()), &r); err != nil {
		f.t.Fatal(err)
	}
	return r
}

// until asks for a task until it is in a status.
func (f follower) until(id, status string) taskReply {
	f.t.Helper()
	for {
		r := f.do(methodTasksGet, fmt.Sprintf(`"taskId":%q`, id))
		if r.Result.Status == status {
			return r
		}
		if r.Result.Status != "working" {
			f.t.Fatalf("the task is %+v", r)
		}
	}
}

func TestTasksAreScrubbedAndRecorded(t *testing.T) {
	b := newFixture(t)
	f := follower{t, dial(t, b)}
	begun := f.do("tools/call", `"name":"slow_compute","arguments":{"label":"`+plantedKey()+`"}`).Result
	if begun.ResultType != "task" || !strings.HasPrefix(begun.TaskID, "slow_compute.") || begun.StatusMessage != "it runs" {
		t.Fatalf("%+v", begun)
	}
	text := f.until(begun.TaskID, "completed").Result.Result.Content[0].Text
	if strings.Contains(text, plantedKey()) || !strings.Contains(text, "computed [REDACTED") {
		t.Errorf("the result is %q", text)
	}
	f.do(methodTasksCancel, fmt.Sprintf(`"taskId":%q`, begun.TaskID))
	kinds := ""
	for _, r := range b.audit.all() {
		kinds += r.Kind + ":" + r.Tool + ":" + r.Outcome + " "
	}
	if kinds != ":slow_compute:ok task:slow_compute:ok task:slow_compute:ok " { // polls while it works are not
		t.Errorf("recorded: %s", kinds)
	}
}

func TestTasksOfOthersAreNotFound(t *testing.T) {
	b := newFixture(t)
	mine := follower{t, dial(t, b)}
	id := mine.do("tools/call", `"name":"confirm_delete"`).Result.TaskID
	other := follower{t, dial(t, b, func(s *Stdio) { s.Access.Caller.User = "someone else" })}
	hidden := follower{t, dial(t, b, func(s *Stdio) { s.Access.Caller.Profile = "minimal" })}
	for _, f := range []follower{other, hidden} {
		for _, method := range []string{methodTasksGet, methodTasksCancel, methodTasksUpdate} {
			for _, wrong := range []string{id, "confirm_delete.x", "greet.x", "nothing.x", "x", ""} {
				got := f.do(method, fmt.Sprintf(`"taskId":%q`, wrong))
				if got.Error.Code != mcp.INVALID_PARAMS || !strings.Contains(got.Error.Message, "there is no task") {
					t.Errorf("%s %s: %+v", method, wrong, got)
				}
			}
		}
	}
	if asked := mine.until(id, "input_required"); len(asked.Result.InputRequests) != 1 {
		t.Errorf("the owner gets %+v", asked)
	}
}

// Clients that do not follow tasks get results as ever.
func TestNoTasksForOthers(t *testing.T) {
	w := dial(t, newFixture(t))
	w.send(stateless("tools/call", `"name":"slow_compute","arguments":{"label":"a"},`))
	if got := read(t, w.next()); got.text() != "computed a" {
		t.Errorf("without the extension: %+v", got)
	}
	w.send(handshake("2025-11-25", `{"extensions":{"io.modelcontextprotocol/tasks":{}}}`)...)
	if hello := w.next(); strings.Contains(hello, string(tasksExtension)) {
		t.Errorf("an older client hears %s", hello)
	}
	w.send(callLine("1", "slow_compute", `{"label":"b"}`))
	if got := read(t, w.next()); got.text() != "computed b" {
		t.Errorf("an older client: %+v", got)
	}
	w.send(`{"jsonrpc":"2.0","id":2,"method":"tasks/get","params":{"taskId":"x"}}`)
	if got := read(t, w.next()); got.Error == nil || got.Error.Code != mcp.METHOD_NOT_FOUND {
		t.Errorf("an older client asks for a task: %+v", got)
	}
	plain := newTestServer(t)
	if keepsTasks(plain.Config.Tools) {
		t.Error("a server without tasks keeps tasks")
	}
}

// TestTasksUseUpNoNews has an event when a task begins: the next result has it.
func TestTasksUseUpNoNews(t *testing.T) {
	s := storetest.Open(t, t.TempDir())
	news := inbox.New(inbox.Options{Store: s})
	b := newFixture(t, func(c *Config) { c.Inbox = news })
	if _, err := news.Send(t.Context(), inbox.ToCaller(testAccess().Caller),
		inbox.Event{Kind: inbox.Command, Subject: "p_1"}); err != nil {
		t.Fatal(err)
	}
	w := dial(t, b)
	f := follower{t, w}
	if begun := f.do("tools/call", `"name":"slow_compute"`).Result; begun.ResultType != "task" {
		t.Fatalf("%+v", begun)
	}
	for _, want := range []bool{true, false} {
		w.send(stateless("tools/call", `"name":"greet","arguments":{"name":"x"},`))
		if got := w.next(); strings.Contains(got, "p_1") != want {
			t.Errorf("delivered: %v, want %v: %s", !want, want, got)
		}
	}
}
