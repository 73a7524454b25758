package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/peers"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/internal/vault"
	"github.com/mcp-tools/mcp-tools/server"
	"github.com/mcp-tools/mcp-tools/tools/exec"
)

// The kinds of things that one replica has.
const (
	heldProcess = "process"
	heldBrowser = "browser"
)

// openPeers prepares the view of the other replicas, if there can be any. Nothing is written before this one has something.
func (a *App) openPeers(context.Context) error {
	if !a.replicated() {
		return nil
	}
	address := a.loaded.Config.Server.Internal
	if address != "" {
		var err error
		if address, err = peers.Reachable(address); err != nil {
			return fmt.Errorf("server.internal: %w", err)
		}
	}
	a.peers = peers.New(peers.Options{
		Store: a.store, Address: address, Seal: a.sealPeerKey, Open: a.vault.Open, Serve: a.serveForwarded, Log: a.log,
	})
	a.onClose(a.peers.Close)
	return nil
}

// sealPeerKey encrypts the key of this replica for the others, if the vault has a key.
func (a *App) sealPeerKey(ctx context.Context, bound string, plain []byte) ([]byte, error) {
	sealed, err := a.vault.Seal(ctx, bound, plain)
	if errors.Is(err, vault.ErrNone) {
		err = nil
	}
	return sealed, err
}

// listenForPeers answers other replicas until stop is called.
func (a *App) listenForPeers() (stop func(), err error) {
	address := a.loaded.Config.Server.Internal
	if a.peers == nil || address == "" {
		return func() {}, nil
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("server.internal: %w", err)
	}
	a.log.Info("answering other replicas", "address", l.Addr().String())
	return a.peers.Listen(l), nil
}

// hold and release tell the other replicas about the commands and browsers of this one.
func (a *App) hold(kind string) func(owner, name string) {
	if a.peers == nil {
		return nil
	}
	return func(owner, name string) { a.peers.Hold(kind, owner, name) }
}

func (a *App) release(kind string) func(owner, name string) {
	if a.peers == nil {
		return nil
	}
	return func(owner, name string) { a.peers.ReleaseSoon(kind, owner, name) }
}

// A forwarded is a call that is prepared, and then run, by another replica, or the wish for a workspace.
type forwarded struct {
	Run       bool
	Risk      uint8
	Call      server.RemoteCall
	Task      *server.RemoteTask `json:",omitempty"` // in place of a call
	Workspace string             `json:",omitempty"` // the name of the caller's managed workspace; its directory may be elsewhere
	GiveUp    string             `json:",omitempty"` // the name of a managed workspace
}

// A reply is the answer: a plan, a result or a task, or an error.
type reply struct {
	Plan   *plan        `json:"plan,omitempty"`
	Result *tool.Result `json:"result,omitempty"`
	Task   *tool.Task   `json:"task,omitempty"`
	Failed *tool.Error  `json:"failed,omitempty"` // the reason why the task has no result
	Error  *tool.Error  `json:"error,omitempty"`
}

// A progress is the progress of a call that another replica runs.
type progress struct {
	Done, Total float64
	Message     string
}

// A progressSender sends progress to the replica that was called.
type progressSender func([]byte)

func (s progressSender) Progress(done, total float64, message string) {
	if news, err := json.Marshal(progress{done, total, message}); err == nil { // else a number is infinite
		s(news)
	}
}

// A plan is the part of a tool.Plan that is data.
type plan struct {
	Risk       uint8
	Why, Ask   string
	Kept, Once bool
	HasFacts   bool
	Facts      tool.Facts
}

// serveForwarded answers a request from another replica. That replica has decided about the
// call.
func (a *App) serveForwarded(ctx context.Context, request []byte, news func([]byte)) []byte {
	var f forwarded
	var r reply
	err := json.Unmarshal(request, &f)
	f.Call.Risk = tool.Risk(f.Risk)
	if f.Workspace != "" && a.trees != nil {
		f.Call.Caller.Workspace = a.trees.Dir(f.Workspace)
		f.Call.Grant.Caller.Workspace = f.Call.Caller.Workspace
	}
	switch {
	case err != nil:
	case f.GiveUp != "":
		a.trees.GiveUp(ctx, f.GiveUp)
	case f.Task != nil:
		var t tool.Task
		if t, err = a.Server.TaskRemote(ctx, *f.Task); err == nil {
			if t.Err != nil {
				r.Failed, t.Err = shown(t.Err), nil
			}
			r.Task = &t
		}
	case f.Call.Tool != "process" && f.Call.Tool != "browser" && !a.worksOnFiles(f.Call.Tool):
		err = tool.Errorf(tool.Refused, "calls of %q are not forwarded", f.Call.Tool).
			Try("call the server directly")
	case f.Run:
		var res tool.Result
		var report tool.Reporter
		if f.Call.Progress {
			report = progressSender(news)
		}
		if res, err = a.Server.RunRemote(ctx, f.Call, report); err == nil {
			r.Result = &res
		}
	default:
		var p tool.Plan
		var facts tool.Facts
		if p, facts, err = a.Server.PrepareRemote(ctx, f.Call); p.Run != nil || err == nil {
			r.Plan = &plan{uint8(p.Risk), p.Why, p.Ask, p.Kept, p.Once, p.Facts != nil, facts}
		}
	}
	if err != nil {
		r.Error = shown(err)
		if r.Error.Kind == tool.Internal {
			a.log.Error("a forwarded call failed", "tool", f.Call.Tool, "err", err)
		}
	}
	answer, err := json.Marshal(r)
	if err != nil {
		a.log.Error("the answer to a forwarded call cannot be written", "tool", f.Call.Tool, "err", err)
		answer = []byte(`{"error":{"Kind":"internal","What":"the tool failed"}}`)
	}
	return answer
}

// shown returns the part of an error that callers see.
func shown(err error) *tool.Error {
	known := tool.AsError(err)
	return &tool.Error{Kind: known.Kind, What: known.What, Next: known.Next}
}

// taskElsewhere answers a request about a task that another replica has.
func (a *App) taskElsewhere(ctx context.Context, task server.RemoteTask) (t tool.Task, there bool, err error) {
	if task.Tool != "exec" { // the tasks of others are in the store
		return t, false, nil
	}
	at, found := a.whoHasCommand(ctx, task.Caller, task.ID)
	switch {
	case !found:
		return t, false, nil
	case !at.Alive:
		return t, true, tool.Errorf(tool.Unavailable, "the command was on the server %q, which has ended, and ended with it", at.Name).
			Try("check what it did before you start it again")
	}
	r, err := a.forward(ctx, at, forwarded{Task: &task}, nil)
	if err != nil || r.Task == nil {
		return t, true, err
	}
	if r.Failed != nil {
		r.Task.Err = r.Failed
	}
	return *r.Task, true, nil
}

// whoHasCommand returns the other replica that has a command of the caller, if this one does not.
func (a *App) whoHasCommand(ctx context.Context, c tool.Caller, id string) (at peers.Peer, found bool) {
	if _, err := a.commands.Process(ctx, id); err == nil {
		return at, false
	}
	at, found, err := a.peers.Where(ctx, heldProcess, c.Principal(), id)
	if err != nil {
		a.log.Warn("it is not known which server has a command", "err", err)
	}
	return at, found && err == nil
}

// listTimeout is how long another replica may take to list commands.
const listTimeout = 15 * time.Second

// othersCommands returns the commands of the caller that other replicas have.
func (a *App) othersCommands(ctx context.Context) []exec.Elsewhere {
	call := tool.RunningFrom(ctx)
	all, err := a.peers.All(ctx, heldProcess, call.Caller.Principal())
	if err != nil {
		a.log.Warn("it is not known which servers have commands", "err", err)
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	lists := make([]exec.Elsewhere, len(all))
	var asking sync.WaitGroup
	for i, h := range all {
		lists[i] = exec.Elsewhere{Server: h.Name, IDs: h.Names, Why: "has ended"}
		if !h.Alive {
			continue
		}
		asking.Go(func() {
			r, err := a.forward(ctx, h.Peer, forwarded{Run: true, Call: server.RemoteCall{
				Caller: call.Caller, Tool: "process", Call: call.Call, Risk: tool.Reads, Args: json.RawMessage(`{"action":"list"}`),
			}}, nil)
			if lists[i].Why = "does not answer"; h.Address == "" {
				lists[i].Why = "cannot be reached by this one"
			}
			if errors.Is(err, peers.ErrKey) {
				lists[i].Why = "cannot be asked: one of the two servers does not have the key of the vault"
			}
			if err == nil && r.Result != nil {
				lists[i].IDs, lists[i].Why, lists[i].Listed = nil, "", r.Result.Data
			}
		})
	}
	asking.Wait()
	return lists
}

// elsewhere returns the plan of a call about something that another replica has.
func (a *App) elsewhere(ctx context.Context, call server.RemoteCall) (_ tool.Plan, there bool, err error) {
	at, what, found := a.whereIs(ctx, call)
	if !found {
		return a.whereFilesAre(ctx, call)
	}
	switch {
	case !at.Alive && call.Tool == "browser":
		return tool.Plan{}, false, nil // a new one begins here
	case !at.Alive:
		return tool.Plan{}, true, tool.Errorf(tool.NotFound, "%s was on the server %q, which has ended, and ended with it", what,
			at.Name).Try("check what it did before you start it again")
	case at.Address == "":
		return tool.Plan{}, true, tool.Errorf(tool.Unavailable, "%s is on the server %q, which this one cannot reach", what,
			at.Name).Try("try again, which may reach the other server; the operator can set server.internal")
	}
	p, err := a.planAt(ctx, at, call)
	return p, true, err
}

// planAt returns the plan of a call that another replica prepares and runs.
func (a *App) planAt(ctx context.Context, at peers.Peer, call server.RemoteCall) (p tool.Plan, err error) {
	r, err := a.forward(ctx, at, forwarded{Call: call}, nil)
	if err != nil {
		return p, err
	}
	if r.Plan == nil {
		return p, errors.New("the other server sent no plan")
	}
	p = tool.Plan{Risk: tool.Risk(r.Plan.Risk), Why: r.Plan.Why, Ask: r.Plan.Ask, Kept: r.Plan.Kept, Once: r.Plan.Once}
	call.Risk = p.Risk
	if r.Plan.HasFacts {
		call.Basis = r.Plan.Facts.Basis()
		p.Facts = func(ctx context.Context) (tool.Facts, error) {
			now, err := a.forward(ctx, at, forwarded{Call: call}, nil)
			if err != nil || now.Plan == nil {
				return nil, err
			}
			return now.Plan.Facts, nil
		}
	}
	p.Run = func(ctx context.Context) (tool.Result, error) {
		tool.Idle(ctx) // the other server works
		done, err := a.forward(ctx, at, forwarded{Run: true, Call: call}, tool.ReporterFrom(ctx))
		if err != nil {
			return tool.Result{}, err
		}
		if done.Result == nil {
			return tool.Result{}, errors.New("the other server sent no result")
		}
		return *done.Result, nil
	}
	return p, nil
}

// ifReplicated returns a function that asks other replicas, or nil if there can be none.
func ifReplicated[F any](a *App, f F) (none F) {
	if a.peers == nil {
		return none
	}
	return f
}

// whereIs returns the replica that has the command or the browser of a call, if that is another replica.
func (a *App) whereIs(ctx context.Context, call server.RemoteCall) (at peers.Peer, what string, found bool) {
	owner, kind := call.Caller.Principal(), heldProcess
	var names []string
	switch call.Tool {
	case "process":
		var args struct{ ID string }
		if json.Unmarshal(call.Args, &args) != nil || args.ID == "" {
			return at, "", false
		}
		at, found = a.whoHasCommand(ctx, call.Caller, args.ID)
		return at, fmt.Sprintf("the command %.40q", args.ID), found
	case "browser":
		if a.browsers == nil || a.browsers.Has(call.Caller) {
			return at, "", false
		}
		kind, names, what = heldBrowser, []string{call.Caller.Session, call.Caller.Session + " own"}, "the page"
	}
	for _, name := range names {
		var err error
		if at, found, err = a.peers.Where(ctx, kind, owner, name); err != nil {
			a.log.Warn("it is not known which server has something", "kind", kind, "err", err)
		}
		if found {
			return at, what, true
		}
	}
	return at, "", false
}

// forward asks another replica, and returns its answer or the error for the model. Progress goes to report, which may be nil.
func (a *App) forward(ctx context.Context, at peers.Peer, f forwarded, report tool.Reporter) (r reply, err error) {
	f.Risk, f.Call.Risk = uint8(f.Call.Risk), 0 // as a number
	if name, managed := a.trees.Name(f.Call.Caller.Workspace); managed {
		f.Workspace = name
	}
	news := func(data []byte) {
		var p progress
		if report != nil && json.Unmarshal(data, &p) == nil {
			report.Progress(p.Done, p.Total, p.Message)
		}
	}
	request, err := json.Marshal(f)
	if err != nil {
		return r, err
	}
	if !f.Run && f.Task == nil {
		at.Patience = peers.Brief
	}
	answer, err := a.peers.Ask(ctx, at, request, news)
	switch {
	case ctx.Err() != nil:
		return r, context.Cause(ctx)
	case errors.Is(err, peers.ErrGone) && f.Run:
		return r, tool.Errorf(tool.Unavailable, "the server %q, which has it, does not answer; it may have done what was asked",
			at.Name).Because(err).Try("look at the state before you try again")
	case errors.Is(err, peers.ErrKey):
		return r, tool.Errorf(tool.Unavailable, "it is on the server %q, which this one cannot ask: one of the two servers does "+
			"not have the key of the vault", at.Name).Because(err).
			Try("try again, which may reach the other server; tell the operator")
	case err != nil:
		return r, tool.Errorf(tool.Unavailable, "the server %q, which has it, does not answer", at.Name).Because(err).
			Try("try again; if it has ended, what it had has ended with it")
	}
	if err := json.Unmarshal(answer, &r); err != nil {
		return r, err
	}
	if r.Error != nil {
		return r, r.Error
	}
	return r, nil
}
