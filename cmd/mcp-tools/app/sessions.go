package app

import (
	"context"
	"path/filepath"

	"github.com/mcp-tools/mcp-tools/internal/audit"
	"github.com/mcp-tools/mcp-tools/internal/inbox"
	"github.com/mcp-tools/mcp-tools/internal/room"
	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/server"
	"github.com/mcp-tools/mcp-tools/tools/sessions"
)

// openSessions joins sessions and their inboxes to the store. It does not open the store.
func (a *App) openSessions(context.Context) error {
	a.sessions = sessions.New(sessions.Options{
		Store: a.store, Inbox: a.inbox, Audit: audit.NewDB(a.store), Log: a.log,
		Dir:         locksOf(a.store, a.data),
		Environment: a.loaded.Config.Exec.Environment,
		Visibility:  func() sessions.Visibility { return a.inForce().Config.Sessions.Visibility },
	})
	return nil
}

// locksOf returns the directory with the locks of the processes that have sessions in a store.
func locksOf(s *store.Store, data string) string {
	if s.Engine() == "sqlite" { // all processes that use the store see them
		data = filepath.Dir(s.Location())
	}
	return filepath.Join(data, "processes")
}

// sessionsOf returns the sessions in the store of a host. They make no session.
func (e *Env) sessionsOf(h *room.Host) (*sessions.Sessions, error) {
	o := sessions.Options{
		Store: h.Store, Inbox: inbox.New(inbox.Options{Store: h.Store, Log: h.Log}), Audit: audit.NewDB(h.Store), Log: h.Log,
	}
	if data, err := h.Data(); err == nil || h.Store.Engine() == "sqlite" { // else the leases in the store decide
		o.Dir = locksOf(h.Store, data)
	}
	return sessions.New(o), nil
}

// endedSessions returns the names of the sessions that have ended.
func (e *Env) endedSessions(ctx context.Context, h *room.Host) (map[string]bool, error) {
	all, err := e.sessionsOf(h)
	if err != nil {
		return nil, err
	}
	return all.Dead(ctx)
}

// notifyInboxes notifies clients that subscribed to their inbox of new events, until ctx
// ends. It begins when the store is used.
func (a *App) notifyInboxes(ctx context.Context) {
	n := sessions.NewNotifier(func(to *inbox.To) {
		a.Server.Changed(server.Change{Only: to, Ref: server.Ref{URI: sessions.URI}})
	})
	defer n.Stop()
	a.follow(ctx, "notifications of inboxes", n)
}
