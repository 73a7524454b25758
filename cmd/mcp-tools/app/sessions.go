package app

import (
	"context"
	"path/filepath"
	"sync"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/audit"
	"github.com/mcp-tools/mcp-tools/internal/inbox"
	"github.com/mcp-tools/mcp-tools/internal/room"
	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/server"
	"github.com/mcp-tools/mcp-tools/tools/memory/indexer"
	"github.com/mcp-tools/mcp-tools/tools/sessions"
)

// openSessions joins sessions and their inboxes to the store, which it does not open.
func (a *App) openSessions(context.Context) error {
	a.inbox = inbox.New(inbox.Options{Store: a.store, Log: a.log})
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
	n := &inboxNotifier{changed: a.Server.Changed, waiting: map[inbox.To]*debounce{}}
	defer n.stop()
	a.follow(ctx, "notifications of inboxes", n)
}

const (
	// inboxQuiet is how long no event must follow another one before a client is
	// notified of all, and inboxPatience how long that goes on at most.
	inboxQuiet    = time.Second
	inboxPatience = 5 * time.Second
)

// An inboxNotifier is the subscriber that notifies clients of their inboxes.
type inboxNotifier struct {
	changed func(server.Change)
	cursor  string

	mu      sync.Mutex
	stopped bool
	waiting map[inbox.To]*debounce
}

// A debounce is a notification that waits for others.
type debounce struct {
	since time.Time
	timer *time.Timer
}

// Topics returns the topic of inboxes.
func (*inboxNotifier) Topics() []string { return []string{inbox.Topic} }

// Cursor returns how far clients were notified.
func (n *inboxNotifier) Cursor(context.Context) (string, error) { return n.cursor, nil }

// Apply notifies the receivers of new events soon.
func (n *inboxNotifier) Apply(_ context.Context, c indexer.Changes) (more bool, err error) {
	if c.Lost && n.cursor != "" {
		n.changed(server.Change{Ref: server.Ref{URI: sessions.URI}})
	}
	for _, key := range c.Keys {
		if to, ok := inbox.ParseTo(key.Name); ok {
			n.notify(to)
		}
	}
	n.cursor = c.Next
	return false, nil
}

func (n *inboxNotifier) notify(to inbox.To) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if d := n.waiting[to]; d != nil {
		if time.Since(d.since) < inboxPatience-inboxQuiet {
			d.timer.Reset(inboxQuiet)
		}
		return
	}
	if !n.stopped {
		n.waiting[to] = &debounce{time.Now(), time.AfterFunc(inboxQuiet, func() { n.send(to) })}
	}
}

// send notifies the sessions of a receiver.
func (n *inboxNotifier) send(to inbox.To) {
	n.mu.Lock()
	_, due := n.waiting[to]
	delete(n.waiting, to)
	n.mu.Unlock()
	if due {
		n.changed(server.Change{Only: &to, Ref: server.Ref{URI: sessions.URI}})
	}
}

func (n *inboxNotifier) stop() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.stopped = true
	for to, d := range n.waiting {
		d.timer.Stop()
		delete(n.waiting, to)
	}
}
