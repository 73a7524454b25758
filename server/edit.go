package server

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/approvals"
	"github.com/mcp-tools/mcp-tools/internal/text"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/policy"
)

// This file has calls whose arguments a person changes before they allow them. The changed call is checked, prepared
// and judged as if the agent had made it, and takes the place of the agent's in the question. The client sends the
// agent's call again as it was, but the call in the question runs.

// editableCalls are the calls that this process asks about, by the id of the question. The zero value is empty.
type editableCalls struct {
	mu         sync.Mutex
	byQuestion map[string]*editableCall
}

// An editableCall is the call of a question, in all forms that it had.
type editableCall struct {
	mu      sync.Mutex
	forms   map[string]callForm // by digest; the first one is the agent's
	expires time.Time
}

// A callForm is a form of a call: some arguments, the facts for them and the risk.
type callForm struct {
	args  json.RawMessage
	basis string // digest of the facts that were shown
	risk  tool.Risk
}

// editedCall names the form of a call that a person has made. The zero value is none.
type editedCall struct {
	Question string `json:"q,omitzero"`
	Digest   string `json:"d,omitzero"`
}

func newEditableCall(p proposal, q approvals.Call, patience time.Duration) *editableCall {
	return &editableCall{
		forms:   map[string]callForm{q.Digest: {p.args, q.Basis, p.plan.Risk}},
		expires: time.Now().Add(patience + editsKept),
	}
}

// editsKept is how long the forms of a call are kept after its question: the tool may ask on its own.
const editsKept = time.Hour

func (e *editableCall) form(digest string) (callForm, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	form, ok := e.forms[digest]
	return form, ok
}

func (e *editableCall) edited() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.forms) > 1
}

func (l *editableCalls) put(id string, e *editableCall) {
	now := time.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	maps.DeleteFunc(l.byQuestion, func(_ string, other *editableCall) bool { return now.After(other.expires) })
	if l.byQuestion == nil {
		l.byQuestion = make(map[string]*editableCall)
	}
	l.byQuestion[id] = e
}

func (l *editableCalls) get(id string) *editableCall {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.byQuestion[id]
}

// remove forgets a call whose question was answered, unless a person has changed it.
func (l *editableCalls) remove(id string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if e := l.byQuestion[id]; e != nil && !e.edited() {
		delete(l.byQuestion, id)
	}
}

// edited returns the form of the call that a person has made. ok is false if the call is as the agent made it.
func (c *call) edited(ctx context.Context, a attempt, sealed callState) (of editedCall, form callForm, ok bool) {
	of = sealed.Edited
	id := cmp.Or(of.Question, sealed.Question)
	if c.Input == nil && !c.Nested {
		id = c.server.left.of(c.key(a))
	}
	e := c.server.edits.get(id)
	if e == nil || !e.edited() {
		return editedCall{}, form, false
	}
	if of.Question == "" {
		q, err := c.server.Approvals.Get(ctx, id, approvals.Approver{})
		if err != nil || q.Edited == nil { // an answer does not count then
			return editedCall{}, form, false
		}
		of = editedCall{id, q.Digest}
	}
	form, ok = e.form(of.Digest)
	return of, form, ok
}

// check returns the check of changes of the call of a question.
func (c *call) check(e *editableCall) approvals.Check {
	return func(ctx context.Context, seen string, change json.RawMessage) (approvals.Call, error) {
		form, ok := e.form(seen)
		if !ok {
			return approvals.Call{}, tool.Errorf(tool.Conflict, "the call is not known any more").Try("deny it")
		}
		args, err := changed(form.args, change)
		if err != nil {
			return approvals.Call{}, err
		}
		req := c.Request
		req.Args, req.Input = args, nil
		now := c.server.newCall(req, c.kind)
		now.id = c.id
		q, form, err := now.propose(ctx)
		if err != nil {
			known := tool.AsError(err)
			shown := tool.Errorf(known.Kind, "%s", tool.Visible(c.server.scrub.Text(known.What)))
			shown.Next = tool.Visible(c.server.scrub.Text(known.Next))
			return approvals.Call{}, shown
		}
		e.mu.Lock()
		defer e.mu.Unlock()
		e.forms[q.Digest] = form
		return q, nil
	}
}

// changed returns arguments with others in place of some; null removes one.
func changed(args, change json.RawMessage) (json.RawMessage, error) {
	all := map[string]json.RawMessage{}
	if err := json.Unmarshal(args, &all); err != nil {
		return nil, fmt.Errorf("the arguments are not an object: %w", err)
	}
	var other map[string]json.RawMessage
	if err := json.Unmarshal(change, &other); err != nil {
		return nil, tool.Errorf(tool.Invalid, "the change is no JSON object")
	}
	for name, value := range other {
		if all[name] = value; string(value) == "null" {
			delete(all, name)
		}
	}
	return json.Marshal(all)
}

// propose checks, prepares and judges a call as try does, and returns the question about it. It runs nothing.
func (c *call) propose(ctx context.Context) (q approvals.Call, form callForm, err error) {
	t, _, found := c.find()
	if !found {
		return q, form, c.noSuchTool()
	}
	defer func() {
		if r := recover(); r != nil {
			err = c.server.panicked(t.Spec.Name, r)
		}
	}()
	bound, err := t.Bind(c.Args, c.now.Limits.Args)
	if err != nil {
		return q, form, c.explain(t, err)
	}
	p := proposal{tool: t, args: bound.JSON()}
	p.digest = sum(t.Spec.Name, p.args)
	running := c.running(t, callState{}, func() {})
	defer func() {
		if _, failed := running.Ends.Do(ctx); err == nil {
			err = failed
		}
	}()
	if p.plan, err = bound.Prepare(tool.With(ctx, running)); err != nil {
		return q, form, err
	}
	if c.now.verdictOn(c.Access, t.Spec.Name, p.plan.Risk) == policy.Deny {
		return q, form, tool.Errorf(tool.Refused, "the policy does not allow this call, which %s", p.plan.Risk).
			Try("change it in another way, or deny it")
	}
	if q, err = c.questionAbout(ctx, p); err == nil && len(q.Shown) > maxRead {
		err = tool.Errorf(tool.TooLarge, "the arguments are %d bytes, too long for a person to approve", len(q.Shown))
	}
	return q, callForm{p.args, q.Basis, p.plan.Risk}, err
}

// noteEdit adds to the result of a call that a person has changed its arguments. Without the note, the model would
// take the result for the result of its own call.
func (c *call) noteEdit(res tool.Result) tool.Result {
	return res.Add(tool.Part{Text: "A person changed the arguments of this call before they allowed it. It ran with: " +
		text.Clip(c.server.scrub.Text(plainJSON(c.Args)), maxEditShown)})
}

// maxEditShown is how much of changed arguments the model is shown.
const maxEditShown = 2000
