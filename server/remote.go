package server

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// A RemoteCall is a call that another replica does not have the means for, such as one about a command that runs here. The
// other replica has let it in, decided about it, and will scrub, cut and record its result; here it is only prepared and
// run. It is for replicas only: nothing here asks the policy.
type RemoteCall struct {
	Caller tool.Caller
	Tool   string
	Call   string     // its id in the audit log
	Script string     // the call that makes it while it runs; "" for none
	Grant  tool.Grant // the rights of the call, for work that outlasts it
	Args   json.RawMessage
	Risk   tool.Risk `json:"-"` // that was decided about; used by RunRemote
	Basis  string    // digest of the facts that were approved; "" for none
	// The client asked for progress, follows tasks, shows MCP Apps.
	Progress, Tasks, Apps bool
}

// A RemoteTask is a request about a task that another replica has let in.
type RemoteTask struct {
	Caller  tool.Caller
	Tool    string
	Method  string
	ID      string // for the tool
	Call    string // its id in the audit log
	Grant   tool.Grant
	Answers map[string]json.RawMessage `json:",omitempty"`
}

// remote binds and prepares a call of another replica. The context that it returns is the one to run it in. report may be
// nil.
func (s *Server) remote(ctx context.Context, r RemoteCall, report tool.Reporter, ends *tool.Ends) (context.Context, tool.Tool, tool.Plan, error) {
	now := s.settings()
	t, ok := now.tools.Lookup(r.Tool)
	if !ok {
		return ctx, t, tool.Plan{}, tool.Errorf(tool.NotFound, "the server that has it has no tool %q", r.Tool)
	}
	bound, err := t.Bind(r.Args, now.Limits.Args)
	if err != nil {
		return ctx, t, tool.Plan{}, err
	}
	ctx = tool.With(ctx, &tool.Running{
		Caller: r.Caller, Tool: t.Spec.Name, Call: r.Call, Script: r.Script, Ends: ends, Report: report,
		Tasks: r.Tasks, Apps: r.Apps, Remote: true,
		Grant: func() tool.Grant { return r.Grant },
	})
	plan, err := bound.Prepare(ctx)
	return ctx, t, plan, err
}

// PrepareRemote returns the plan of a call of another replica, and the facts that an approval depends on.
func (s *Server) PrepareRemote(ctx context.Context, r RemoteCall) (plan tool.Plan, facts tool.Facts, err error) {
	ends := new(tool.Ends)
	ctx, _, plan, err = s.remote(ctx, r, nil, ends)
	if err == nil && plan.Facts != nil {
		facts, err = plan.Facts(ctx)
	}
	if _, failed := ends.Do(ctx); err == nil {
		err = failed
	}
	return plan, facts, err
}

// A scrubbedReporter passes on progress without the secrets that this replica knows.
type scrubbedReporter struct {
	call *call
	to   tool.Reporter
}

func (r scrubbedReporter) Progress(done, total float64, message string) {
	r.to.Progress(done, total, r.call.server.scrubFor(r.call.Caller).Text(message))
}

// RunRemote runs a call of another replica, unless its effect would exceed the decision. Its progress goes to report.
// report may be nil.
func (s *Server) RunRemote(ctx context.Context, r RemoteCall, report tool.Reporter) (res tool.Result, err error) {
	defer func() {
		if p := recover(); p != nil {
			res, err = tool.Result{}, s.panicked(r.Tool, p)
		}
	}()
	c, ends := s.newCall(Request{Access: Access{Caller: r.Caller}, Tool: r.Tool, Tasks: r.Tasks}, ""), new(tool.Ends)
	if report != nil {
		report = scrubbedReporter{c, report}
	}
	defer func() {
		res, err = c.atEnd(ctx, ends, res, err)
		if u := (*unfinished)(nil); errors.As(err, &u) {
			res, err = failure(err), nil // an error has no result
		}
	}()
	ctx, t, plan, err := s.remote(ctx, r, report, ends)
	if err != nil {
		return tool.Result{}, err
	}
	changed := plan.Risk > r.Risk
	if r.Basis != "" && plan.Facts != nil {
		facts, err := plan.Facts(ctx)
		if err != nil {
			return tool.Result{}, err
		}
		changed = changed || facts.Basis() != r.Basis
	}
	if changed {
		return tool.Result{}, tool.Errorf(tool.Conflict, "the effects of the call have changed meanwhile").Try("make it again")
	}
	if res, err = c.run(ctx, t, plan); err != nil {
		return tool.Result{}, err
	}
	if !r.Apps {
		res.View = nil
	}
	res, _ = c.scrubResult(res) // this replica knows secrets that the other does not
	if res.Task != nil {
		t, _ := c.scrubTask(*res.Task)
		res.Task = &t
	}
	return res, nil
}

// TaskRemote answers a request about a task, for another replica.
func (s *Server) TaskRemote(ctx context.Context, r RemoteTask) (t tool.Task, err error) {
	defer func() {
		if p := recover(); p != nil {
			t, err = tool.Task{}, s.panicked(r.Tool, p)
		}
	}()
	by, ok := s.settings().tools.Lookup(r.Tool)
	if !ok || by.Tasks == nil {
		return t, tool.Errorf(tool.NotFound, "there is no task %q", r.ID)
	}
	ctx = tool.With(ctx, &tool.Running{
		Caller: r.Caller, Tool: by.Spec.Name, Call: r.Call, Tasks: true, Remote: true,
		Grant: func() tool.Grant { return r.Grant },
	})
	if t, err = aboutTaskOf(ctx, by, r.Method, r.ID, r.Answers); err == nil {
		c := s.newCall(Request{Access: Access{Caller: r.Caller}, Tool: r.Tool}, "task")
		t, _ = c.scrubTask(t)
	}
	return t, err
}

// aboutTaskOf asks the tool that keeps a task.
func aboutTaskOf(ctx context.Context, by tool.Tool, method, id string, answers map[string]json.RawMessage) (
	t tool.Task, err error) {
	switch method {
	case methodTasksUpdate:
		return t, by.Tasks.AnswerTask(ctx, id, answers)
	case methodTasksCancel:
		return t, by.Tasks.CancelTask(ctx, id)
	}
	return by.Tasks.Task(ctx, id)
}

// task answers a request about a task, here or on the replica that has it.
func (c *call) task(ctx context.Context, by tool.Tool, q taskRequest, id string) (tool.Task, error) {
	if elsewhere := c.server.TaskElsewhere; elsewhere != nil {
		if t, there, err := elsewhere(ctx, RemoteTask{
			Caller: c.Caller, Tool: by.Spec.Name, Method: q.method, ID: id, Call: c.id, Grant: c.grant(), Answers: q.answers,
		}); there {
			return t, err
		}
	}
	return aboutTaskOf(ctx, by, q.method, id, q.answers)
}

// prepare returns the plan of a call, here or on the replica that has the command or browser of
// the call.
func (c *call) prepare(ctx context.Context, t tool.Tool, bound tool.Call) (tool.Plan, error) {
	if elsewhere := c.server.Elsewhere; elsewhere != nil {
		if plan, there, err := elsewhere(ctx, RemoteCall{
			Caller: c.Caller, Tool: t.Spec.Name, Call: c.id, Script: c.script(), Grant: c.grant(), Args: bound.JSON(),
			Progress: c.Report != nil, Tasks: c.Tasks, Apps: c.Apps,
		}); there {
			if err != nil && plan.Risk == 0 {
				plan.Risk = t.Spec.Risk // it is decided about all the same
			}
			return plan, err
		}
	}
	return bound.Prepare(ctx)
}
