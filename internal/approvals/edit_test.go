package approvals

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// editable returns a call that can have any path but "wrong".
func editable(c *Call) {
	c.Check = func(_ context.Context, seen string, change json.RawMessage) (Call, error) {
		if strings.Contains(string(change), "wrong") {
			return Call{}, tool.Errorf(tool.Invalid, "there is no such path").Try("choose another one")
		}
		to := *c
		to.Shown, to.Digest, to.Args, to.Risk = string(change), seen+"+"+string(change), change, "writes"
		return to, nil
	}
}

// testPersonChangesACall has a server that asks, and people who change the call and decide in other processes.
func testPersonChangesACall(t *testing.T, p place) {
	asks, other := p.server(t), p.elsewhere(t)
	ctx, cancel := context.WithTimeout(t.Context(), hang)
	defer cancel()
	ben := Approver{Name: "ben", Channel: "console"}
	id := mustAsk(t, asks, someCall(editable))
	for change, want := range map[string]string{
		`[]`: "no JSON object", `{}`: "no JSON object", `{"path":`: "no JSON object", `{"path":"wrong"}`: "no such path; choose another one",
	} {
		if _, err := other.Edit(ctx, id, json.RawMessage(change), ann); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", change, err)
		}
	}
	q, err := other.Edit(ctx, id, json.RawMessage(`{"path":"b"}`), ann)
	if err != nil || q.State != Open || q.Shown != `{"path":"b"}` || q.Risk != "writes" || q.Edited == nil ||
		q.Edited.By != "ann" || q.Edited.Before != someCall().Shown {
		t.Fatalf("the changed question is %+v, %v", q, err)
	}
	if encoded, err := json.Marshal(q); err != nil || strings.Contains(string(encoded), "proposal") {
		t.Errorf("it is %s, %v", encoded, err)
	}
	if _, err := other.Answer(ctx, id, Answer{Allow: true}, ben); !errors.Is(err, ErrEdited) {
		t.Errorf("who has not seen the change got %v", err)
	}
	if _, err := other.Answer(ctx, id, Answer{Allow: true, Seen: "d1"}, ann); !errors.Is(err, ErrEdited) {
		t.Errorf("who has seen the call before got %v", err)
	}
	if _, err := other.Answer(ctx, id, Answer{Allow: true, Seen: q.Digest}, ben); err != nil {
		t.Errorf("who has seen the change got %v", err)
	}
	if _, err := other.Edit(ctx, id, json.RawMessage(`{"path":"c"}`), ann); !errors.Is(err, ErrAnswered) {
		t.Errorf("a change after the answer got %v", err)
	}
	if _, err := asks.Take(ctx, id, someCall()); !errors.Is(err, ErrChanged) {
		t.Errorf("the call of the agent got %v", err)
	}
	changed, err := someCall(editable).Check(ctx, "d1", json.RawMessage(`{"path":"b"}`))
	if err != nil {
		t.Fatal(err)
	}
	if d, err := asks.Take(ctx, id, changed); err != nil || !d.Allow || d.By != "ben" {
		t.Errorf("the changed call got %+v, %v", d, err)
	}

	// Who has changed a call decides about it without more, and others may still deny it.
	for _, a := range []struct {
		answer Answer
		by     Approver
	}{{Answer{Allow: true}, ann}, {Answer{}, ben}} {
		id := mustAsk(t, asks, someCall(editable))
		if _, err := other.Edit(ctx, id, json.RawMessage(`{"path":"b"}`), ann); err != nil {
			t.Fatal(err)
		}
		if _, err := other.Answer(ctx, id, a.answer, a.by); err != nil {
			t.Error(err)
		}
	}

	// A process that does not answer, and a call without a check.
	fixed := mustAsk(t, asks, someCall())
	if _, err := other.Edit(ctx, fixed, json.RawMessage(`{"path":"b"}`), ann); !errors.Is(err, errFixed) {
		t.Errorf("a call that cannot be changed got %v", err)
	}
	busy := make(chan struct{})
	id = mustAsk(t, asks, someCall(func(c *Call) {
		c.Check = func(context.Context, string, json.RawMessage) (Call, error) { <-busy; return Call{}, ErrUnknown }
	}))
	defer close(busy)
	short, end := context.WithTimeout(ctx, 50*time.Millisecond)
	defer end()
	if _, err := other.Edit(short, id, json.RawMessage(`{"path":"b"}`), ann); err == nil {
		t.Error("a change that nobody has checked counts")
	}
	if _, err := other.Answer(ctx, id, Answer{Allow: true}, ben); err != nil {
		t.Errorf("the call as it is cannot be allowed: %v", err)
	}
}
