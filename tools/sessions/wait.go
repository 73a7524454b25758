package sessions

import (
	"context"
	"errors"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/inbox"
	"github.com/mcp-tools/mcp-tools/internal/text"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// wait waits for events in the inbox of the caller's session.
type wait struct{ sessions *Sessions }

type waitArgs struct {
	For     []string `json:"for,omitempty" jsonschema:"kinds (message, chat, subagent, command, task, approval, media), ids or keys; default all" alias:"kinds,ids" maxitems:"100"`
	Timeout int      `json:"timeout,omitempty" jsonschema:"seconds, default 45" alias:"timeout_seconds" min:"0" max:"600"`
}

const (
	defaultWait = 45 // seconds, less than clients wait for a result
	longestWait = 600 * time.Second
)

func (wait) Spec() tool.Spec {
	return tool.Spec{
		Name: "wait", Group: group, Title: "Wait for events", Risk: tool.Reads,
		Doc: `Waits for a message, or the end of work in the background, and returns it in full.
Every result ends with such events, so wait only if you have nothing else to do.`,
		Waits: true, Timeout: longestWait + 10*time.Second,
		Keywords: "inbox events sleep poll await notifications", Output: happened{},
	}
}

// happened is the result of the tool for programs.
type happened struct {
	Events []event `json:"events"`
}

type event struct {
	ID      string    `json:"id"`
	Kind    string    `json:"kind"`
	Subject string    `json:"subject,omitempty"`
	From    string    `json:"from,omitempty"` // an agent, never the user
	Reply   string    `json:"reply_to,omitempty"`
	Text    string    `json:"text,omitempty"`
	At      time.Time `json:"at"`
}

func (t wait) Do(ctx context.Context, a waitArgs) (tool.Result, error) {
	running := tool.RunningFrom(ctx)
	if _, err := t.sessions.own(ctx, running.Caller); err != nil {
		return tool.Result{}, err
	}
	if a.Timeout == 0 {
		a.Timeout = defaultWait
	}
	limit := time.Duration(a.Timeout) * time.Second
	tool.Idle(ctx)
	events, err := t.sessions.Inbox.Wait(ctx, running.Caller, running.Call, a.For, limit)
	if errors.Is(err, inbox.ErrNothing) {
		return tool.Textf("Nothing has happened within %s.", limit).With(happened{Events: []event{}}), nil
	}
	if err != nil {
		return tool.Result{}, err
	}
	out := happened{}
	for _, e := range events {
		out.Events = append(out.Events, event{
			e.ID, string(e.Kind), e.Subject, e.From, e.Reply, e.Text, e.At.UTC(),
		})
	}
	return tool.Text(text.Plural(len(events), "thing") + " happened:\n" + inFull(events)).With(out), nil
}
