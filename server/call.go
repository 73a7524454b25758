package server

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/policy"
)

// A Request is one call of a tool, whichever way it came in.
type Request struct {
	Access
	Tool   string
	Args   []byte                 // JSON
	Report tool.Reporter          // nil: nobody waits for progress
	Can    func(tool.Medium) bool // whom the client can ask; nil: nobody
	Reply  *Reply                 // the answers, when the call is made again
	Parent string                 // the call that made this one
	Trace  map[string]string      // traceparent and its companions
}

// An Answer is what a call comes to: a result, or a question that must be
// answered before the same request is sent again.
type Answer struct {
	Result  tool.Result
	Ask     *Ask
	Code    int         // of JSON-RPC, when the mistake is the client's program's
	Missing tool.Medium // what the client would have to be capable of
}

// Call runs one tool for one caller. It is the only way to a tool: whatever
// the transport, every call is limited, decided, checked, approved, scrubbed,
// bounded and written down here, and refusals leave by the same door.
func (s *Server) Call(ctx context.Context, req Request) Answer {
	p := &passage{Request: req, server: s, now: s.settings(), id: rand.Text(), start: time.Now()}
	ctx, p.seen = s.Watcher.Start(ctx, p.begin())
	res, err := p.try(ctx)
	if need := (*tool.Asking)(nil); errors.As(err, &need) {
		var ask *Ask
		if ask, err = p.ask(need); err == nil {
			return p.record(ctx, Answer{Ask: ask}, nil)
		}
	}
	if err != nil {
		res = tool.Failure(err)
	}
	res = p.scrub(res)
	res = p.cut(res) // after scrubbing: half a key matches no pattern
	res = p.advise(res)
	return p.record(ctx, Answer{Result: res, Code: p.code, Missing: p.missing}, err)
}

// A passage is one call on its way through the house.
type passage struct {
	Request
	server *Server
	now    *settings
	id     string
	start  time.Time
	seen   func(End)
	kind   string // of what it consults the library about; "" for a call

	tool      tool.Tool
	known     bool // the tool was found and may be seen
	call      tool.Call
	plan      tool.Plan
	risk      tool.Risk
	ran       bool   // the tool was started
	why       string // the tool's reason for its rating
	looping   bool   // refused as a loop
	verdict   policy.Verdict
	asking    bool   // for approval, now
	question  string // its id on the desk
	basis     string // what a person's word rests on
	approved  bool
	approval  string // how
	ticket    ticket // that the call came with
	code      int
	missing   tool.Medium
	waited    time.Duration
	redacted  map[string]int // secrets taken out, by kind
	callSum   digest
	resultSum digest
}

// try takes the call from the door to the tool.
func (p *passage) try(ctx context.Context) (res tool.Result, err error) {
	leave, err := p.enter(ctx)
	if err != nil {
		return res, err
	}
	defer leave()
	defer p.rescue(&res, &err)
	if ctx.Err() != nil { // given up while it waited
		return res, context.Cause(ctx)
	}
	if err := p.find(); err != nil {
		return res, err
	}
	p.call, err = p.tool.Bind(p.Args, p.now.Limits.Args)
	if err != nil {
		return res, err
	}
	p.callSum = sum(p.tool.Spec.Name, p.call.JSON())
	if err := p.resume(); err != nil {
		return res, err
	}
	if err := p.decide(ctx); err != nil {
		return res, err
	}
	if err := p.server.loops.check(p); err != nil {
		return res, err
	}
	if p.risk != tool.Reads {
		if err := p.recordIntent(ctx); err != nil {
			return res, err
		}
	}
	p.ran = true
	return p.run(ctx)
}

// enter takes a token from the session's bucket and a slot to run in.
func (p *passage) enter(ctx context.Context) (leave func(), err error) {
	if wait := p.server.takeAll(ctx, p.Access, p.now.Limits, p.start); wait > 0 {
		p.server.Watcher.Limited("rate")
		return nil, tool.Errorf(tool.Busy, "more than %d calls a minute", p.now.Limits.PerMinute).
			Try("wait %s, then call again", max(wait.Round(time.Millisecond), time.Millisecond))
	}
	leave, err = p.server.gate.enter(ctx, p.lane())
	p.waited = time.Since(p.start)
	return leave, err
}

// find looks the tool up. A name that does not exist and a name that the
// policy hides are answered alike.
func (p *passage) find() error {
	tool, ok := p.server.Config.Tools.Lookup(p.Tool)
	if ok {
		p.verdict = p.now.Policy.Verdict(p.subject(), tool.Spec.Name)
	}
	if !ok || p.verdict == policy.Deny {
		p.code = mcp.INVALID_PARAMS
		return p.noSuchTool()
	}
	p.tool, p.known = tool, true
	return nil
}

func (p *passage) noSuchTool() error {
	var names []string
	for _, t := range p.server.Tools(p.Access) {
		names = append(names, t.Spec.Name)
	}
	name := p.toolName()
	err := tool.Errorf(tool.NotFound, "there is no tool %q here", name)
	if nearest := tool.Nearest(name, names); nearest != "" {
		return err.Try("did you mean %q?", nearest)
	}
	return err.Try("call tools/list to see what there is")
}

// toolName is what the client called the tool, fit to be repeated: scrubbed
// before it is cut, because half a key matches no pattern.
func (p *passage) toolName() string { return clip(p.server.scrub.Text(p.Tool), 80) }

// decide combines the policy's word with how risky this very call is, and
// gets an approval where the two want one.
func (p *passage) decide(ctx context.Context) error {
	ctx = tool.With(ctx, &tool.Running{Caller: p.Caller, Tool: p.tool.Spec.Name, Call: p.id})
	plan, refused := p.call.Prepare(ctx)
	p.plan, p.risk, p.why = plan, plan.Risk, plan.Why
	if p.risk != p.tool.Spec.Risk {
		p.verdict = p.now.Policy.For(p.subject(), p.tool.Spec.Name, p.risk)
	}
	switch {
	case p.verdict == policy.Deny: // whatever else is wrong with it
	case refused != nil:
		p.withdraw()
		return refused
	case p.verdict == policy.Allow:
		return nil
	case p.verdict == policy.Ask:
		return p.approve(ctx)
	}
	return tool.Errorf(tool.Refused, "the policy does not allow this call of %s, which %s", p.tool.Spec.Name, p.risk).
		Try("do it another way, or ask the operator to allow it")
}

// run lets the tool work. Whatever ends the call ends the tool's context.
func (p *passage) run(ctx context.Context) (res tool.Result, err error) {
	limit := p.tool.Spec.Timeout
	if limit == 0 {
		limit = p.now.Limits.Timeout
	}
	running := &tool.Running{Caller: p.Caller, Tool: p.tool.Spec.Name, Call: p.id, Report: p.Report}
	if p.Reply != nil && !p.ticket.Approval { // the tool hears what it asked, and nothing else
		running.Answers = tool.Answers{ByName: p.Reply.Answers, State: p.ticket.State}
	}
	ctx = context.WithValue(tool.With(ctx, running), statusKey{}, sessionOf{p.server, &p.Access})
	ctx, cancel := context.WithTimeoutCause(ctx, limit, errOvertime)
	defer cancel()
	res, err = p.plan.Run(ctx)
	if err == nil || ctx.Err() == nil {
		return res, err
	}
	if cause := context.Cause(ctx); !errors.Is(cause, errOvertime) {
		return res, cause
	}
	return res, tool.Errorf(tool.Timeout, "%s took longer than %s and was stopped", p.tool.Spec.Name, limit).
		Try("ask for less, or for part of it")
}

// rescue makes an error of a panic of the tool, be it while it checks its
// arguments, rates the call or works.
func (p *passage) rescue(res *tool.Result, err *error) {
	r := recover()
	if r == nil {
		return
	}
	*res, *err = tool.Result{}, p.server.panicked(p.tool.Spec.Name, r)
}

// panicked is the error of whatever broke in the middle of its work.
func (s *Server) panicked(who string, r any) *tool.Error {
	s.log.Error("a tool panicked", "tool", who, "panic", fmt.Sprint(r), "stack", string(debug.Stack()))
	return tool.Errorf(tool.Internal, "%s failed unexpectedly", who).
		Because(fmt.Errorf("panic: %v", r)).Try("try something else; the operator finds the cause in the log")
}

// errOvertime ends the context of a call that takes too long.
var errOvertime = errors.New("the call took too long")

func clip(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return text[:runeStart(text, most)] + "..."
}
