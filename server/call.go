package server

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/mcp-tools/mcp-tools/internal/text"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/policy"
)

// A Request is one call of a tool, from any transport.
type Request struct {
	Access
	Tool   string
	Args   []byte                 // JSON
	Report tool.Reporter          // receives progress; nil for none
	Can    func(tool.Medium) bool // abilities of the client; nil for none
	Input  *InputResponse         // the answers, when the call is made again
	Tasks  bool                   // the client follows tasks
	Apps   bool                   // the client shows MCP Apps
	Parent string                 // the call that made this one
	Client string                 // the program at the other end, as it names itself
	Trace  map[string]string      // traceparent, tracestate, baggage
	// Nested means that Parent makes the call while it runs, for itself and not for the
	// model: it runs in the slot of Parent, and its result is whole.
	Nested bool
	// Scheduled means that a schedule makes the call and no model: it is no loop if the results are equal.
	Scheduled bool
	// Asking is called before a person is asked, and its result after the answer. It may be
	// nil.
	Asking func() (answered func())

	forwarded bool                    // by another tool that the client has called
	end       context.CancelCauseFunc // ends the context of the request; nil if others use it too
}

// A Response is the response to a call: a result, or questions that must be answered before the
// same request is sent again.
type Response struct {
	Result       tool.Result
	InputRequest *InputRequest
	Code         int         // JSON-RPC error code, when the client's program made a mistake
	Missing      tool.Medium // capability that the client would need
	Call         string      // the id of the call; "" for one whose result is withheld
}

// A protocolError is a mistake of the client's program rather than of the model.
type protocolError struct {
	shown   *tool.Error
	code    int
	missing tool.Medium
}

func (e *protocolError) Error() string { return e.shown.Error() }
func (e *protocolError) Unwrap() error { return e.shown }

// Call runs one tool for one caller. It is the only way to a tool: over every transport, each
// call is limited, decided, checked, approved, scrubbed, bounded and recorded here, and
// refusals take the same path as results.
func (s *Server) Call(ctx context.Context, req Request) Response {
	c := s.newCall(s.forwarded(req), "")
	ctx, observe := s.Observer.Start(ctx, c.begin(req.Tool))
	a, res, err := c.try(ctx)
	if need := (*tool.Asking)(nil); errors.As(err, &need) {
		var ask *InputRequest
		if ask, err = c.requestInput(need, a); err == nil {
			failed := c.record(ctx, observe, outcome{attempt: a, name: "asked"})
			return answerOr(failed, Response{InputRequest: ask})
		}
	}
	answer := Response{Call: c.id}
	if wrong := (*protocolError)(nil); errors.As(err, &wrong) {
		answer.Code, answer.Missing = wrong.code, wrong.missing
	}
	if err != nil {
		res = failure(err)
	}
	if a.edited.Question != "" && a.approval.granted {
		res = c.noteEdit(res)
	}
	res, removed := c.scrubResult(c.wanted(res))
	if a.keeps {
		c.now.cache.put(a.key, res, c.start)
	}
	res = c.cut(ctx, res, a.tool) // after scrubbing: half a key matches no pattern
	end := outcome{attempt: a, name: outcomeName(res), kind: res.Kind, end: res.End, removed: removed, err: err}
	if a.kept {
		end.name = "cached"
	}
	switch {
	case !a.found || answer.Code != 0 || a.repeated:
	case c.Nested: // only its script sees the result, so advice would be lost
		end.digest = sum(res.Text())
	default:
		end.digest, end.repeats = c.addToHistory(a, res)
		res = advise(res, end.repeats)
	}
	if a.kept {
		res = c.noteAge(res, a.age)
	}
	end.size = res.Size()
	if c.now.AuditResults {
		end.head = text.Clip(res.Text(), maxAuditHead)
	}
	if res.Task != nil {
		res.Task = c.begunTask(a.tool, res.Task, res.Text())
	}
	answer.Result = res
	c.countUse(res)
	return answerOr(c.record(ctx, observe, end), answer)
}

// answerOr returns a, or only the error failed if the call could not be recorded.
func answerOr(failed *tool.Error, a Response) Response {
	if failed != nil {
		return Response{Result: tool.Failure(failed)}
	}
	return a
}

// A call is a request that is being processed. It does not change, but for the arguments that a person has changed.
type call struct {
	Request
	server *Server
	now    *settings // when the call began
	id     string
	start  time.Time
	kind   string // for the audit log: "" for a call of a tool, or the kind of a read from the library

	aboutOnce sync.Once // sets aboutText, for records of the audit log and questions
	aboutText string
}

func (s *Server) newCall(req Request, kind string) *call {
	return &call{Request: req, server: s, now: s.settings(), id: rand.Text(), start: time.Now(), kind: kind}
}

// An attempt holds the facts about a call at its end. The fields are set from top to bottom;
// those after the step that failed stay zero.
type attempt struct {
	waited   time.Duration // for a slot
	tool     tool.Tool
	found    bool   // the tool exists, and the caller may see it
	sent     digest // the call of the client
	args     digest // the call as it runs
	edited   editedCall
	verdict  policy.Verdict
	risk     tool.Risk // of this call; zero until it was prepared
	ask      string    // the effect that the tool, or a hook, wants approved in any case
	hooks    []string  // the operator's hooks that ran
	changed  bool      // a hook has changed the arguments
	approval approval
	repeated bool // refused because it was repeated
	started  bool // the tool ran
	key      cacheKey
	keeps    bool // the result may be kept
	kept     bool // the result was kept
	age      time.Duration
}

// try runs all steps of a call: limits, policy, arguments, approval, execution.
func (c *call) try(ctx context.Context) (a attempt, res tool.Result, err error) {
	ctx, idle, release, err := c.admit(ctx)
	a.waited = time.Since(c.start)
	if err != nil {
		return a, res, err
	}
	defer release()
	defer func() {
		if r := recover(); r != nil {
			res, err = tool.Result{}, c.server.panicked(a.tool.Spec.Name, r)
		}
	}()
	if ctx.Err() != nil { // cancelled while it waited
		return a, res, context.Cause(ctx)
	}
	a.tool, a.verdict, a.found = c.find()
	if !a.found {
		return a, res, c.noSuchTool()
	}
	bound, err := a.tool.Bind(c.Args, c.now.Limits.Args)
	if err != nil {
		return a, res, c.explain(a.tool, err)
	}
	a.sent = sum(a.tool.Spec.Name, bound.JSON())
	sealed, err := c.openState(a)
	if err != nil {
		return a, res, err
	}
	if of, form, edited := c.edited(ctx, a, sealed); edited {
		a.edited, c.Args = of, form.args
		sealed.Basis, sealed.Risk = form.basis, uint8(form.risk)
		if bound, err = a.tool.Bind(c.Args, c.now.Limits.Args); err != nil {
			return a, res, c.explain(a.tool, err)
		}
	}
	a.args = sum(a.tool.Spec.Name, bound.JSON())
	if c.Nested && a.tool.Spec.Composes {
		return a, res, tool.Errorf(tool.Refused, "a call of %s cannot make another one", a.tool.Spec.Name).
			Try("do it in this one")
	}
	running := c.running(a.tool, sealed, idle)
	ctx = tool.With(ctx, running)
	defer func() { res, err = c.atEnd(ctx, running.Ends, res, err) }()
	plan, err := c.decide(ctx, &a, bound, sealed)
	if err != nil {
		return a, res, err
	}
	if c.now.Hooks != nil {
		if bound, plan, err = c.consult(ctx, &a, bound, plan, sealed); err != nil {
			return a, res, err
		}
	}
	if a.verdict == policy.Ask {
		if a.approval, err = c.approve(ctx, proposal{a.tool, bound.JSON(), a.args, plan, a.edited, c.key(a)}, sealed); err != nil {
			return a, res, err
		}
	}
	if err := c.checkRepeats(a); err != nil {
		a.repeated = true
		return a, res, err
	}
	if a.risk != tool.Reads {
		if err := c.recordIntent(ctx, a); err != nil {
			return a, res, err
		}
		c.now.cache.drop(c.Caller.Principal())
		defer func() { c.server.settings().cache.drop(c.Caller.Principal()) }()
	}
	if a.key, a.keeps = c.now.cache.key(c, a); a.keeps {
		if res, a.age, a.kept = c.now.cache.get(a.key, a.tool.Spec.Name, c.start); a.kept {
			a.keeps = false
			return a, res, nil
		}
	}
	a.started = true
	res, err = c.run(ctx, a.tool, plan)
	if c.now.Hooks != nil && err == nil && !res.Failed {
		res = c.afterwards(ctx, &a, bound, res)
	}
	return a, res, err
}

// decide prepares a call, and lets the policy decide about it. The error refuses the call.
func (c *call) decide(ctx context.Context, a *attempt, bound tool.Call, sealed callState) (tool.Plan, error) {
	plan, refused := c.prepare(ctx, a.tool, bound)
	a.risk, a.verdict, a.ask = plan.Risk, c.now.verdictOn(c.Access, a.tool.Spec.Name, plan.Risk), plan.Ask
	if (a.ask != "" || a.edited.Question != "") && a.verdict == policy.Allow { // a question about it has its answer
		a.verdict = policy.Ask
	}
	if a.verdict == policy.Deny { // only callers that may make the call see the error of Prepare
		return plan, tool.Errorf(tool.Refused, "the policy does not allow this call of %s, which %s", a.tool.Spec.Name, a.risk).
			Try("do it another way, or ask the operator to allow it")
	}
	if refused != nil {
		c.withdraw(ctx, sealed)
	}
	return plan, refused
}

// admit refuses the call if an operator has stopped such calls, takes a token from the
// session's bucket, and waits for a slot to run in. The context that it returns ends when
// an operator stops the call. idle gives the slot back for a call that only waits from then on.
func (c *call) admit(ctx context.Context) (_ context.Context, idle, release func(), err error) {
	ctx, leave, err := c.enter(ctx)
	if err != nil {
		return nil, nil, nil, err
	}
	if wait, limit := c.takeRate(ctx); wait > 0 {
		leave()
		c.server.Observer.Limited("rate")
		return nil, nil, nil, tool.Errorf(tool.Busy, "%s", limit).
			Try("wait %s, then call again", max(wait.Round(time.Millisecond), time.Millisecond))
	}
	if c.Nested { // it has the slot of its script
		return ctx, func() {}, leave, nil
	}
	slot, err := c.server.queue.Acquire(ctx, c.queueKey())
	if err != nil {
		leave()
		if ctx.Err() == nil {
			c.server.Observer.Limited("queue")
		}
		return nil, nil, nil, err
	}
	return ctx, slot.Idle, func() { slot.Release(); leave() }, nil
}

// enter lets the call in, with a context that ends when an operator stops the call. leave
// must be called after it.
func (c *call) enter(ctx context.Context) (_ context.Context, leave func(), err error) {
	if c.server.Enter == nil {
		return ctx, func() {}, nil
	}
	if c.end != nil { // one context less for most calls
		leave, err = c.server.Enter(ctx, &c.Access, c.end)
		return ctx, leave, err
	}
	ctx, end := context.WithCancelCause(ctx)
	left, err := c.server.Enter(ctx, &c.Access, end)
	if err != nil {
		end(nil)
		return nil, nil, err
	}
	return ctx, func() { left(); end(nil) }, nil
}

// takeRate takes the call from the rates of the caller, or returns the time to wait and the
// limit. A nested call waits by itself for a while.
func (c *call) takeRate(ctx context.Context) (wait time.Duration, limit string) {
	if !c.Nested {
		return c.server.takeAll(ctx, c.Access, c.now.Limits, c.start)
	}
	a := c.Access
	a.Caller.Session = "scripts of " + a.Caller.Session // a script leaves the calls of its session to the model
	wait, limit = c.server.takeAll(ctx, a, c.now.Limits, c.start)
	for waited := time.Duration(0); wait > 0 && waited+wait <= maxRateWait; waited += wait {
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return 0, "" // the call ends soon
		}
		wait, limit = c.server.takeAll(ctx, a, c.now.Limits, time.Now())
	}
	return wait, limit
}

// maxRateWait is how long a nested call waits for its turn.
const maxRateWait = 10 * time.Second

// script returns the call that makes this one while it runs, or "".
func (c *call) script() string {
	if c.Nested {
		return c.Parent
	}
	return ""
}

// find looks the tool up. It does not find a tool that the policy hides.
func (c *call) find() (t tool.Tool, verdict policy.Verdict, found bool) {
	t, ok := c.now.tools.Lookup(c.Tool)
	if !ok || t.Spec.Internal && c.Within == nil {
		return tool.Tool{}, policy.Deny, false
	}
	if verdict = c.now.verdict(c.Access, t.Spec.Name); verdict == policy.Deny {
		return tool.Tool{}, policy.Deny, false
	}
	return t, verdict, true
}

func (c *call) noSuchTool() error {
	var names, known []string
	named := make(map[string]string) // by each name that is accepted
	for _, t := range c.server.Tools(c.Access) {
		names = append(names, t.Spec.Name)
		for _, accepted := range append([]string{t.Spec.Name}, t.Spec.Also...) {
			known, named[accepted] = append(known, accepted), t.Spec.Name
		}
	}
	name := c.toolName()
	err := tool.Errorf(tool.NotFound, "there is no tool %q here", name)
	if _, here := c.now.tools.Lookup(c.Tool); !here && c.server.Needs != nil {
		if needs := c.server.Needs(c.Tool); needs != "" {
			err = tool.Errorf(tool.NotFound, "the tool %q is not set up here", name).
				Try("do it without; the operator can set it up: it needs %s", needs)
			return &protocolError{shown: err, code: mcp.INVALID_PARAMS}
		}
	}
	if instead := c.instead(names); instead != "" {
		return &protocolError{shown: err.Try("%s", instead), code: mcp.INVALID_PARAMS}
	}
	if nearest := tool.Nearest(name, known); nearest != "" {
		err = err.Try("did you mean %q?", named[nearest])
	} else if c.Nested {
		err = err.Try("in a script Object.keys(tools) has all names")
	} else {
		err = err.Try("call tools/list to see the tools")
	}
	return &protocolError{shown: err, code: mcp.INVALID_PARAMS}
}

// instead returns the tool here that does the work of another system's tool, if the caller may
// use it; else "".
func (c *call) instead(usable []string) string {
	if c.server.Substitute == nil {
		return ""
	}
	return c.server.Substitute(c.Tool, func(name string) bool { return slices.Contains(usable, name) })
}

// toolName returns the name that the client sent, scrubbed and clipped. It is
// scrubbed first, because half of a key matches no pattern.
func (c *call) toolName() string { return text.Clip(c.server.scrub.Text(c.Tool), 80) }

// running returns the facts about the call that the tool can read.
func (c *call) running(t tool.Tool, sealed callState, idle func()) *tool.Running {
	running := &tool.Running{Caller: c.Caller, Tool: t.Spec.Name, Call: c.id, Script: c.script(), Report: c.Report,
		Status: c.status, Idle: idle,
		Tasks: c.Tasks, Apps: c.Apps, Can: c.Can, Grant: c.grant, Ends: new(tool.Ends),
		Usable: func() []tool.Tool { return c.server.Tools(c.Access) }}
	if c.Input != nil && !sealed.Approval { // a tool gets the answers to its own questions only
		running.Answers = tool.Answers{ByName: c.Input.Answers, State: sealed.State}
	}
	return running
}

// An unfinished is the error of a call whose tool has returned a result, and whose end has failed.
type unfinished struct {
	error
	res tool.Result // of the tool
}

func (u *unfinished) Unwrap() error { return u.error }

// failure returns the result of a call that has failed. If only its end has, the result of the tool follows the error:
// the tool has run, and what it returned is not to be had by another call.
func failure(err error) tool.Result {
	res := tool.Failure(err)
	if u := (*unfinished)(nil); errors.As(err, &u) {
		if of := withText(u.res); len(of.Parts) > 0 {
			res = res.Add(tool.Part{Text: "The tool has run, and returned:"}).Add(of.Parts...)
		}
	}
	return res
}

// atEnd calls the functions for the end of the tool, and returns the result of the call: the tool's result with
// notes, or an error if a function failed. The error of the tool comes first.
func (c *call) atEnd(ctx context.Context, ends *tool.Ends, res tool.Result, err error) (tool.Result, error) {
	notes, failed := ends.Do(ctx)
	if failed != nil && err != nil {
		return res, errors.Join(err, failed)
	}
	if known, ok := err.(*tool.Error); ok && len(notes) > 0 { // one that wraps it has another meaning
		noted := *known
		noted.What = strings.Join(append([]string{known.What}, notes...), "; ")
		return res, &noted
	}
	if len(notes) > 0 {
		res = withText(res)
	}
	for _, note := range notes {
		res = res.Add(tool.Part{Text: note})
	}
	if failed != nil {
		return tool.Result{}, &unfinished{failed, res}
	}
	return res, err
}

// run executes the plan. The context of the tool ends with the call, and at the
// latest after the timeout.
func (c *call) run(ctx context.Context, t tool.Tool, plan tool.Plan) (tool.Result, error) {
	limit := cmp.Or(c.now.Limits.ToolTime[t.Spec.Name], t.Spec.Timeout, c.now.Limits.Timeout)
	var res tool.Result
	err := limited(ctx, limit, t.Spec.Name, func(ctx context.Context) (err error) {
		res, err = plan.Run(ctx)
		return err
	})
	if !c.Tasks {
		res.Task = nil
	}
	if errors.Is(err, tool.ErrNeedsTasks) {
		refused := tool.Errorf(tool.Unavailable, "%s needs a client that follows tasks", t.Spec.Name).
			Try("do it another way")
		err = &protocolError{refused, mcp.MISSING_REQUIRED_CLIENT_CAPABILITY, tasksExtension}
	}
	return res, err
}

// limited calls run with a context that ends with ctx, and at the latest after the
// limit. It returns the reason why run was stopped, if it was.
func limited(ctx context.Context, limit time.Duration, what string, run func(context.Context) error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, limit, errOvertime)
	defer cancel()
	err := run(ctx)
	if err == nil || ctx.Err() == nil {
		return err
	}
	if cause := context.Cause(ctx); !errors.Is(cause, errOvertime) {
		return cause
	}
	return tool.Errorf(tool.Timeout, "%s took longer than %s and was stopped", what, limit).
		Try("ask for less, or for part of it")
}

// panicked logs a panic and returns the error for the caller.
func (s *Server) panicked(what string, r any) *tool.Error {
	s.log.Error("a tool panicked", "tool", what, "panic", fmt.Sprint(r), "stack", string(debug.Stack()))
	return tool.Errorf(tool.Internal, "%s failed unexpectedly", what).
		Because(fmt.Errorf("panic: %v", r)).Try("try something else; the operator finds the cause in the log")
}

// errOvertime ends the context of a call that takes too long.
var errOvertime = errors.New("the call took too long")
