package server

import (
	"cmp"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// Ask is a call that cannot go on without answers. It is made again with them,
// and with State, which says what they are good for.
type Ask struct {
	Questions map[string]tool.Question // to the client
	State     string
	Waiting   string // the question's id on the desk, when it lies there
}

// forClient reports whether there is anything to ask the client.
func (a *Ask) forClient() bool { return len(a.Questions) > 0 }

// A Reply is what comes back with a call that is made again.
type Reply struct {
	State   string
	Answers map[string]json.RawMessage
}

const (
	// approvalKey names our own question among those of a call.
	approvalKey = "approval"
	// maxShown bounds what a person is asked to read in a dialog, maxRead what
	// at all. What is longer is refused: nobody can approve what is not shown.
	maxShown = 8 << 10
	maxRead  = 256 << 10
	// wayBack is how long an answer may take from the person to us, so that one
	// at the last moment counts, and none at all is told from a stale state.
	wayBack = 10 * time.Second
)

// resume reads what a call that is made again brought along. A state that was
// not made for exactly this call is the client's mistake, or an attack.
func (p *passage) resume() error {
	if p.Reply == nil {
		return nil
	}
	got, err := p.server.seal.open(p.Reply.State, p.start)
	if err == nil && got.For != p.stub() {
		err = errors.New("the request state belongs to another call")
	}
	if err != nil {
		p.code = mcp.INVALID_PARAMS
		return tool.Errorf(tool.Refused, "%w", err).Try("call %s again without it", p.tool.Spec.Name)
	}
	p.ticket = got
	return nil
}

// stub is what a ticket is good for: this caller, this call.
func (p *passage) stub() stub {
	return stub{
		Principal: p.Caller.Principal(), Profile: p.Caller.Profile, Session: p.Caller.Session,
		Tool: p.tool.Spec.Name, Call: p.callSum,
	}
}

// ask turns a need for answers into questions with a sealed state, unless the
// client has said that it cannot answer them.
func (p *passage) ask(need *tool.Asking) (*Ask, error) {
	questions := make(map[string]tool.Question, len(need.Questions)) // the tool may keep its own
	for name, q := range need.Questions {
		questions[name] = tool.Question{To: q.To, Params: p.server.scrub.Value(q.Params)}
		if p.Can == nil || !p.Can(q.To) {
			p.code, p.missing = mcp.MISSING_REQUIRED_CLIENT_CAPABILITY, q.To
			return nil, tool.Errorf(tool.Unavailable, "%s needs a client with the capability %q", p.tool.Spec.Name, q.To).
				Try("do it another way")
		}
	}
	patience := time.Duration(max(len(questions), 1))*p.now.ApprovalTimeout + wayBack // they may be put one after the other
	state, err := p.server.seal.close(ticket{
		For: p.stub(), Approval: p.asking, Approved: p.approved, How: p.approval, Question: p.question, Basis: p.basis,
		Risk: uint8(p.risk), State: need.State, Expires: time.Now().Add(patience),
	})
	if err != nil {
		return nil, fmt.Errorf("sealing a question: %w", err)
	}
	return &Ask{Questions: questions, State: state, Waiting: p.question}, nil
}

// approve gets a person's word for the call: by a rule that one has made, by a
// question now, or by the answer to one before. Nothing in the arguments can.
func (p *passage) approve(ctx context.Context) error {
	petition, err := p.petition(ctx)
	if err != nil { // refused whatever a person says
		p.withdraw()
		return err
	}
	if p.ticket.Approved || p.ticket.Approval {
		return p.resumed(ctx, petition)
	}
	if p.standing(ctx, petition) {
		return nil
	}
	return p.putQuestion(ctx, petition)
}

// petition is the call as a person is asked about it. What the word will rest
// on is found out anew each time, so also right before the call runs.
func (p *passage) petition(ctx context.Context) (Petition, error) {
	var known tool.Facts
	if p.plan.Facts != nil {
		var err error
		if known, err = p.plan.Facts(ctx); err != nil {
			return Petition{}, err
		}
	}
	p.basis = known.Basis()
	raw := p.call.JSON()
	shown, hidden := p.shown(raw)
	facts := make(map[string]string, len(known)+1)
	for name, value := range known {
		facts[name] = tool.Visible(p.server.scrub.Text(value))
	}
	if hidden != "" {
		facts[notShown] = hidden
	}
	caller := p.Caller
	return Petition{
		Call: p.id, Tool: p.tool.Spec.Name, Title: p.tool.Spec.Title, Risk: p.risk, Why: tool.Visible(p.server.scrub.Text(p.why)),
		Caller: caller, Profile: p.now.Policy.ProfileOf(p.subject()), Shown: shown,
		Facts: facts, Basis: p.basis, Digest: hex.EncodeToString(p.callSum[:]), Once: p.plan.Once, Args: raw,
		Expires: time.Now().Add(p.now.ApprovalTimeout),
	}, nil
}

// resumed goes on with a call about which a person was asked.
func (p *passage) resumed(ctx context.Context, petition Petition) error {
	if p.ticket.Basis != p.basis || uint8(p.risk) > p.ticket.Risk {
		p.withdraw()
		p.approval = "changed"
		return tool.Errorf(tool.Conflict, "what a person was asked about this call of %s has changed since", p.tool.Spec.Name).
			Try("call it again, so that a person can look at it as it is now")
	}
	if p.ticket.Approved {
		p.approved, p.approval = true, p.ticket.How
		return nil
	}
	return p.judge(ctx, petition)
}

func (p *passage) withdraw() {
	if p.ticket.Question != "" && p.server.Desk != nil {
		p.server.Desk.Withdraw(p.ticket.Question)
	}
}

// standing reports whether a rule allows the call. Rules that cannot be read
// allow nothing.
func (p *passage) standing(ctx context.Context, petition Petition) bool {
	if p.server.Desk == nil {
		return false
	}
	rule, ok, err := p.server.Desk.Allowed(ctx, petition)
	if err != nil {
		p.server.log.Error("the rules of approvals cannot be read", "err", err)
		return false
	}
	if ok {
		p.approved, p.approval = true, "rule "+rule
	}
	return ok
}

// putQuestion asks wherever somebody may be who can answer.
func (p *passage) putQuestion(ctx context.Context, petition Petition) error {
	name, size := p.tool.Spec.Name, len(petition.Shown)
	asks := p.Can != nil && p.Can(tool.Person)
	waits := !p.atTerminal() && p.server.mayWait(ctx, p.now)
	switch {
	case !asks && !waits:
		return p.nobody()
	case size > maxRead || size > maxShown && !waits:
		return tool.Errorf(tool.Refused, "the arguments of %s are %d bytes, too long for a person to approve", name, size).
			Try("make several smaller calls")
	}
	asks = asks && size <= maxShown
	if err := p.layOut(ctx, petition); err != nil && !asks {
		return err
	}
	p.asking = true
	need := &tool.Asking{}
	if asks {
		need.Questions = map[string]tool.Question{approvalKey: {To: tool.Person, Params: p.dialog(ctx, petition)}}
	}
	return need
}

// atTerminal reports whether whoever makes the call sits in front of us: then
// nobody else is asked.
func (p *passage) atTerminal() bool { return p.Transport == "cli" }

// nobody refuses a call about which nobody can be asked, and says how to change
// that.
func (p *passage) nobody() error {
	refusal := tool.Errorf(tool.Refused, "%s (%s) needs a person's approval, and this client cannot ask for it", p.tool.Spec.Name, cmp.Or(p.why, p.risk.String()))
	if p.server.Desk == nil || p.now.ApprovalWait != WaitAttended {
		return refusal.Try("do it another way, or tell the user: a client that supports elicitation can ask them, and the operator can allow it in the policy")
	}
	return refusal.Try("ask the user to run `mcp-tools approvals watch` on the server's machine and to leave it running, " +
		"then call it again: it will wait there for an answer; or use a client that supports elicitation")
}

// layOut puts the question on the desk, if there is one.
func (p *passage) layOut(ctx context.Context, petition Petition) error {
	if p.server.Desk == nil || p.atTerminal() {
		return nil
	}
	id, err := p.server.Desk.Ask(ctx, petition)
	switch {
	case err == nil:
		p.question, p.approval = id, "question "+id
		return nil
	case errors.Is(err, ErrDeskFull):
		return tool.Errorf(tool.Busy, "%w for a person's approval", err).Try("wait until some have been answered, then call again")
	}
	p.server.log.Error("a question could not be laid out", "err", err)
	return tool.Errorf(tool.Unavailable, "nobody can be asked for an approval at the moment").
		Because(err).Try("tell the operator; the server's log has the cause")
}

// judge reads the answer: a person's at the client, or whatever was said first.
func (p *passage) judge(ctx context.Context, petition Petition) error {
	word, said := wordIn(p.Reply.Answers[approvalKey])
	if p.ticket.Question != "" {
		word, said = p.fromDesk(ctx, petition, word, said)
	} else if word.Allow && word.Scope != Once { // it was not offered
		word.Allow = false
	}
	switch {
	case said && word.Allow:
		p.approved, p.approval = true, word.String()
		return nil
	case said:
		p.approval = word.String()
		refusal := tool.Errorf(tool.Refused, "a person said no to this call of %s", p.tool.Spec.Name)
		if reason := word.Reason; reason != "" {
			refusal = tool.Errorf(tool.Refused, "a person said no to this call of %s: %q", p.tool.Spec.Name, clip(reason, 500))
		}
		return refusal.Try("do not try it again in another way; ask the user how to go on")
	}
	p.approval = "unanswered"
	return p.unanswered()
}

// unanswered refuses a call about which nobody said yes or no, and says how one
// who would can be found.
func (p *passage) unanswered() error {
	name := p.tool.Spec.Name
	switch {
	case p.Reply.Answers[approvalKey] != nil:
		return tool.Errorf(tool.Refused, "the question whether %s may do this was closed without an answer", name).
			Try("ask the user how to go on before you call it again")
	case p.ticket.Question != "":
		return tool.Errorf(tool.Refused, "nobody approved this call of %s in time", name).
			Try("ask the user to run `mcp-tools approvals watch` on the server's machine, then call it again; or go on without it")
	}
	return tool.Errorf(tool.Refused, "nobody approved this call of %s in time", name).
		Try("ask the user to be there for the question, then call it again; or go on without it")
}

// fromDesk adds what the client said to what lies on the desk, and takes the
// word that counts.
func (p *passage) fromDesk(ctx context.Context, petition Petition, word Word, said bool) (Word, bool) {
	desk, id := p.server.Desk, p.ticket.Question
	if said {
		if err := desk.Answer(ctx, id, word); err != nil {
			p.server.log.Info("the client's answer does not count", "id", id, "err", err)
		}
	}
	taken, err := desk.Take(ctx, id, petition)
	if err == nil {
		return taken, true
	}
	if !errors.Is(err, ErrUnanswered) {
		p.server.log.Error("an approval cannot be used", "id", id, "err", err)
	}
	return word, said && !word.Allow // a no counts in any case
}
