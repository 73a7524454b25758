package server

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/mcp-tools/mcp-tools/internal/jsonrpc"
	"github.com/mcp-tools/mcp-tools/internal/telemetry"
	"github.com/mcp-tools/mcp-tools/internal/text"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// This file serves the tasks extension of the stateless era: calls with work that continues
// after the response. The tools keep their tasks; the server names them, and decides,
// scrubs and records requests about them as it does calls.

// tasksExtension is the name of the extension among the capabilities.
const tasksExtension tool.Medium = "io.modelcontextprotocol/tasks"

// The methods of the extension.
const (
	methodTasksGet    = "tasks/get"
	methodTasksUpdate = "tasks/update"
	methodTasksCancel = "tasks/cancel"
)

// maxTaskID bounds the ID of a task; longer ones do not exist.
const maxTaskID = 256

// aboutTask reports whether a method names a task.
func aboutTask(method string) bool {
	return method == methodTasksGet || method == methodTasksUpdate || method == methodTasksCancel
}

// keepsTasks reports whether there are tools with tasks.
func keepsTasks(set *tool.Set) bool {
	for t := range set.All() {
		if t.Tasks != nil {
			return true
		}
	}
	return false
}

// followsTasks reports whether the client has declared the extension in this request.
func (x *rpcRequest) followsTasks() bool {
	_, declared := x.clientInfo().capabilities.Extensions[string(tasksExtension)]
	return declared && x.msg.Modern()
}

// taskIDOf returns params.taskId.
func taskIDOf(params []byte) string {
	var given struct {
		ID string `json:"taskId"`
	}
	if json.Unmarshal(params, &given) != nil {
		return ""
	}
	return given.ID
}

// serveTask answers tasks/get, tasks/update and tasks/cancel.
func (x *rpcRequest) serveTask(ctx context.Context) []byte {
	m, s := x.msg, x.session.server
	if !x.followsTasks() {
		return s.writeAnswer(m, Response{
			Code: mcp.MISSING_REQUIRED_CLIENT_CAPABILITY, Missing: tasksExtension,
			Result: tool.Text(m.Method + " needs a client that declares the extension " + string(tasksExtension)),
		})
	}
	q := taskRequest{access: x.access, method: m.Method, id: taskIDOf(m.Params), trace: m.Meta.Trace}
	if len(m.Call.Answers) > 0 && json.Unmarshal(m.Call.Answers, &q.answers) != nil {
		return x.failure(jsonrpc.Errorf(mcp.INVALID_PARAMS, "params.inputResponses must be an object"))
	}
	t, err := s.queryTask(ctx, q)
	if err != nil {
		return s.refusal(m.ID, LibraryRequest{}.rpcError(tool.AsError(err), true))
	}
	body := append([]byte{'{'}, s.resultStamp[1:]...) // nothing else: the client asks for the new state
	if m.Method == methodTasksGet {
		body = stamped(s.writeTask(t), s.resultStamp)
	}
	return jsonrpc.Respond(m.ID, `,"result":`, body)
}

// A taskRequest is one request about a task.
type taskRequest struct {
	access  Access
	method  string
	id      string // with the name of the tool
	answers map[string]json.RawMessage
	trace   map[string]string
}

// queryTask runs one request about a task: limits, policy, the tool that keeps it. A task of
// another caller, and one of a tool that the caller may not see, are not found. The result of a
// task is scrubbed, cut and recorded like the result of a call.
func (s *Server) queryTask(ctx context.Context, q taskRequest) (tool.Task, error) {
	name, id, _ := strings.Cut(q.id, ".")
	args, _ := text.JSON(map[string]any{"task": q.id, "inputResponses": q.answers}) // strings and JSON
	c := s.newCall(Request{Access: q.access, Tool: name, Args: args, Trace: q.trace}, "task")
	ctx, observe := s.Observer.Start(ctx, c.begin(name))
	a, t, err := c.tryTask(ctx, q, id)
	end := outcome{attempt: a, name: "ok"}
	if err != nil {
		known := *tool.AsError(err)
		known.What, known.Next = s.scrub.Text(known.What), s.scrub.Text(known.Next)
		end.name, end.kind, end.err, err = string(known.Kind), known.Kind, &known, &known
	} else {
		t, end.removed = c.scrubTask(t)
		t.Result = c.cut(ctx, t.Result, a.tool)
		end.size = t.Result.Size()
	}
	if err == nil && q.method == methodTasksGet && t.Status == tool.TaskWorking {
		observe(telemetry.End{Verdict: a.verdict.String(), Outcome: end.name, Duration: time.Since(c.start)})
		return t, nil // nothing was shown or changed, and clients ask every second
	}
	if failed := c.record(ctx, observe, end); failed != nil {
		return tool.Task{}, failed
	}
	return t, err
}

// tryTask runs the steps of a request about a task.
func (c *call) tryTask(ctx context.Context, q taskRequest, id string) (a attempt, t tool.Task, err error) {
	ctx, _, release, err := c.admit(ctx)
	a.waited = time.Since(c.start)
	if err != nil {
		return a, t, err
	}
	defer release()
	defer func() {
		if r := recover(); r != nil {
			t, err = tool.Task{}, c.server.panicked(a.tool.Spec.Name, r)
		}
	}()
	if ctx.Err() != nil { // cancelled while it waited
		return a, t, context.Cause(ctx)
	}
	a.args = sum(q.method, c.Args)
	a.tool, a.verdict, a.found = c.find()
	if !a.found || a.tool.Tasks == nil || a.tool.Spec.Name != c.Tool || id == "" || len(q.id) > maxTaskID {
		return a, t, c.noSuchTask(q.id)
	}
	a.risk, a.started = tool.Reads, true
	ctx = tool.With(ctx, &tool.Running{
		Caller: c.Caller, Tool: a.tool.Spec.Name, Call: c.id, Tasks: true, Grant: c.grant,
	})
	err = limited(ctx, c.now.Limits.Timeout, "it", func(ctx context.Context) error {
		t, err = c.task(ctx, a.tool, q, id)
		t.ID = q.id
		return err
	})
	if known := (*tool.Error)(nil); errors.As(err, &known) && known.Kind == tool.NotFound {
		err = c.noSuchTask(q.id) // in the same words as for forbidden tools
	}
	return a, t, err
}

func (c *call) noSuchTask(id string) error {
	shown := text.Clip(c.server.scrub.Text(id), jsonrpc.MaxQuoted)
	return tool.Errorf(tool.NotFound, "there is no task %q here", shown).
		Try("a task can be asked for by its caller, for as long as its ttlMs says")
}

// scrubTask returns t without credentials, and how many were removed.
func (c *call) scrubTask(t tool.Task) (clean tool.Task, removed map[string]int) {
	r := redactor{scrub: c.server.scrubFor(c.Caller)}
	t.Message, t.Result = r.text(t.Message), r.result(t.Result)
	needs := make(map[string]tool.Question, len(t.Needs))
	for name, q := range t.Needs {
		needs[name] = tool.Question{To: q.To, Params: r.scrub.Value(q.Params)}
	}
	t.Needs = needs
	return t, r.removed
}

// begunTask returns the task of a result, as the client gets it, or nil.
func (c *call) begunTask(by tool.Tool, begun *tool.Task, shown string) *tool.Task {
	t, _ := c.scrubTask(*begun)
	t.ID = by.Spec.Name + "." + t.ID
	if t.Message == "" {
		t.Message = text.Clip(shown, maxTaskMessage)
	}
	return &t
}

// maxTaskMessage bounds the text of a result that is the first message of its task.
const maxTaskMessage = 1000

// taskState is a task as clients get it.
type taskState struct {
	ID      string          `json:"taskId"`
	Status  tool.TaskStatus `json:"status"`
	Message string          `json:"statusMessage,omitempty"`
	Created time.Time       `json:"createdAt"`
	Changed time.Time       `json:"lastUpdatedAt"`
	Keep    *int64          `json:"ttlMs"` // null: without end
	Poll    int64           `json:"pollIntervalMs,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   *jsonrpc.Error  `json:"error,omitempty"`
	Asks    map[string]any  `json:"inputRequests,omitempty"`
}

// writeTask writes a task as an object, with its result if it has one.
func (s *Server) writeTask(t tool.Task) []byte {
	state := taskState{
		ID: t.ID, Status: t.Status, Message: t.Message, Created: t.Created.UTC(), Changed: t.Changed.UTC(),
		Poll: t.Poll.Milliseconds(),
	}
	if t.Changed.IsZero() {
		state.Changed = state.Created
	}
	if keep := t.Keep.Milliseconds(); t.Keep > 0 {
		state.Keep = &keep
	}
	switch t.Status {
	case tool.TaskCompleted:
		state.Result = append(appendResult(nil, t.Result), '}')
	case tool.TaskFailed:
		shown := tool.AsError(t.Err)
		state.Error = jsonrpc.Errorf(mcp.INTERNAL_ERROR, "%s", s.scrub.Text(shown.Error()))
	case tool.TaskNeedsInput:
		state.Asks = inputRequests(t.Needs)
	}
	written, err := text.JSON(state)
	if err != nil { // texts, numbers, and values that were JSON before
		return []byte("{}")
	}
	return written
}

// stamped returns a JSON object with the members of stamp at its end.
func stamped(object, stamp []byte) []byte { return append(object[:len(object)-1], stamp...) }
