package store

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// A signaler takes word of changes to other processes, and theirs to us. What
// it brings is a hint and may be lost: readers read the feed anyway, see [notifier].
type signaler interface {
	// send tells the others. It is not called twice at once.
	send(ctx context.Context, topics []string) error
	// receive calls changed until ctx ends or the way is lost; without topics when
	// anything may have changed.
	receive(ctx context.Context, changed func(topics ...string)) error
}

// A notifier wakes those who wait for changes of a topic: at once for changes of
// this process, soon for those of others, and every few seconds in any case.
type notifier struct {
	signaler signaler
	log      *slog.Logger
	stop     context.CancelFunc
	done     sync.WaitGroup
	start    sync.Once
	ctx      context.Context
	unsent   chan struct{} // something is in pending

	mu      sync.Mutex
	waiters map[string]chan struct{} // closed at the next change
	pending map[string]bool          // topics that others have not been told of
}

const (
	batchDelay     = 2 * time.Millisecond // how long topics are gathered before they are told
	maxStale       = 2 * time.Second      // how long a hint that was lost can matter
	reconnectDelay = 500 * time.Millisecond
)

func newBus(c signaler, log *slog.Logger) *notifier {
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

// Wait returns a channel that is closed when something about a topic may have
// changed. Take it first and read then: what comes in between is not lost.
func (s *Store) Wait(topic string) <-chan struct{} { return s.notifier.wait(topic) }

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

// wake ends waiting for topics; all of them when none is named.
func (b *notifier) wake(topics ...string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(topics) == 0 {
		for topic, c := range b.waiters {
			close(c)
			delete(b.waiters, topic)
		}
		return
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
	for topic := range topics {
		b.pending[topic] = true
		if c := b.waiters[topic]; c != nil {
			close(c)
			delete(b.waiters, topic)
		}
	}
	b.mu.Unlock()
	select {
	case b.unsent <- struct{}{}:
	default:
	}
}

// sendLoop tells the others what has changed, several topics at a time.
func (b *notifier) sendLoop() {
	for {
		select {
		case <-b.unsent:
		case <-b.ctx.Done():
			return
		}
		if sleep(b.ctx, batchDelay) != nil {
			return
		}
		b.mu.Lock()
		topics := make([]string, 0, len(b.pending))
		for topic := range b.pending {
			topics = append(topics, topic)
		}
		clear(b.pending)
		b.mu.Unlock()
		if err := b.signaler.send(b.ctx, topics); err != nil && b.ctx.Err() == nil {
			b.log.Debug("others hear of a change later", "err", err)
		}
	}
}

// receiveLoop listens as long as somebody may wait. Whenever the way was lost,
// everybody looks for themselves.
func (b *notifier) receiveLoop() {
	for b.ctx.Err() == nil {
		err := b.signaler.receive(b.ctx, b.wake)
		if b.ctx.Err() != nil {
			return
		}
		b.log.Debug("listening for changes begins anew", "err", err)
		b.wake()
		if sleep(b.ctx, reconnectDelay) != nil {
			return
		}
	}
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
