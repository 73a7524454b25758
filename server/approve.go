package server

import (
	"cmp"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/mcp-tools/mcp-tools/internal/approvals"
	"github.com/mcp-tools/mcp-tools/internal/text"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// Approvals keeps the questions that people can answer elsewhere than at the
// client, and the rules that people have made. Of several answers to a question
// the first counts. *[approvals.Store] implements it.
type Approvals interface {
	// Allowed returns the rule that allows the call without a question.
	Allowed(ctx context.Context, c approvals.Call) (rule approvals.Rule, ok bool, err error)
	// Attended reports whether a person with the right to answer is present.
	Attended(ctx context.Context) (bool, error)
	// Ask stores a question and returns its id, or [approvals.ErrTooMany].
	Ask(ctx context.Context, c approvals.Call, expires time.Time) (id string, err error)
	// Get returns a question that the approver may see, open or answered.
	Get(ctx context.Context, id string, who approvals.Approver) (approvals.Question, error)
	// Await returns nil when the question is no longer open, or the cause of the end of ctx.
	Await(ctx context.Context, id string) error
	// Answer decides a question, unless it was answered before.
	Answer(ctx context.Context, id string, a approvals.Answer, by approvals.Approver) (approvals.Decision, error)
	// Take uses up the decision about exactly this call. [approvals.ErrExpired] and
	// [approvals.ErrUnknown] mean that there is none, and that none will count later.
	Take(ctx context.Context, id string, c approvals.Call) (approvals.Decision, error)
	// Withdraw ends a question: its caller no longer waits for an answer.
	Withdraw(ctx context.Context, id string) error
}

// A Wait sets whether calls wait for an answer from elsewhere when the client
// cannot ask a person.
type Wait string

// The ways to wait. Any other Wait is not to wait.
const (
	WaitAttended Wait = "attended" // while such a person is present
	WaitAlways   Wait = "always"
)

// mayWait reports whether it makes sense to wait for an answer from elsewhere.
func (s *Server) mayWait(ctx context.Context, now *settings) bool {
	if s.Approvals == nil || now.ApprovalWait != WaitAttended {
		return s.Approvals != nil && now.ApprovalWait == WaitAlways
	}
	attended, err := s.Approvals.Attended(ctx)
	return err == nil && attended // a store that cannot be read cannot take an answer either
}

// An InputRequest lists the questions that must be answered before a call can continue. The
// client sends the call again with the answers and with State. State binds them to this call.
type InputRequest struct {
	Questions map[string]tool.Question // to the client
	State     string
	Waiting   string // ID of the question that can be answered elsewhere, or ""
	Page      bool   // the client has sent the person to the page of that question
}

// forClient reports whether there is anything to ask the client.
func (a *InputRequest) forClient() bool { return len(a.Questions) > 0 }

// An InputResponse holds the answers that a client sends when it repeats a call.
type InputResponse struct {
	State   string
	Answers map[string]json.RawMessage
}

const (
	// approvalKey names the server's own question among the questions of a call.
	approvalKey = "approval"
	// maxShown bounds the text of a dialog, maxRead the text for a person in any place. Longer
	// calls are refused: a person cannot approve hidden text.
	maxShown = 8 << 10
	maxRead  = 256 << 10
	// replyTime is how long an answer may take from the person to the server, so
	// that one at the last moment counts, and no answer is not taken for a stale
	// state.
	replyTime = 10 * time.Second
)

// A proposal is a call that a person may be asked about.
type proposal struct {
	tool   tool.Tool
	args   json.RawMessage
	digest digest // of the tool and its arguments
	plan   tool.Plan
	edited editedCall
	sent   callKey // the call of the client
}

// why returns the reason why the call needs an approval.
func (p proposal) why() string { return cmp.Or(p.plan.Why, p.plan.Ask, p.plan.Risk.String()) }

// An approval is the state of a call's need for a person's approval. The zero approval means
// that the call needs none.
type approval struct {
	granted  bool
	asking   bool   // a question has to be asked now
	how      string // for the audit log
	question string // ID of the question that can be answered elsewhere, or ""
	page     bool   // the client sends the person to the page of the question
	basis    string // digest of the facts that the approval depends on
	seen     string // digest of the call that the client shows
}

// openState opens the sealed state of a call that is sent again. It returns a
// protocol error for a state that was not made for exactly this call.
func (c *call) openState(a attempt) (callState, error) {
	if c.Input == nil {
		return callState{}, nil
	}
	got, err := c.server.seal.open(c.Input.State, c.start)
	if err == nil && got.For != c.key(a) {
		err = errors.New("the request state belongs to another call")
	}
	if err != nil {
		refused := tool.Errorf(tool.Refused, "%w", err).Try("call %s again without it", a.tool.Spec.Name)
		return callState{}, &protocolError{shown: refused, code: mcp.INVALID_PARAMS}
	}
	return got, nil
}

// key returns the caller and the call that a state is valid for.
func (c *call) key(a attempt) callKey {
	return callKey{
		Principal: c.Caller.Principal(), Profile: c.Caller.Profile, Session: c.Caller.Session,
		Tool: a.tool.Spec.Name, Call: a.sent,
	}
}

// requestInput returns the questions of a call with a sealed state. It fails if
// the client has not declared that it can answer them.
func (c *call) requestInput(need *tool.Asking, a attempt) (*InputRequest, error) {
	questions := make(map[string]tool.Question, len(need.Questions)) // the tool may keep its own
	for name, q := range need.Questions {
		questions[name] = tool.Question{To: q.To, Params: c.server.scrub.Value(q.Params)}
		if c.Can == nil || !c.Can(q.To) {
			refused := tool.Errorf(tool.Unavailable, "%s needs a client with the capability %q", a.tool.Spec.Name,
				q.To).
				Try("do it another way")
			return nil, &protocolError{refused, mcp.MISSING_REQUIRED_CLIENT_CAPABILITY, q.To}
		}
	}
	patience := time.Duration(max(len(questions), 1))*c.now.ApprovalTimeout + replyTime // they may be asked in turn
	state, err := c.server.seal.close(callState{
		For: c.key(a), Approval: a.approval.asking, Approved: a.approval.granted, How: a.approval.how,
		Question: a.approval.question, Page: a.approval.page, Basis: a.approval.basis, Risk: uint8(a.risk), State: need.State,
		Seen: a.approval.seen, Edited: a.edited,
		Expires: time.Now().Add(patience),
	})
	if err != nil {
		return nil, fmt.Errorf("sealing a question: %w", err)
	}
	return &InputRequest{
		Questions: questions, State: state, Waiting: a.approval.question, Page: a.approval.page,
	}, nil
}

// approve gets a person's approval for a call: from a rule that a person has
// made, by a question now, or from the answer to one before. Nothing in the
// arguments can approve it.
func (c *call) approve(ctx context.Context, p proposal, sealed callState) (approval, error) {
	question, err := c.questionAbout(ctx, p)
	if err != nil { // no answer could make the call run
		c.withdraw(ctx, sealed)
		return approval{}, err
	}
	a := approval{basis: question.Basis}
	if sealed.Approved || sealed.Approval {
		return c.resumeApproval(ctx, p, question, sealed, a)
	}
	if rule, ok := c.matchingRule(ctx, question); ok {
		a.granted, a.how = true, "rule "+rule.ID
		return a, nil
	}
	d, answered, open := c.leftAnswer(ctx, p, question)
	if answered {
		return decided(question, d, a)
	}
	return c.putQuestion(ctx, p, question, a, open)
}

// questionAbout returns the question about a call for a person. The facts that the approval
// depends on are read each time, so also right before the call runs.
func (c *call) questionAbout(ctx context.Context, p proposal) (approvals.Call, error) {
	var facts tool.Facts
	if p.plan.Facts != nil {
		var err error
		if facts, err = p.plan.Facts(ctx); err != nil {
			return approvals.Call{}, err
		}
	}
	scrub := c.server.scrub
	shown, hidden := argumentsShown(scrub, p.args)
	visible := make(map[string]string, len(facts)+1)
	for name, value := range facts {
		visible[name] = tool.Visible(scrub.Text(value))
	}
	if hidden != "" {
		visible[notShown] = hidden
	}
	why := tool.Visible(scrub.Text(cmp.Or(p.plan.Why, p.plan.Ask)))
	if about := c.aboutLine(); why == "" && about != "" {
		why = strconv.Quote(about) // the agent's words
	}
	who := c.Caller
	return approvals.Call{
		Call: c.id, Tool: p.tool.Spec.Name, Title: p.tool.Spec.Title,
		Risk: p.plan.Risk.String(), Why: why, Kept: p.plan.Kept,
		Principal: who.Principal(), Agent: who.Agent, User: who.User, Session: who.Session,
		Profile: c.now.Policy.ProfileOf(c.subject()), Workspace: who.Workspace, Shown: shown,
		Facts: visible, Basis: facts.Basis(), Digest: hex.EncodeToString(p.digest[:]), Once: p.plan.Once, Args: p.args,
	}, nil
}

// resumeApproval continues a call after a person was asked about it. The approval counts for
// the shown facts and the risk at that time.
func (c *call) resumeApproval(ctx context.Context, p proposal, q approvals.Call, sealed callState,
	a approval) (approval, error) {
	if sealed.Basis != a.basis || uint8(p.plan.Risk) > sealed.Risk {
		c.withdraw(ctx, sealed)
		a.how = "changed"
		return a, tool.Errorf(tool.Conflict, "this call of %s has changed since a person was asked about it", q.Tool).
			Try("call it again, so that a person can look at it as it is now")
	}
	if sealed.Approved {
		a.granted, a.how = true, sealed.How
		return a, nil
	}
	return c.readAnswer(ctx, q, sealed, a)
}

// withdraw ends the question that a call brought back, if there is one. A
// question that cannot be withdrawn expires.
func (c *call) withdraw(ctx context.Context, sealed callState) {
	if sealed.Question != "" && c.server.Approvals != nil {
		_ = c.server.Approvals.Withdraw(context.WithoutCancel(ctx), sealed.Question)
	}
}

// matchingRule returns the rule that allows the call. Rules that cannot be read
// allow nothing.
func (c *call) matchingRule(ctx context.Context, q approvals.Call) (approvals.Rule, bool) {
	if c.server.Approvals == nil {
		return approvals.Rule{}, false
	}
	rule, ok, err := c.server.Approvals.Allowed(ctx, q)
	if err != nil {
		c.server.log.Error("the rules of approvals cannot be read", "err", err)
		return approvals.Rule{}, false
	}
	return rule, ok
}

// putQuestion asks at the client and wherever else a person may answer. The
// question to the client is the error, a *tool.Asking. open is the id of the question that an equal call has left open,
// or "".
func (c *call) putQuestion(ctx context.Context, p proposal, q approvals.Call, a approval, open string) (approval, error) {
	asks := c.Can != nil && c.Can(tool.Person)
	sends := c.sendsToPage()
	waits := !c.atTerminal() && c.server.mayWait(ctx, c.now)
	switch size := len(q.Shown); {
	case !asks && !sends && !waits:
		return a, c.leaveOpen(ctx, p, q, open)
	case size > maxRead || size > maxShown && !sends && !waits:
		return a, tool.Errorf(tool.Refused, "the arguments of %s are %d bytes, too long for a person to approve",
			q.Tool, size).
			Try("make several smaller calls")
	default:
		asks = asks && size <= maxShown
	}
	id, err := open, error(nil)
	if id == "" {
		id, err = c.storeQuestion(ctx, p, q, c.now.ApprovalTimeout)
	}
	if err != nil && !asks {
		return a, err
	}
	a.asking, a.seen = true, q.Digest
	if id != "" {
		a.question, a.how = id, "question "+id
	}
	need := &tool.Asking{}
	switch page := c.server.questionPage(id); {
	case asks:
		need.Questions = map[string]tool.Question{approvalKey: {To: tool.Person, Params: dialog(q, id)}}
	case sends && page != "":
		a.page = true
		need.Questions = map[string]tool.Question{approvalKey: {To: tool.Page, Params: pageDialog(q, id, page)}}
	}
	return a, need
}

// sendsToPage reports whether the client can send a person to the page of a question, and there is one.
func (c *call) sendsToPage() bool {
	return c.Can != nil && c.Can(tool.Page) && c.server.Approvals != nil && !c.atTerminal() &&
		c.server.questionPage("") != ""
}

// atTerminal reports whether the caller is a person at the command line: then
// no other person is asked.
func (c *call) atTerminal() bool { return c.Transport == "cli" }

// noApproverError returns the error for a call that needs an approval when no
// person can be asked, with advice for the model.
func (c *call) noApproverError(p proposal) error {
	if c.Nested {
		return tool.Errorf(tool.Refused, "%s (%s) needs a person's approval, which this client cannot ask for in the "+
			"middle of a script", p.tool.Spec.Name, p.why()).
			Try("end the script before it, and call %s by itself", p.tool.Spec.Name)
	}
	if c.server.Approvals == nil || c.now.ApprovalWait != WaitAttended {
		return c.refusal(p, "do it another way, or ask the user for help: "+
			"a client that supports elicitation can ask them, "+
			"and the operator can allow it in the policy")
	}
	return c.refusal(p, fmt.Sprintf("say to the user: \"%s\" Then call it again: it will wait for the answer",
		fmt.Sprintf("Please run %s on the machine of the server%s, leave it running, and tell me to go on.",
			c.server.command("", "approvals watch", c.Transport), c.server.sameData(c.Transport))))
}

// storeQuestion puts the question where people can answer it for some time. It returns "" if
// there is no such place.
func (c *call) storeQuestion(ctx context.Context, p proposal, q approvals.Call, patience time.Duration) (id string,
	err error) {
	if c.server.Approvals == nil || c.atTerminal() {
		return "", nil
	}
	edits := newEditableCall(p, q, patience)
	q.Check = c.check(edits)
	id, err = c.server.Approvals.Ask(ctx, q, time.Now().Add(patience))
	switch {
	case err == nil:
		c.server.edits.put(id, edits)
		return id, nil
	case errors.Is(err, approvals.ErrTooMany):
		return "", tool.Errorf(tool.Busy, "too many questions are waiting for a person's approval").
			Try("wait until some have been answered, then call again")
	}
	c.server.log.Error("a question could not be stored", "err", err)
	return "", tool.Errorf(tool.Unavailable, "no person can be asked for an approval at the moment").
		Because(err).Try("tell the operator; the server's log has the cause")
}

// readAnswer reads the decision: a person's at the client, or an earlier one
// from elsewhere.
func (c *call) readAnswer(ctx context.Context, q approvals.Call, sealed callState, a approval) (approval, error) {
	if sealed.Page && accepts(c.Input.Answers[approvalKey]) { // the person has gone to the page, and answers there
		a.asking, a.page, a.question, a.how = true, true, sealed.Question, "question "+sealed.Question
		return a, &tool.Asking{}
	}
	d, answered := decisionIn(c.Input.Answers[approvalKey])
	if sealed.Question != "" {
		var stale bool
		if d, answered, stale = c.takeDecision(ctx, q, sealed, d, answered); stale {
			// The client has shown the call before the edit. The editor decides elsewhere.
			a.asking, a.question, a.how = true, sealed.Question, "question "+sealed.Question
			return a, &tool.Asking{}
		}
	} else if d.Allow && d.Scope != approvals.Once { // it was not offered
		d.Allow = false
	}
	if answered {
		return decided(q, d, a)
	}
	a.how = "unanswered"
	return a, c.unanswered(q, sealed)
}

// decided applies the decision of a person.
func decided(q approvals.Call, d approvals.Decision, a approval) (approval, error) {
	a.how = decisionForAudit(d)
	if d.Allow {
		a.granted = true
		return a, nil
	}
	refusal := tool.Errorf(tool.Refused, "a person denied this call of %s", q.Tool)
	if d.Reason != "" {
		refusal = tool.Errorf(tool.Refused, "a person denied this call of %s: %q", q.Tool, text.Clip(d.Reason, 500))
	}
	return a, refusal.Try("do not try it again in another way; ask the user how to continue")
}

// unanswered refuses a call without a decision, with advice how to get a decision.
func (c *call) unanswered(q approvals.Call, sealed callState) error {
	switch {
	case c.Input.Answers[approvalKey] != nil:
		return tool.Errorf(tool.Refused, "the question whether to allow %s was closed without an answer", q.Tool).
			Try("ask the user how to continue before you call it again")
	case sealed.Question != "":
		return tool.Errorf(tool.Refused, "no person approved this call of %s in time", q.Tool).
			Try("%s, then call it again; or continue without it", c.server.askUserToWatch(c.Transport))
	}
	return tool.Errorf(tool.Refused, "no person approved this call of %s in time", q.Tool).
		Try("ask the user to be there for the question, then call it again; or continue without it")
}

// takeDecision adds the client's decision to the stored question, and takes the
// one that counts. stale means that the client has shown another call than the question has now.
func (c *call) takeDecision(
	ctx context.Context, q approvals.Call, sealed callState, client approvals.Decision, answered bool,
) (d approvals.Decision, decided, stale bool) {
	store, id := c.server.Approvals, sealed.Question
	if answered {
		answer := approvals.Answer{Allow: client.Allow, Scope: client.Scope, Reason: client.Reason, Seen: sealed.Seen}
		_, err := store.Answer(ctx, id, answer, approvals.Approver{Channel: client.Channel})
		if errors.Is(err, approvals.ErrEdited) {
			return client, false, true
		}
		if err != nil {
			c.server.log.Info("the client's answer does not count", "id", id, "err", err)
		}
	}
	taken, err := store.Take(ctx, id, q)
	if err == nil {
		c.server.edits.remove(id)
		return taken, true, false
	}
	if !errors.Is(err, approvals.ErrExpired) && !errors.Is(err, approvals.ErrUnknown) {
		c.server.log.Error("an approval cannot be used", "id", id, "err", err)
	}
	return client, answered && !client.Allow, false // a denial counts in any case
}

// decisionForAudit returns a decision as it is written to the audit log.
func decisionForAudit(d approvals.Decision) string {
	by := d.Channel
	if d.By != "" {
		by += ":" + d.By
	}
	switch {
	case !d.Allow:
		return "denied " + by
	case d.Scope != "" && d.Scope != approvals.Once:
		return by + " " + string(d.Scope)
	}
	return by
}
