package server

import (
	"context"
	"slices"

	"github.com/mcp-tools/mcp-tools/internal/approvals"
	"github.com/mcp-tools/mcp-tools/internal/jsonrpc"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// CallFor makes a call for work that the server does itself, such as a call of a subagent.
// Questions to people go to the client of asker, if it is connected to this process, and to
// approvers elsewhere.
func (s *Server) CallFor(ctx context.Context, req Request, asker tool.Caller) tool.Result {
	x := s.requestTo(asker)
	req.Can = func(m tool.Medium) bool { return (m == tool.Person || m == tool.Page) && x.can(m) }
	for range maxRounds {
		answer := s.Call(ctx, req)
		if answer.InputRequest == nil {
			return answer.Result
		}
		answered := func() {}
		if req.Asking != nil {
			answered = req.Asking()
		}
		req.Input = &InputResponse{State: answer.InputRequest.State, Answers: x.collect(ctx, answer.InputRequest)}
		answered()
	}
	return tool.Failure(tool.Errorf(tool.Internal, "the tool asked more than %d times", maxRounds).
		Try("do it another way"))
}

// CanAsk reports whether the client of a caller is connected to this process and can show a
// question to a person.
func (s *Server) CanAsk(c tool.Caller) bool {
	x := s.requestTo(c)
	return x.can(tool.Person) || x.can(tool.Page) && s.questionPage("") != ""
}

// AskClient puts a question that is open in the approvals to the client of a caller as well,
// and stores the answer. It returns whether there was one when the client has answered, or
// when ctx ends.
func (s *Server) AskClient(ctx context.Context, c tool.Caller, q approvals.Call, id string) (answered bool) {
	x := s.requestTo(c)
	ask := tool.Question{To: tool.Person, Params: dialog(q, id)}
	if page := s.questionPage(id); page != "" && !x.can(tool.Person) {
		ask = tool.Question{To: tool.Page, Params: pageDialog(q, id, page)}
	}
	given := x.put(ctx, map[string]tool.Question{approvalKey: ask})
	if ask.To == tool.Page && accepts(given[approvalKey]) {
		x.await(ctx, id)
		now, err := s.Approvals.Get(context.WithoutCancel(ctx), id, approvals.Approver{}) // ctx may end with the answer
		if answered = err == nil && now.State != approvals.Open && now.State != approvals.Expired; answered {
			x.completePage(id)
		}
		return answered
	}
	d, answered := decisionIn(given[approvalKey])
	if !answered {
		return false
	}
	answer := approvals.Answer{Allow: d.Allow, Scope: d.Scope, Reason: d.Reason, Seen: q.Digest}
	if _, err := s.Approvals.Answer(ctx, id, answer, approvals.Approver{Channel: d.Channel}); err != nil {
		s.log.Info("the client's answer does not count", "id", id, "err", err)
	}
	return true
}

// requestTo returns a request for questions to the client of a caller, or to no client if it is
// not connected.
func (s *Server) requestTo(c tool.Caller) *rpcRequest {
	sessions := s.notifiedSessions()
	i := slices.IndexFunc(sessions, func(one *session) bool {
		who := one.access.Caller
		return one.persistent && who.Session == c.Session && who.Principal() == c.Principal()
	})
	if i < 0 {
		return &rpcRequest{session: s.newSession(Access{Caller: c}), msg: &jsonrpc.Message{}}
	}
	one := sessions[i]
	one.mu.Lock()
	defer one.mu.Unlock()
	return &rpcRequest{session: one, msg: &jsonrpc.Message{}, out: one.push}
}
