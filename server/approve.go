package server

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/mcp-tools/mcp-tools/tools"
)

// Ask is a call that cannot go on without answers. It is made again with them,
// and with State, which says what they are good for.
type Ask struct {
	Questions map[string]tools.Question
	State     string
}

// A Reply is what comes back with a call that is made again.
type Reply struct {
	State   string
	Answers map[string]json.RawMessage
}

const (
	// approvalKey names our own question among those of a call.
	approvalKey = "approval"
	// maxShown bounds what a person is asked to read. What is longer is
	// refused: nobody can approve what is not shown.
	maxShown = 8 << 10
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
		return tools.Errorf(tools.Refused, "%w", err).Try("call %s again without it", p.tool.Spec.Name)
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
func (p *passage) ask(need *tools.Asking) (*Ask, error) {
	questions := make(map[string]tools.Question, len(need.Questions)) // the tool may keep its own
	for name, q := range need.Questions {
		questions[name] = tools.Question{To: q.To, Params: p.server.scrub.Value(q.Params)}
		if p.Can == nil || !p.Can(q.To) {
			p.code, p.missing = mcp.MISSING_REQUIRED_CLIENT_CAPABILITY, q.To
			return nil, tools.Errorf(tools.Unavailable, "%s needs a client with the capability %q", p.tool.Spec.Name, q.To).
				Try("do it another way")
		}
	}
	patience := time.Duration(len(questions))*p.now.ApprovalTimeout + wayBack // they may be put one after the other
	state, err := p.server.seal.close(ticket{
		For: p.stub(), Approval: p.asking, Approved: p.approved, State: need.State, Expires: time.Now().Add(patience),
	})
	if err != nil {
		return nil, fmt.Errorf("sealing a question: %w", err)
	}
	return &Ask{Questions: questions, State: state}, nil
}

// approve gets a person's word for the call: by a question now, or by the
// answer to one that this call brought along. Nothing in the arguments can.
func (p *passage) approve() error {
	if p.ticket.Approved {
		p.approved, p.approval = true, "elicitation"
		return nil
	}
	if p.ticket.Approval {
		return p.judge(p.Reply.Answers[approvalKey])
	}
	if p.Can == nil || !p.Can(tools.Person) {
		return tools.Errorf(tools.Refused, "%s %s, which needs a person's approval, and this client cannot ask for it", p.tool.Spec.Name, p.risk).
			Try("use a client that supports elicitation, or ask the operator to allow it in the policy")
	}
	shown := tools.Visible(string(p.call.JSON()))
	if len(shown) > maxShown {
		return tools.Errorf(tools.Refused, "the arguments of %s are %d bytes, too long for a person to approve", p.tool.Spec.Name, len(shown)).
			Try("make several smaller calls")
	}
	p.asking = true
	return &tools.Asking{Questions: map[string]tools.Question{approvalKey: {
		To:     tools.Person,
		Params: map[string]any{"message": p.questionText(shown), "requestedSchema": decisionForm()},
	}}}
}

// judge reads a person's answer.
func (p *passage) judge(raw json.RawMessage) error {
	var answer struct {
		Action  string `json:"action"`
		Content struct {
			Decision string `json:"decision"`
			Reason   string `json:"reason"`
		} `json:"content"`
	}
	if json.Unmarshal(raw, &answer) != nil {
		answer.Action = ""
	}
	switch {
	case answer.Action == "accept" && answer.Content.Decision == "allow":
		p.approved, p.approval = true, "elicitation"
		return nil
	case answer.Action == "accept" || answer.Action == "decline":
		p.approval = "denied"
		refusal := tools.Errorf(tools.Refused, "a person said no to this call of %s", p.tool.Spec.Name)
		if reason := answer.Content.Reason; reason != "" {
			refusal = tools.Errorf(tools.Refused, "a person said no to this call of %s: %q", p.tool.Spec.Name, clip(reason, 500))
		}
		return refusal.Try("do not try it again in another way; ask the user how to go on")
	}
	p.approval = "unanswered"
	return tools.Errorf(tools.Refused, "nobody approved this call of %s in time", p.tool.Spec.Name).
		Try("ask the user, then call it again")
}

func (p *passage) questionText(shown string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Allow %s (%s)? It %s.", p.tool.Spec.Title, p.tool.Spec.Name, p.risk)
	if p.why != "" {
		b.WriteString(" " + tools.Visible(p.why))
	}
	fmt.Fprintf(&b, "\n\nAgent: %s\nProfile: %s\nArguments: %s", tools.Visible(p.Caller.Principal()), p.now.Policy.ProfileOf(p.subject()), shown)
	return b.String()
}

func decisionForm() map[string]any {
	return map[string]any{
		"type": "object",
		"properties": map[string]any{
			"decision": map[string]any{"type": "string", "enum": []string{"allow", "deny"}, "title": "Decision"},
			"reason":   map[string]any{"type": "string", "title": "Reason, which the agent will read"},
		},
		"required": []string{"decision"},
	}
}
