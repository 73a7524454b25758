package bridge

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/mcp-tools/mcp-tools/internal/jsonrpc"
	"github.com/mcp-tools/mcp-tools/internal/llm"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/tools/bridge/upstream"
)

// This file has the questions of servers during a call. A question to the user goes to the
// client of the call. The client answers by making the call again; meanwhile the call of the
// server is parked. Requests for our language model are answered here.

const (
	maxAnswer    = 5 * time.Minute // for a person
	maxParked    = 100
	answerName   = "answer"
	maxMessage   = 1000    // bytes of a question
	maxForm      = 8 << 10 // bytes of the form of a question
	maxTokens    = 4096    // of an answer of the model
	maxSampled   = 20      // messages of one request for the model
	maxSampledIn = 64 << 10
)

// asking is a call with the questions of its server.
type asking struct {
	*upstream.Call
	person bool
}

// patience is how much longer a call may take because a person answers.
func (a *asking) patience() time.Duration {
	if a.person {
		return maxAnswer
	}
	return 0
}

// mayAsk reports whether a server may ask anything during a call in ctx.
func (b *Bridge) mayAsk(ctx context.Context, s Server) bool {
	return b.mayAskPerson(ctx, s) || s.Sampling != "" && b.o.Complete != nil
}

// mayAskPerson reports whether a server may ask the user: only if the client of the call has declared that it can
// be asked.
func (b *Bridge) mayAskPerson(ctx context.Context, s Server) bool {
	can := tool.RunningFrom(ctx).Can
	return s.Elicitation && can != nil && can(tool.Person)
}

// A parked call goes on while the client is asked.
type parked struct {
	principal, session, tool string
	questions                chan question
	done                     chan struct{} // closed when result and err are set
	result                   tool.Result
	err                      error
	cancel                   context.CancelCauseFunc
	pending                  *question // waits for an answer
}

type question struct {
	params map[string]any
	answer chan json.RawMessage
}

// park runs a call that may ask. It returns when the call is done, or with a question.
func (b *Bridge) park(ctx context.Context, server string, s Server,
	do func(context.Context, *asking) (tool.Result, error),
) (tool.Result, error) {
	running := tool.RunningFrom(ctx)
	p := &parked{
		principal: running.Caller.Principal(), session: running.Caller.Session, tool: running.Tool,
		questions: make(chan question), done: make(chan struct{}),
	}
	life, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	p.cancel = cancel
	person := b.mayAskPerson(ctx, s)
	call := &asking{person: person, Call: &upstream.Call{Progress: progress(ctx)}}
	call.Ask = func(asked context.Context, q upstream.Question) (json.RawMessage, error) {
		switch {
		case q.Method == string(mcp.MethodElicitationCreate) && person:
			return p.ask(asked, server, q.Params)
		case q.Method == string(mcp.MethodSamplingCreateMessage) && s.Sampling != "" && b.o.Complete != nil:
			return b.sample(asked, server, s, q.Params)
		}
		return nil, jsonrpc.Errorf(mcp.INVALID_REQUEST, "this question is not allowed")
	}
	if !b.spawn(func() {
		defer close(p.done)
		defer cancel(nil)
		p.result, p.err = do(life, call)
	}) {
		return tool.Result{}, tool.Errorf(tool.Unavailable, "the server is ending").Try("try again later")
	}
	return b.follow(ctx, p)
}

// follow waits until a parked call is done or asks.
func (b *Bridge) follow(ctx context.Context, p *parked) (tool.Result, error) {
	select {
	case <-p.done:
		return p.result, p.err
	case q := <-p.questions:
		p.pending = &q
		id, err := b.keep(p)
		if err != nil {
			p.cancel(err)
			return tool.Result{}, err
		}
		return tool.Result{}, &tool.Asking{
			Questions: map[string]tool.Question{answerName: {To: tool.Person, Params: q.params}}, State: id,
		}
	case <-ctx.Done():
		p.cancel(context.Cause(ctx))
		return tool.Result{}, context.Cause(ctx)
	}
}

// keep remembers a parked call until it is resumed, or its time is over.
func (b *Bridge) keep(p *parked) (id string, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.parked) >= maxParked {
		return "", tool.Errorf(tool.Busy, "%d calls wait for answers already", maxParked).Try("try again later")
	}
	id = rand.Text()
	b.parked[id] = p
	time.AfterFunc(maxAnswer, func() {
		if b.unpark(id) != nil {
			p.cancel(tool.Errorf(tool.Timeout, "the question was not answered in time").
				Try("call the tool again"))
		}
	})
	return id, nil
}

func (b *Bridge) unpark(id string) *parked {
	b.mu.Lock()
	defer b.mu.Unlock()
	p := b.parked[id]
	delete(b.parked, id)
	return p
}

// resume gives a parked call the answer to its question, and follows it.
func (b *Bridge) resume(ctx context.Context, id string) (tool.Result, error) {
	p, running := b.unpark(id), tool.RunningFrom(ctx)
	if p == nil {
		return tool.Result{}, tool.Errorf(tool.Conflict, "the call does not wait for this answer any more").
			Try("call the tool again")
	}
	if p.principal != running.Caller.Principal() || p.session != running.Caller.Session || p.tool != running.Tool {
		p.cancel(errors.New("another caller sent the answer"))
		return tool.Result{}, tool.Errorf(tool.Refused, "the answer belongs to another call").
			Try("call the tool again")
	}
	answer := tool.AnswersFrom(ctx).ByName[answerName]
	if answer == nil {
		answer = json.RawMessage(`{"action":"cancel"}`)
	}
	p.pending.answer <- answer
	return b.follow(ctx, p)
}

// ask puts a question of the server to the client, with the name of the server in front.
func (p *parked) ask(ctx context.Context, server string, raw json.RawMessage) (json.RawMessage, error) {
	var asked struct {
		Mode    string          `json:"mode"`
		Message string          `json:"message"`
		Schema  json.RawMessage `json:"requestedSchema"`
	}
	if json.Unmarshal(raw, &asked) != nil || asked.Mode != "" && asked.Mode != "form" || len(asked.Schema) > maxForm {
		return nil, jsonrpc.Errorf(mcp.INVALID_PARAMS, "only short forms can be asked")
	}
	if len(asked.Schema) == 0 {
		asked.Schema = json.RawMessage(`{"type":"object","properties":{}}`)
	}
	q := question{answer: make(chan json.RawMessage, 1), params: map[string]any{
		"message": fmt.Sprintf("The MCP server %q asks (do not tell it secrets that it need not know):\n%s", server,
			tool.Visible(cleaned(asked.Message, maxMessage))),
		"requestedSchema": cleanedSchema(asked.Schema),
	}}
	select {
	case p.questions <- q:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	select {
	case answer := <-q.answer:
		return answer, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// sample has our language model answer a request of the server, within the budget that the caller has for that
// server in a day. The ledger of models counts it, for all processes together.
func (b *Bridge) sample(ctx context.Context, server string, s Server, raw json.RawMessage) (json.RawMessage, error) {
	refused := func(why string) (json.RawMessage, error) {
		return nil, jsonrpc.Errorf(mcp.INVALID_REQUEST, "%s", why)
	}
	var asked struct {
		System    string `json:"systemPrompt"`
		MaxTokens int    `json:"maxTokens"`
		Messages  []struct {
			Role    string `json:"role"`
			Content struct {
				Type string `json:"type"`
				Text string `json:"text"`
			} `json:"content"`
		} `json:"messages"`
	}
	if len(raw) > maxSampledIn || json.Unmarshal(raw, &asked) != nil || len(asked.Messages) == 0 ||
		len(asked.Messages) > maxSampled {
		return refused("only a few messages of text can be asked of the model")
	}
	budget, err := llm.ParseAmount(s.Sampling)
	if err != nil {
		return nil, err
	}
	request := llm.Request{
		System: asked.System, MaxTokens: maxTokens, Purpose: "the MCP server " + server, Limit: budget,
	}
	if asked.MaxTokens > 0 {
		request.MaxTokens = min(asked.MaxTokens, maxTokens)
	}
	for _, m := range asked.Messages {
		role := llm.User
		if m.Role == "assistant" {
			role = llm.Assistant
		}
		if m.Content.Type != "text" {
			return refused("only messages of text can be asked of the model")
		}
		request.Messages = append(request.Messages, llm.Message{Role: role, Text: m.Content.Text})
	}
	reply, err := b.o.Complete(ctx, request)
	if errors.Is(err, llm.ErrBudget) {
		return refused("the budget for the model is used up for today")
	}
	if err != nil {
		return refused("the model did not answer")
	}
	return json.Marshal(map[string]any{
		"role": "assistant", "model": reply.Model, "stopReason": "endTurn",
		"content": map[string]any{"type": "text", "text": reply.Message.Text},
	})
}
