package app

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/peers"
	"github.com/mcp-tools/mcp-tools/internal/room"
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
	return nil
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
