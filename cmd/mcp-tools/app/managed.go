package app

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/jobs"
	"github.com/mcp-tools/mcp-tools/internal/peers"
	"github.com/mcp-tools/mcp-tools/internal/room"
	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/internal/workspace"
	"github.com/mcp-tools/mcp-tools/internal/workspace/history"
	"github.com/mcp-tools/mcp-tools/internal/workspace/managed"
	"github.com/mcp-tools/mcp-tools/server"
)

// heldWorkspace is the kind of a managed workspace among the things that one replica has.
const heldWorkspace = "workspace"

// openManaged prepares managed workspaces, if the settings have some. Nothing is read or written before the first use.
func (a *App) openManaged() error {
	c := a.loaded.Config.Workspace
	if c.Managed == "" {
		return nil
	}
	if a.peers == nil {
		return Usagef("workspace.managed needs PostgreSQL: set store.dsn, or leave it out; on one machine all processes share the directory")
	}
	if a.loaded.Config.Server.Internal == "" {
		a.log.Warn("other servers cannot reach this one, so they wait for workspaces that it works on; set server.internal")
	}
	if err := os.MkdirAll(c.Managed, 0o700); err != nil {
		return Usagef("workspace.managed: %v", err)
	}
	a.trees = managed.New(managed.Options{
		Store: a.store, Blobs: a.blobs, Base: filepath.Clean(c.Managed), Dir: filepath.Join(a.data, "workspaces"),
		ID: a.peers.ID(), Name: a.peers.Name(),
		Limits: managed.Limits{User: int64(c.UserBytes), Team: int64(c.TeamBytes)},
		Busy:   a.commandsIn,
		Held:   func(name string) { a.peers.Hold(heldWorkspace, "", name) },
		Released: func(name string) {
			a.peers.ReleaseSoon(heldWorkspace, "", name)
		},
		Ask: func(ctx context.Context, holder, name string) {
			at, found, err := a.peers.Find(ctx, holder)
			if err == nil && found && at.Alive && at.Address != "" {
				_, err = a.forward(ctx, at, forwarded{GiveUp: name}, nil)
			}
			if err != nil {
				a.log.Debug("another server was not asked for a workspace", "server", at.Name, "err", err)
			}
		},
		Log: a.log,
	})
	a.onClose(a.trees.Close)
	a.env.undoManaged = a.undoManaged
	a.undoing = undoQueue(a.store)
	a.undoing.Loop, a.undoing.Do, a.undoing.Log = a.jobs, a.undoAsked, a.log
	return nil
}

// undoPatience is how long a command waits until a server begins to undo a change.
const undoPatience = 15 * time.Second

// undoQueue returns the queue of the changes of managed workspaces that operators undo with a command, which has no
// files. Any server with managed workspaces does it.
func undoQueue(s *store.Store) *jobs.Queue { return &jobs.Queue{Store: s, Kind: "undo", Always: true} }

// An undoOrder is the payload of such a job, and an undoReport its result.
type undoOrder struct {
	Change history.Record
	By     room.Person
}

type undoReport struct {
	Receipt workspace.Receipt
	Error   *tool.Error `json:",omitempty"`
}

// undoAsked undoes a change for a command of another process.
func (a *App) undoAsked(ctx context.Context, h *jobs.Held) (string, error) {
	var order undoOrder
	if err := json.Unmarshal([]byte(h.Job.Payload), &order); err != nil {
		return "", err
	}
	done, err := a.undoManaged(room.As(ctx, order.By), order.Change)
	if ctx.Err() != nil {
		return "", context.Cause(ctx)
	}
	report := undoReport{Receipt: done}
	if err != nil {
		report.Error = shown(err)
		a.log.Warn("a change was not undone for an operator", "err", err)
	}
	text, err := json.Marshal(report)
	return string(text), err
}

// askToUndo has a server undo a change of a managed workspace, and waits for it.
func askToUndo(ctx context.Context, s *store.Store, r history.Record) (done workspace.Receipt, err error) {
	payload, err := json.Marshal(undoOrder{r, room.By(ctx)})
	if err != nil {
		return done, err
	}
	q := undoQueue(s)
	id := ""
	if err := s.Update(ctx, func(t *store.Tx) (err error) {
		id, _, err = q.Enqueue(t, jobs.New{Payload: string(payload)})
		return err
	}); err != nil {
		return done, err
	}
	cancel := func(ctx context.Context) (j jobs.Job, err error) {
		err = s.Update(ctx, func(t *store.Tx) (err error) { j, err = q.Cancel(t, id, "it was not begun"); return err })
		return j, err
	}
	late := time.After(undoPatience)
	for {
		changed := s.Wait(jobs.Topic)
		var j jobs.Job
		if err := s.View(ctx, func(t *store.Tx) (err error) { j, err = q.Get(t, id); return err }); err != nil {
			return done, err
		}
		switch j.State {
		case jobs.Done:
			var report undoReport
			if err := json.Unmarshal([]byte(j.Result), &report); err != nil || report.Error == nil {
				return report.Receipt, err
			}
			return report.Receipt, report.Error
		case jobs.Failed, jobs.Cancelled:
			return done, tool.Errorf(tool.Unavailable, "the server that undid the change has not finished: %s", j.Reason).
				Try("mcp-tools today shows whether it was undone")
		case jobs.Running:
			late = nil // it takes as long as the workspace and the files need
		}
		select {
		case <-changed:
		case <-late:
			if j, err = cancel(ctx); err != nil {
				return done, err
			}
			if j.Attempt == 0 {
				return done, tool.Errorf(tool.Unavailable, "no server runs that can change the files of the managed workspace").
					Try("start one with this store and workspace.managed, and undo the change %q again", r.ID)
			}
		case <-ctx.Done():
			_, err := cancel(context.WithoutCancel(ctx))
			return done, errors.Join(context.Cause(ctx), err)
		}
	}
}

// undoManaged reverts a change of files of a managed workspace for an operator. It waits for the workspace as a call does,
// and the files are stored before it returns.
func (a *App) undoManaged(ctx context.Context, r history.Record) (done workspace.Receipt, err error) {
	caller := tool.Caller{}
	caller.Agent, caller.User, _ = strings.Cut(r.By, "/")
	for _, f := range r.Files {
		if name, err := filepath.Rel(realPath(a.loaded.Config.Workspace.Managed), string(f.Root)); err == nil && filepath.IsLocal(name) {
			caller.Workspace = a.trees.Dir(name)
		}
	}
	ends := new(tool.Ends)
	ctx = tool.With(ctx, &tool.Running{Caller: caller, Tool: history.OperatorUndo + room.By(ctx).Name, Ends: ends})
	done, err = a.files.Undo(ctx, r.ID)
	_, failed := ends.Do(ctx)
	return done, errors.Join(err, failed)
}

// commandsIn reports whether commands run in a workspace.
func (a *App) commandsIn(dir string) bool {
	if a.commands == nil {
		return false
	}
	for c := range a.commands.Callers {
		if a.files.Home(c) == dir {
			return true
		}
	}
	return false
}

// filesSettle returns the function to call at the end of a command in the background, or nil.
func (a *App) filesSettle() func(tool.Caller) {
	if a.trees == nil {
		return nil
	}
	return func(c tool.Caller) { a.trees.Ended(a.files.Home(c)) }
}

// worksOnFiles reports whether calls of a tool are made where the files of the workspace are. Other tools that use files
// wait until the workspace is here.
func (a *App) worksOnFiles(name string) bool {
	if a.trees == nil || name == "process" {
		return false
	}
	t, ok := a.builtIn.Lookup(name)
	return ok && (t.Spec.Group == "fs" || t.Spec.Group == "runtime" || t.Spec.Group == "media_read")
}

// whereFilesAre returns the plan of a call on the files of a managed workspace that another replica has.
func (a *App) whereFilesAre(ctx context.Context, call server.RemoteCall) (_ tool.Plan, there bool, err error) {
	if !a.worksOnFiles(call.Tool) {
		return tool.Plan{}, false, nil
	}
	holder, there, err := a.trees.Holder(ctx, a.files.Home(call.Caller))
	if err != nil || !there {
		return tool.Plan{}, false, nil // if the store is away, the use of the files says so
	}
	at, found, err := a.peers.Find(ctx, holder.ID)
	if err != nil || !found || !at.Alive || at.Address == "" {
		return tool.Plan{}, false, nil // the call waits until the workspace is free
	}
	p, err := a.planAt(ctx, at, call)
	if errors.Is(err, peers.ErrGone) {
		return tool.Plan{}, false, nil
	}
	return p, true, err
}
