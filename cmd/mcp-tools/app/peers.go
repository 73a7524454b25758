package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"

	"github.com/mcp-tools/mcp-tools/internal/peers"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/server"
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
		Store: a.store, Address: address, Seal: a.vault.Seal, Open: a.vault.Open, Serve: a.serveForwarded, Log: a.log,
	})
	a.onClose(a.peers.Close)
	return nil
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
	Workspace string `json:",omitempty"` // the name of the caller's managed workspace; its directory may be elsewhere
	GiveUp    string `json:",omitempty"` // the name of a managed workspace
}

// A reply is the answer: a plan or a result, or an error.
type reply struct {
	Plan   *plan        `json:"plan,omitempty"`
	Result *tool.Result `json:"result,omitempty"`
	Error  *tool.Error  `json:"error,omitempty"`
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
func (a *App) serveForwarded(ctx context.Context, request []byte) []byte {
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
	case f.Call.Tool != "process" && f.Call.Tool != "browser" && !a.worksOnFiles(f.Call.Tool):
		err = tool.Errorf(tool.Refused, "calls of %q are not forwarded", f.Call.Tool).
			Try("call the server directly")
	case f.Run:
		var res tool.Result
		if res, err = a.Server.RunRemote(ctx, f.Call); err == nil {
			res.View, res.Task = nil, nil // their types are not known on the other side
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
		known := tool.AsError(err)
		r.Error = &tool.Error{Kind: known.Kind, What: known.What, Next: known.Next}
		if known.Kind == tool.Internal {
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
	r, err := a.forward(ctx, at, forwarded{Call: call})
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
			now, err := a.forward(ctx, at, forwarded{Call: call})
			if err != nil || now.Plan == nil {
				return nil, err
			}
			return now.Plan.Facts, nil
		}
	}
	p.Run = func(ctx context.Context) (tool.Result, error) {
		tool.Idle(ctx) // the other server works
		done, err := a.forward(ctx, at, forwarded{Run: true, Call: call})
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

// elsewhereIf returns elsewhere, or nil if there can be no other replicas.
func (a *App) elsewhereIf() func(context.Context, server.RemoteCall) (tool.Plan, bool, error) {
	if a.peers == nil {
		return nil
	}
	return a.elsewhere
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
		if _, err := a.commands.Process(ctx, args.ID); err == nil {
			return at, "", false
		}
		names, what = []string{args.ID}, fmt.Sprintf("the command %.40q", args.ID)
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

// forward asks another replica, and returns its answer or the error for the model.
func (a *App) forward(ctx context.Context, at peers.Peer, f forwarded) (r reply, err error) {
	f.Risk, f.Call.Risk = uint8(f.Call.Risk), 0 // as a number
	if name, managed := a.trees.Name(f.Call.Caller.Workspace); managed {
		f.Workspace = name
	}
	request, err := json.Marshal(f)
	if err != nil {
		return r, err
	}
	answer, err := a.peers.Ask(ctx, at, request)
	switch {
	case ctx.Err() != nil:
		return r, context.Cause(ctx)
	case errors.Is(err, peers.ErrGone) && f.Run:
		return r, tool.Errorf(tool.Unavailable, "the server %q, which has it, does not answer; it may have done what was asked",
			at.Name).Because(err).Try("look at the state before you try again")
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
