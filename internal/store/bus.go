package store

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// A carrier takes word of changes to other processes, and theirs to us. What
// it brings is a hint and may be lost: readers read the feed anyway, see [bus].
type carrier interface {
	// tell tells the others. It is not called twice at once.
	tell(ctx context.Context, topics []string) error
	// hear calls changed until ctx ends or the way is lost; without topics when
	// anything may have changed.
	hear(ctx context.Context, changed func(topics ...string)) error
}

// A bus wakes those who wait for changes of a topic: at once for changes of
// this process, soon for those of others, and every few seconds in any case.
type bus struct {
	carrier carrier
	log     *slog.Logger
	stop    context.CancelFunc
	done    sync.WaitGroup
	start   sync.Once
	ctx     context.Context
	outbox  chan struct{} // something is in pending

	mu      sync.Mutex
	waiting map[string]chan struct{} // closed at the next change
	pending map[string]bool          // topics that others have not been told of
}

const (
	gather  = 2 * time.Millisecond // how long topics are gathered before they are told
	glance  = 2 * time.Second      // how long a hint that was lost can matter
	relearn = 500 * time.Millisecond
)

func newBus(c carrier, log *slog.Logger) *bus {
	b := &bus{
		carrier: c, log: log, outbox: make(chan struct{}, 1),
		waiting: make(map[string]chan struct{}), pending: make(map[string]bool),
	}
	b.ctx, b.stop = context.WithCancel(context.Background())
	b.done.Go(b.telling)
	return b
}

func (b *bus) close() {
	b.stop()
	b.done.Wait()
}

// Wait returns a channel that is closed when something about a topic may have
// changed. Take it first and read then: what comes in between is not lost.
func (s *Store) Wait(topic string) <-chan struct{} { return s.bus.wait(topic) }

func (b *bus) wait(topic string) <-chan struct{} {
	b.start.Do(func() { b.done.Go(b.hearing) })
	b.mu.Lock()
	defer b.mu.Unlock()
	c := b.waiting[topic]
	if c == nil {
		c = make(chan struct{})
		b.waiting[topic] = c
	}
	return c
}

// wake ends waiting for topics; all of them when none is named.
func (b *bus) wake(topics ...string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(topics) == 0 {
		for topic, c := range b.waiting {
			close(c)
			delete(b.waiting, topic)
		}
		return
	}
	for _, topic := range topics {
		if c := b.waiting[topic]; c != nil {
			close(c)
			delete(b.waiting, topic)
		}
	}
}

// changed is called after a commit.
func (b *bus) changed(topics map[string]bool) {
	if len(topics) == 0 {
		return
	}
	b.mu.Lock()
	for topic := range topics {
		b.pending[topic] = true
		if c := b.waiting[topic]; c != nil {
			close(c)
			delete(b.waiting, topic)
		}
	}
	b.mu.Unlock()
	select {
	case b.outbox <- struct{}{}:
	default:
	}
}

// telling tells the others what has changed, several topics at a time.
func (b *bus) telling() {
	for {
		select {
		case <-b.outbox:
		case <-b.ctx.Done():
			return
		}
		if sleep(b.ctx, gather) != nil {
			return
		}
		b.mu.Lock()
		topics := make([]string, 0, len(b.pending))
		for topic := range b.pending {
			topics = append(topics, topic)
		}
		clear(b.pending)
		b.mu.Unlock()
		if err := b.carrier.tell(b.ctx, topics); err != nil && b.ctx.Err() == nil {
			b.log.Debug("others hear of a change later", "err", err)
		}
	}
}

// hearing listens as long as somebody may wait. Whenever the way was lost,
// everybody looks for themselves.
func (b *bus) hearing() {
	for b.ctx.Err() == nil {
		err := b.carrier.hear(b.ctx, b.wake)
		if b.ctx.Err() != nil {
			return
		}
		b.log.Debug("listening for changes begins anew", "err", err)
		b.wake()
		if sleep(b.ctx, relearn) != nil {
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
