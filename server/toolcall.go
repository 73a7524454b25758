package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/mcp-tools/mcp-tools/internal/jsonrpc"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// maxRounds bounds how often one call may ask before it is done.
const maxRounds = 10

// callTool answers tools/call.
func (x *rpcRequest) callTool(ctx context.Context) []byte {
	m := x.msg
	if m.Name == "" {
		return jsonrpc.Failure(m.ID,
			jsonrpc.Errorf(mcp.INVALID_PARAMS, `params.name is missing: it is the name of the tool`))
	}
	if ask := x.rootsFirst(ctx); ask != nil {
		return x.success(inputRequired(ask))
	}
	request := Request{
		Access: x.access, Tool: m.Name, Args: m.Call.Arguments, Trace: m.Meta.Trace,
		Can: x.can, Input: replyOf(m.Call), Tasks: x.followsTasks(), Apps: x.showsApps(), Client: x.clientInfo().name,
	}
	if x.flight != nil {
		request.end = x.flight.cancel
	}
	if m.Meta.Progress != nil {
		request.Report = x
	}
	answer := x.session.server.Call(ctx, request)
	for round := 0; answer.InputRequest != nil && (!m.Modern() || !answer.InputRequest.forClient()); round++ {
		if round == maxRounds {
			return jsonrpc.Failure(m.ID,
				jsonrpc.Errorf(mcp.INTERNAL_ERROR, "the tool asked more than %d times", maxRounds))
		}
		request.Input = &InputResponse{State: answer.InputRequest.State, Answers: x.collect(ctx, answer.InputRequest)}
		answer = x.session.server.Call(ctx, request)
	}
	if !m.Modern() && x.clientInfo().version < mcp.ProtocolVersion20250618 { // it has no links in results
		answer.Result.Parts = slices.DeleteFunc(slices.Clone(answer.Result.Parts), func(p tool.Part) bool {
			return p.For == tool.ForPerson && p.Text == "" && p.Data == nil
		})
	}
	return x.session.server.writeAnswer(m, x.addNews(ctx, answer))
}

// addNews adds the events for the caller to the end of a result. The response that
// begins a task has no room for it, so the next result has it.
func (x *rpcRequest) addNews(ctx context.Context, a Response) Response {
	s := x.session.server
	if s.Inbox == nil || a.InputRequest != nil || a.Result.Task != nil || a.Code != 0 || a.Call == "" {
		return a
	}
	x.call = a.Call
	if news := s.Inbox.Line(ctx, x.access.Caller, a.Call); news != "" {
		a.Result = a.Result.Add(tool.Part{Text: s.scrubFor(x.access.Caller).Text(news)})
	}
	return a
}

// put asks a client of the legacy era one question after the other. The result
// lacks the questions that were not answered in time.
func (x *rpcRequest) put(ctx context.Context, questions map[string]tool.Question) map[string]json.RawMessage {
	answers := make(map[string]json.RawMessage, len(questions))
	defer x.noticeWaiting("waiting for an answer to a question at the client")()
	for _, name := range slices.Sorted(maps.Keys(questions)) {
		q := questions[name]
		ctx, cancel := context.WithTimeout(ctx, x.session.server.settings().ApprovalTimeout)
		raw, err := x.session.ask(ctx, x.send, methodFor(q.To), q.Params)
		cancel()
		if err != nil {
			x.session.server.log.Info("a question was not answered", "to", q.To, "err", err)
			continue
		}
		answers[name] = raw
	}
	return answers
}

func methodFor(to tool.Medium) string {
	switch to {
	case tool.Person, tool.Page:
		return string(mcp.MethodElicitationCreate)
	case tool.Model:
		return string(mcp.MethodSamplingCreateMessage)
	}
	return string(mcp.MethodListRoots)
}

// can reports whether the client declared that it can answer questions to m.
// The first revision with elicitation declares it with an empty object.
func (x *rpcRequest) can(m tool.Medium) bool {
	if x.out == nil && !x.msg.Modern() {
		return false // there is no way to put the question
	}
	c := x.clientInfo().capabilities
	switch m {
	case tool.Person:
		return c.Elicitation != nil && (c.Elicitation.Form != nil || c.Elicitation.URL == nil)
	case tool.Page:
		return c.Elicitation != nil && c.Elicitation.URL != nil
	case tool.Model:
		return c.Sampling != nil
	case tool.Roots:
		return c.Roots != nil
	}
	return false
}

// replyOf returns the answers that a call was sent with, or nil.
func replyOf(c jsonrpc.CallParams) *InputResponse {
	if c.State == "" {
		return nil
	}
	reply := &InputResponse{State: c.State}
	if json.Unmarshal(c.Answers, &reply.Answers) != nil {
		reply.Answers = nil
	}
	return reply
}

// writeAnswer writes the response to a call, for the era of m.
func (s *Server) writeAnswer(m *jsonrpc.Message, a Response) []byte {
	if a.Code != 0 {
		f := jsonrpc.Errorf(a.Code, "%s", a.Result.Text())
		if a.Missing != "" {
			needed := map[string]any{string(a.Missing): struct{}{}}
			if a.Missing == tasksExtension {
				needed = map[string]any{"extensions": needed}
			}
			f.Data = map[string]any{"requiredCapabilities": needed}
		}
		return jsonrpc.Failure(m.ID, f)
	}
	if a.InputRequest != nil {
		return jsonrpc.Success(m.ID, inputRequired(a.InputRequest))
	}
	if t := a.Result.Task; t != nil {
		begun := *t
		begun.Status = tool.TaskWorking // the result, if there is one already, comes with tasks/get
		return jsonrpc.Respond(m.ID, `,"result":`, stamped(s.writeTask(begun), s.taskStamp))
	}
	b := appendResult(jsonrpc.Begin(m.ID, `,"result":`, a.Result.Size()*9/8+64+len(s.resultStamp)), a.Result)
	if m.Modern() {
		b = append(b, s.resultStamp...)
	} else {
		b = append(b, '}')
	}
	return append(withView(b, a.Result.View, m.Modern()), '}')
}

// inputRequired returns the result that asks a client of the stateless era.
func inputRequired(ask *InputRequest) any {
	return map[string]any{"resultType": mcp.ResultTypeInputRequired, "inputRequests": inputRequests(ask.Questions),
		"requestState": ask.State}
}

// inputRequests returns questions as requests to the client.
func inputRequests(questions map[string]tool.Question) map[string]any {
	requests := make(map[string]any, len(questions))
	for name, q := range questions {
		request := map[string]any{"method": methodFor(q.To)}
		if q.Params != nil {
			request["params"] = q.Params
		}
		requests[name] = request
	}
	return requests
}

// errAnsweredElsewhere ends a question to the client that was answered elsewhere.
var errAnsweredElsewhere = errors.New("it was answered elsewhere")

// noticeEvery is how often a client that waits for an approval is notified.
const noticeEvery = 10 * time.Second

// collect gets the answers for a call from the client or from elsewhere. It ends
// with the first answer to a question that was stored.
func (x *rpcRequest) collect(ctx context.Context, ask *InputRequest) map[string]json.RawMessage {
	if ask.Waiting == "" {
		return x.put(ctx, ask.Questions)
	}
	s := x.session.server
	ctx, cancel := context.WithTimeout(ctx, s.settings().ApprovalTimeout)
	defer cancel()
	defer context.AfterFunc(s.closing, cancel)()
	var answers map[string]json.RawMessage
	elsewhere := false
	if ask.forClient() {
		answers, elsewhere = x.race(ctx, ask)
	}
	if answers[approvalKey] == nil && !elsewhere && (!ask.forClient() || s.mayWait(ctx, s.settings())) {
		elsewhere = x.await(ctx, ask.Waiting)
	}
	if elsewhere && ask.Page {
		delete(answers, approvalKey) // the person has agreed to open the page, and has answered there already
		x.completePage(ask.Waiting)
	}
	if ctx.Err() != nil && answers[approvalKey] == nil {
		// An answer that arrives now is too late. A question that cannot be withdrawn expires.
		_ = s.Approvals.Withdraw(context.WithoutCancel(ctx), ask.Waiting)
	}
	return answers
}

// race asks the client until the question was answered elsewhere, and reports whether it was.
func (x *rpcRequest) race(ctx context.Context, ask *InputRequest) (answers map[string]json.RawMessage, elsewhere bool) {
	asking, answered := context.WithCancelCause(ctx)
	defer answered(nil)
	watching, done := context.WithCancel(ctx)
	var watcher sync.WaitGroup
	watcher.Go(func() {
		if x.session.server.Approvals.Await(watching, ask.Waiting) == nil {
			answered(errAnsweredElsewhere)
		}
	})
	defer watcher.Wait()
	defer done()
	answers = x.put(asking, ask.Questions)
	return answers, errors.Is(context.Cause(asking), errAnsweredElsewhere)
}

// await waits for an answer from elsewhere, and sends progress to the client. It reports whether the question is
// no longer open.
func (x *rpcRequest) await(ctx context.Context, id string) (ended bool) {
	s := x.session.server
	message := fmt.Sprintf("not started: waiting for a person's approval %s; "+
		"on the server's machine: %s%s", id, s.command("", "approvals allow "+id, x.access.Transport), s.sameData(x.access.Transport))
	if page := s.questionPage(id); page != "" {
		message = fmt.Sprintf("not started: waiting for a person's approval %s on %s", id, page)
	}
	x.notice(message)
	defer x.noticeWaiting(message)()
	err := s.Approvals.Await(ctx, id)
	if err != nil {
		s.log.Info("a question was not answered", "id", id, "err", err)
	}
	return err == nil
}

// completePage tells a client of the legacy era that the person has finished on the page of a question. The stateless
// era has no such notification: the response follows.
func (x *rpcRequest) completePage(id string) {
	if x.msg.Modern() {
		return
	}
	if err := x.send(jsonrpc.Request(nil, string(mcp.MethodNotificationElicitationComplete),
		map[string]any{"elicitationId": id})); err != nil {
		x.session.server.log.Debug("a message could not be written", "err", err)
	}
}

// noticeWaiting sends progress until stop is called, so that a client does not give
// a call up while a person thinks.
func (x *rpcRequest) noticeWaiting(message string) (stop func()) {
	var notices sync.WaitGroup
	done := make(chan struct{})
	notices.Go(func() {
		tick := time.NewTicker(noticeEvery)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case <-tick.C:
				x.notice(message)
			}
		}
	})
	return func() { close(done); notices.Wait() }
}

// notice sends progress of a call that has not started. It counts in thousandths, so that later
// reports of the tool are always more.
func (x *rpcRequest) notice(message string) {
	x.notices++
	x.Progress(float64(x.notices)/1000, 0, message)
}
