package sessions

import (
	"context"
	"sync"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/inbox"
	"github.com/mcp-tools/mcp-tools/tools/memory/indexer"
)

const (
	// inboxQuiet is how long no event must follow another one before a client is
	// notified of all, and inboxPatience how long that goes on at most.
	inboxQuiet    = time.Second
	inboxPatience = 5 * time.Second
)

// A Notifier is the subscriber that notifies clients of their inboxes.
type Notifier struct {
	changed func(to *inbox.To)
	cursor  string

	mu      sync.Mutex
	stopped bool
	waiting map[inbox.To]*debounce
}

// NewNotifier returns a Notifier that calls changed for a receiver with new events, and with nil if any may have some.
func NewNotifier(changed func(to *inbox.To)) *Notifier {
	return &Notifier{changed: changed, waiting: make(map[inbox.To]*debounce)}
}

// A debounce is a notification that waits for others.
type debounce struct {
	since time.Time
	timer *time.Timer
}

// Topics returns the topic of inboxes.
func (*Notifier) Topics() []string { return []string{inbox.Topic} }

// Cursor returns how far clients were notified.
func (n *Notifier) Cursor(context.Context) (string, error) { return n.cursor, nil }

// Apply notifies the receivers of new events soon.
func (n *Notifier) Apply(_ context.Context, c indexer.Changes) (more bool, err error) {
	if c.Lost && n.cursor != "" {
		n.changed(nil)
	}
	for _, key := range c.Keys {
		if to, ok := inbox.ParseTo(key.Name); ok {
			n.notify(to)
		}
	}
	n.cursor = c.Next
	return false, nil
}

func (n *Notifier) notify(to inbox.To) {
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
func (n *Notifier) send(to inbox.To) {
	n.mu.Lock()
	_, due := n.waiting[to]
	delete(n.waiting, to)
	n.mu.Unlock()
	if due {
		n.changed(&to)
	}
}

// Stop ends the notifications that wait.
func (n *Notifier) Stop() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.stopped = true
	for to, d := range n.waiting {
		d.timer.Stop()
		delete(n.waiting, to)
	}
}
