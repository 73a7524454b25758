package store

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/mcp-tools/mcp-tools/internal/clock"
)

// A signaler exchanges hints about changes with other processes. A hint may be lost: look finds
// the missed changes.
type signaler interface {
	// send sends topics that have changed. Calls are not concurrent.
	send(ctx context.Context, topics []string) error
	// receive calls changed with topics until ctx ends or the connection is
	// lost. Without topics anything may have changed.
	receive(ctx context.Context, changed func(topics ...string)) error
	// look makes receive look at the feed although it has no hint. A careful look may read the database; without that
	// it costs next to nothing and finds most changes.
	look(careful bool)
}

// A notifier wakes the waiters of a topic: at once for changes of this process, and soon for
// changes of others. A process without changes and waiting callers makes no statement.
type notifier struct {
	signaler signaler
	log      *slog.Logger
	stop     context.CancelFunc
	done     sync.WaitGroup
	start    sync.Once
	ctx      context.Context
	unsent   chan struct{} // pending is not empty
	attended chan struct{} // the first call of Urgent has come

	mu      sync.Mutex
	waiters map[string]chan struct{} // closed at the next change
	watches map[*watch]bool
	pending map[string]bool // topics to send
	urgent  int             // calls of Urgent that are not done
}

// A watch is a call of Watch that has not ended.
type watch struct {
	topics []string
	c      chan struct{}
}

const (
	batchDelay     = 2 * time.Millisecond // to send several topics at once
	reconnectDelay = 500 * time.Millisecond
	// urgentLook is the time between careful looks while callers wait, in case that a hint was lost.
	urgentLook = 500 * time.Millisecond
	// idleLook is the time between two looks without a statement. A clock that was set, and a process that was
	// suspended, are noticed then.
	idleLook = 10 * time.Second
	// wakeEvery is the interval of wake-ups without a notification. They are needed only after a process has died
	// between its commit and its NOTIFY.
	wakeEvery = 10 * time.Minute
	// clockSet is by how much the wall clock must differ from the monotonic one.
	clockSet = time.Second
)

func newNotifier(c signaler, log *slog.Logger) *notifier {
	b := &notifier{
		signaler: c, log: log, unsent: make(chan struct{}, 1), attended: make(chan struct{}, 1),
		waiters: make(map[string]chan struct{}), watches: make(map[*watch]bool), pending: make(map[string]bool),
	}
	b.ctx, b.stop = context.WithCancel(context.Background())
	b.done.Go(b.sendLoop)
	return b
}

func (b *notifier) close() {
	b.stop()
	b.done.Wait()
}

// Wait returns a channel that is closed when a topic may have changed. Callers
// that call Wait before they read lose no change.
func (s *Store) Wait(topic string) <-chan struct{} {
	b := s.notifier
	b.listen()
	b.mu.Lock()
	defer b.mu.Unlock()
	c := b.waiters[topic]
	if c == nil {
		c = make(chan struct{})
		b.waiters[topic] = c
	}
	return c
}

// Watch returns a channel with a value when one of the topics may have changed since the last value was taken, until
// end is called. Callers that take it before they read lose no change.
func (s *Store) Watch(topics ...string) (changed <-chan struct{}, end func()) {
	b, w := s.notifier, &watch{topics, make(chan struct{}, 1)}
	b.listen()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.watches[w] = true
	return w.c, func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.watches, w)
	}
}

// Poke wakes the waiters of this process for a topic, although nothing has changed.
func (s *Store) Poke(topic string) { s.notifier.wake(topic) }

// Urgent makes up for lost hints soon until done is called. It is for calls that wait for something to happen.
func (s *Store) Urgent() (done func()) {
	b := s.notifier
	b.mu.Lock()
	defer b.mu.Unlock()
	b.urgent++
	signal(b.attended)
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.urgent--
	}
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// listen starts to receive, if that was not done before.
func (b *notifier) listen() {
	b.start.Do(func() {
		b.done.Go(b.receiveLoop)
		b.done.Go(b.lookLoop)
	})
}

// wake wakes the waiters of topics, or all waiters if there are no topics.
func (b *notifier) wake(topics ...string) {
	b.mu.Lock()
	for w := range b.watches {
		if len(topics) == 0 || slices.ContainsFunc(w.topics, func(t string) bool { return slices.Contains(topics, t) }) {
			signal(w.c)
		}
	}
	b.mu.Unlock()
	b.wakeCallers(topics...)
}

// wakeCallers is wake for the callers of Wait.
func (b *notifier) wakeCallers(topics ...string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(topics) == 0 {
		topics = slices.Collect(maps.Keys(b.waiters))
	}
	for _, topic := range topics {
		if c := b.waiters[topic]; c != nil {
			close(c)
			delete(b.waiters, topic)
		}
	}
}

// changed is called after a commit.
func (b *notifier) changed(topics map[string]bool) {
	if len(topics) == 0 {
		return
	}
	b.mu.Lock()
	maps.Copy(b.pending, topics)
	b.mu.Unlock()
	b.wake(slices.Collect(maps.Keys(topics))...)
	signal(b.unsent)
}

// sendLoop sends changed topics to other processes, several at a time.
func (b *notifier) sendLoop() {
	for {
		select {
		case <-b.unsent:
		case <-b.ctx.Done():
			return
		}
		if clock.Sleep(b.ctx, batchDelay) != nil {
			return
		}
		b.mu.Lock()
		topics := slices.Collect(maps.Keys(b.pending))
		clear(b.pending)
		b.mu.Unlock()
		if err := b.signaler.send(b.ctx, topics); err != nil && b.ctx.Err() == nil {
			b.log.Debug("could not notify other processes of a change; they will notice it later", "err", err)
		}
	}
}

// receiveLoop receives hints until close. When the connection is lost it wakes
// all waiters.
func (b *notifier) receiveLoop() {
	for b.ctx.Err() == nil {
		err := b.signaler.receive(b.ctx, b.wake)
		if b.ctx.Err() != nil {
			return
		}
		b.log.Debug("reconnecting to receive changes", "err", err)
		b.wake()
		if clock.Sleep(b.ctx, reconnectDelay) != nil {
			return
		}
	}
}

// lookLoop looks for missed changes: rarely, and often while callers wait. It wakes all waiters
// when the clock was set or the process was suspended, because their timers do not follow.
func (b *notifier) lookLoop() {
	timer := time.NewTimer(idleLook)
	defer timer.Stop()
	for looked, woken := time.Now(), time.Now(); ; {
		urgent := b.isUrgent()
		if urgent {
			timer.Reset(urgentLook)
		} else {
			timer.Reset(idleLook)
		}
		select {
		case <-timer.C:
		case <-b.attended:
			continue
		case <-b.ctx.Done():
			return
		}
		now := time.Now()
		jump := now.Round(0).Sub(looked.Round(0)) - now.Sub(looked)
		if looked = now; jump.Abs() > clockSet || now.Sub(woken) > wakeEvery {
			woken = now
			b.wake()
		}
		b.signaler.look(urgent)
	}
}

func (b *notifier) isUrgent() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.urgent > 0
}

// pgListen uses NOTIFY, outside of the transactions that write: inside, it would
// serialize all commits.
type pgListen struct {
	config *pgx.ConnConfig
	store  *Store
	me     string // the first line of the notifications of this process: it ignores them
	looked time.Time
}

const (
	channel = "mcp_tools"
	// maxPayload is the maximum size of a notification. A longer list of topics
	// is sent as "all".
	maxPayload = 7000
	// maxStale is how late a caller that waits knows a change whose notification was lost.
	maxStale = 2 * time.Second
)

func (p *pgListen) send(ctx context.Context, topics []string) error {
	payload := strings.Join(append([]string{p.me}, topics...), "\n")
	if len(payload) > maxPayload {
		payload = p.me
	}
	_, err := p.store.write.ExecContext(ctx, "SELECT pg_notify($1, $2)", channel, payload)
	return err
}

// look wakes the waiting callers from time to time: they read the state themselves.
func (p *pgListen) look(careful bool) {
	if careful && time.Since(p.looked) > maxStale {
		p.looked = time.Now()
		p.store.notifier.wakeCallers()
	}
}

func (p *pgListen) receive(ctx context.Context, changed func(...string)) error {
	conn, err := pgx.ConnectConfig(ctx, p.config)
	if err != nil {
		return err
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		_ = conn.Close(ctx) // the connection only listens
	}()
	if _, err := conn.Exec(ctx, "LISTEN "+channel); err != nil {
		return err
	}
	changed() // changes before LISTEN
	for {
		n, err := conn.WaitForNotification(ctx)
		if err != nil {
			return err
		}
		from, topics, some := strings.Cut(n.Payload, "\n")
		switch {
		case from == p.me:
		case some:
			changed(strings.Split(topics, "\n")...)
		default:
			changed()
		}
		if conn.IsClosed() {
			return errors.New("the connection was closed")
		}
	}
}
