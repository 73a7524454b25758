package managed

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/blob"
	"github.com/mcp-tools/mcp-tools/internal/room"
	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// Room returns the verbs with which operators see and remove managed workspaces.
func Room() *room.Room {
	o := &operator{}
	return &room.Room{
		Name: "workspaces", Title: "The managed workspaces of agents",
		Doc: `Managed workspaces are directories whose files are in the store, so that every server
can work on them. workspace.managed is the setting.`,
		Open: func(h *room.Host) error { o.store = h.Store; return nil },
		Verbs: []room.Verb{
			room.Do(room.Verb{
				Name: "list", Title: "List the managed workspaces", Risk: tool.Reads, Where: room.Operator,
				Doc: `list shows the managed workspaces of all servers with the same store: the user
(or the agent) whose call made each, its files and their size, when it was changed
last, and the server that works on it now.`,
				Example: "  mcp-tools workspaces list",
			}, o.list),
			room.Prepare(room.Verb{
				Name: "remove", Title: "Remove a managed workspace, with its files", Risk: tool.Destroys, Where: room.Operator,
				Args: []string{"workspace"}, Complete: o.names,
				Doc: `remove removes a workspace and its files from the store. It refuses while a server
works on it. Copies on machines are removed when the workspace is used there again,
which then begins empty. Former versions of files stay in the history as long as
workspace.history says.`,
				Example: "  mcp-tools workspaces remove ann",
			}, o.remove),
		},
	}
}

// operator has the verbs.
type operator struct{ store *store.Store }

// A Listed is a managed workspace as operators see it.
type Listed struct {
	Name    string    `json:"workspace"`
	Owner   string    `json:"owner"`
	Files   int64     `json:"files"`
	Bytes   int64     `json:"bytes"`
	Changed time.Time `json:"changed"`
	Server  string    `json:"server,omitempty"` // that works on it
	Until   time.Time `json:"until,omitzero"`   // when the server's lease ends, unless it is renewed
}

// List returns all managed workspaces of a store.
func List(ctx context.Context, s *store.Store) ([]Listed, error) {
	return store.Select(ctx, s, `SELECT name, owner, files, bytes, changed, CASE WHEN `+live+` THEN host ELSE '' END, until
		FROM workspace ORDER BY name`, nil, func(scan store.Scan) (l Listed, err error) {
		var changed, until int64
		err = scan(&l.Name, &l.Owner, &l.Files, &l.Bytes, &changed, &l.Server, &until)
		if l.Changed = time.UnixMilli(changed); l.Server != "" {
			l.Until = time.UnixMilli(until)
		}
		return l, err
	})
}

func (o *operator) names(ctx context.Context) ([]string, error) {
	all, err := List(ctx, o.store)
	var names []string
	for _, l := range all {
		names = append(names, l.Name)
	}
	return names, err
}

func (o *operator) list(ctx context.Context, _ struct{}) (tool.Result, error) {
	const clock = "2006-01-02 15:04:05"
	all, err := List(ctx, o.store)
	return room.Rows(all, "There are no managed workspaces.",
		[]string{"WORKSPACE", "OWNER", "FILES", "SIZE", "CHANGED", "SERVER", "LEASE UNTIL"}, func(l Listed) []string {
			until := "-"
			if !l.Until.IsZero() {
				until = l.Until.Local().Format(clock)
			}
			return []string{l.Name, l.Owner, fmt.Sprint(l.Files), size(l.Bytes), l.Changed.Local().Format(clock),
				cmp.Or(l.Server, "-"), until}
		}), err
}

type removeArgs struct {
	Workspace string `json:"workspace" jsonschema:"workspace, as mcp-tools workspaces list shows it"`
}

func (o *operator) remove(ctx context.Context, a removeArgs) (tool.Plan, error) {
	all, err := List(ctx, o.store)
	if err != nil {
		return tool.Plan{}, err
	}
	for _, l := range all {
		if l.Name == a.Workspace {
			return tool.Plan{
				Risk: tool.Destroys, Ask: fmt.Sprintf("removes the workspace %q of %s with %d files (%s)", l.Name, l.Owner, l.Files, size(l.Bytes)),
				Run: func(ctx context.Context) (tool.Result, error) { return o.removed(ctx, l) },
			}, nil
		}
	}
	return tool.Plan{}, missing(a.Workspace)
}

func missing(name string) error {
	return tool.Errorf(tool.NotFound, "there is no managed workspace %.100q", name).Try("mcp-tools workspaces list shows all")
}

func (o *operator) removed(ctx context.Context, l Listed) (tool.Result, error) {
	err := o.store.Update(ctx, func(t *store.Tx) error {
		n, err := t.Exec(`DELETE FROM workspace WHERE name = $1 AND NOT (`+live+`)`, l.Name)
		if err != nil {
			return err
		}
		if n == 0 {
			var server string
			err := t.Row(`SELECT host FROM workspace WHERE name = $1`, []any{l.Name}, &server)
			if errors.Is(err, store.ErrNotFound) {
				return missing(l.Name)
			}
			if err != nil {
				return err
			}
			return tool.Errorf(tool.Conflict, "the server %q works on the workspace %q", server, l.Name).
				Try("pause its callers (mcp-tools pause), and try again when it was not used for a minute")
		}
		w := workspace{name: l.Name}
		_, err = t.Exec(`DELETE FROM kept WHERE noun = $1 AND owner = $2`, noun, blob.Owner(w.blobOwner()))
		return err
	})
	if err != nil {
		return tool.Result{}, err
	}
	return tool.Textf("The workspace %q was removed, with %d files (%s).", l.Name, l.Files, size(l.Bytes)), nil
}
