package store

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/mcp-tools/mcp-tools/internal/clock"
)

// A signaler exchanges hints about changes with other processes. A hint may be
// lost: readers check the feed every maxStale anyway.
type signaler interface {
	// send sends topics that have changed. Calls are not concurrent.
	send(ctx context.Context, topics []string) error
	// receive calls changed with topics until ctx ends or the connection is
	// lost. Without topics anything may have changed.
	receive(ctx context.Context, changed func(topics ...string)) error
}

// A notifier wakes the waiters of a topic: at once for changes of this process,
// soon for those of others, and every few seconds in any case.
type notifier struct {
	signaler signaler
	log      *slog.Logger
	stop     context.CancelFunc
	done     sync.WaitGroup
	start    sync.Once
	ctx      context.Context
	unsent   chan struct{} // pending is not empty

	mu      sync.Mutex
	waiters map[string]chan struct{} // closed at the next change
	pending map[string]bool          // topics to send
}

const (
	batchDelay     = 2 * time.Millisecond // to send several topics at once
	maxStale       = 2 * time.Second      // maximum delay after a lost hint
	reconnectDelay = 500 * time.Millisecond
)

func newNotifier(c signaler, log *slog.Logger) *notifier {
	b := &notifier{
		signaler: c, log: log, unsent: make(chan struct{}, 1),
		waiters: make(map[string]chan struct{}), pending: make(map[string]bool),
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
func (s *Store) Wait(topic string) <-chan struct{} { return s.notifier.wait(topic) }

const (
	// claimedWait is the time after which a row is looked at again that another process takes.
	claimedWait = 20 * time.Millisecond
	// dueWait is the longest time between two looks: a timer does not follow when the clock of the database is
	// set, or when the machine was suspended.
	dueWait = time.Minute
)

// Claim waits until the first of some rows is due, and calls take until it reports that it has taken one. The
// query returns how many milliseconds are left, without a row if nothing waits. A change of the topic makes Claim
// look again.
func (s *Store) Claim(
	ctx context.Context, topic, query string, args []any, take func(context.Context) (bool, error),
) error {
	for {
		changed := s.Wait(topic)
		var left int64
		wait := dueWait
		err := s.Row(ctx, query, args, &left)
		switch {
		case err == nil && left <= 0:
			if done, err := take(ctx); done || err != nil {
				return err
			}
			wait = claimedWait
		case err == nil:
			wait = min(time.Duration(left)*time.Millisecond, dueWait)
		case !errors.Is(err, ErrNotFound):
			return err
		}
		timer := time.NewTimer(wait)
		select {
		case <-changed:
		case <-timer.C:
		case <-ctx.Done():
		}
		timer.Stop()
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
}

func (b *notifier) wait(topic string) <-chan struct{} {
	b.start.Do(func() { b.done.Go(b.receiveLoop) })
	b.mu.Lock()
	defer b.mu.Unlock()
	c := b.waiters[topic]
	if c == nil {
		c = make(chan struct{})
		b.waiters[topic] = c
	}
	return c
}

// wake wakes the waiters of topics, or all waiters if there are no topics.
func (b *notifier) wake(topics ...string) {
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
	select {
	case b.unsent <- struct{}{}:
	default:
	}
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
			b.log.Debug("could not notify other processes of a change; they will poll", "err", err)
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

// sqlitePoll detects the commits of other processes by PRAGMA data_version,
// which reads no table.
type sqlitePoll struct {
	store    *Store
	urgent   atomic.Int32  // calls of Urgent that are not done
	attended chan struct{} // the first of them has come
}

const (
	pollEvery  = 150 * time.Millisecond
	pollUrgent = 10 * time.Millisecond
)

// Urgent makes changes of other processes known sooner until done is called, at the cost of
// some processor time. It is for calls that wait for something to happen.
func (s *Store) Urgent() (done func()) {
	p, ok := s.notifier.signaler.(*sqlitePoll)
	if !ok { // PostgreSQL notifies at once
		return func() {}
	}
	p.urgent.Add(1)
	select {
	case p.attended <- struct{}{}:
	default:
	}
	return func() { p.urgent.Add(-1) }
}

// send does nothing: other processes poll.
func (*sqlitePoll) send(context.Context, []string) error { return nil }

func (p *sqlitePoll) receive(ctx context.Context, changed func(...string)) error {
	if err := p.store.open(ctx); err != nil {
		return err
	}
	conn, err := p.store.read.Conn(ctx) // the version is relative to a connection
	if err != nil {
		return err
	}
	defer conn.Close()
	var before int64
	timer := time.NewTimer(pollEvery)
	defer timer.Stop()
	last := time.Now()
	for {
		var now int64
		if err := conn.QueryRowContext(ctx, "PRAGMA data_version").Scan(&now); err != nil {
			return err
		}
		if now != before || time.Since(last) > maxStale {
			before, last = now, time.Now()
			changed()
		}
		if p.urgent.Load() > 0 {
			timer.Reset(pollUrgent)
		} else {
			timer.Reset(pollEvery)
		}
		select {
		case <-timer.C:
		case <-p.attended:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// pgListen uses NOTIFY, outside of the transactions that write: inside, it would
// serialize all commits.
type pgListen struct {
	config *pgx.ConnConfig
	store  *Store
}

const (
	channel = "mcp_tools"
	// maxPayload is the maximum size of a notification. A longer list of topics
	// is sent as "all".
	maxPayload = 7000
)

func (p *pgListen) send(ctx context.Context, topics []string) error {
	payload := strings.Join(topics, "\n")
	if len(payload) > maxPayload {
		payload = ""
	}
	_, err := p.store.write.ExecContext(ctx, "SELECT pg_notify($1, $2)", channel, payload)
	return err
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
		wait, cancel := context.WithTimeout(ctx, maxStale)
		n, err := conn.WaitForNotification(wait)
		cancel()
		switch {
		case err == nil && n.Payload != "":
			changed(strings.Split(n.Payload, "\n")...)
		case err == nil, errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil:
			changed()
		default:
			return err
		}
		if conn.IsClosed() {
			return errors.New("the connection was closed")
		}
	}
}
