package indexer

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// A Feed is the change feed of the store.
type Feed interface {
	// Follow calls each with the changes of some topics since a cursor. It returns the cursor behind them and
	// whether more changes are committed. Lost means that the feed does not reach back to the cursor, as for
	// the empty one: the caller reads all rows, then follows from the cursor returned.
	Follow(ctx context.Context, from string, limit int, topics []string, each func(topic, key string)) (
		cursor string, lost, more bool, err error)
	// Watch returns a channel with a value when topics may have changed since the last one was taken, until end is called.
	Watch(topics ...string) (changed <-chan struct{}, end func())
}

// A Key names a row that can change: the topic of the change feed, and the key under it.
type Key struct{ Topic, Name string }

// Changes is one batch for a Subscriber.
type Changes struct {
	Keys []Key  // changes, each key once, the oldest first
	Lost bool   // earlier changes are unknown: everything may have changed
	Next string // the cursor behind these changes
}

// A Subscriber keeps something up to date with the store. Its methods are not called concurrently.
type Subscriber interface {
	// Topics returns the topics that it follows, always the same ones.
	Topics() []string
	// Cursor returns how far in the feed it is; "" if it has read nothing yet.
	Cursor(ctx context.Context) (string, error)
	// Apply takes changes in. Cursor is at c.Next after that, unless it returns an error, or more: then Apply
	// is called again soon, with the changes since Cursor. It is also called without changes from time to time.
	Apply(ctx context.Context, c Changes) (more bool, err error)
}

const (
	maxChanges = 500                    // that are read at once
	retryAfter = 2 * time.Second        // after an error
	gather     = 250 * time.Millisecond // that changes wait for others, unless a caller waits for them
	settle     = 20 * time.Millisecond  // between reads of the feed while a caller waits for an open transaction
	idle       = 10 * time.Minute       // between calls of Apply without changes
)

// A Follower reads the change feed for all that this process keeps up to date with the store, such as the search
// index and the notifications of clients. Each has its own place in the feed, and is called on its own.
type Follower struct {
	feed Feed
	log  *slog.Logger
	ctx  context.Context
	stop context.CancelFunc

	mu   sync.Mutex // held to start a goroutine of done, so that none starts after Close
	done sync.WaitGroup
}

// NewFollower returns a Follower that reads nothing yet.
func NewFollower(feed Feed, log *slog.Logger) *Follower {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	f := &Follower{feed: feed, log: log}
	f.ctx, f.stop = context.WithCancel(context.Background())
	return f
}

// Close ends all subscriptions.
func (f *Follower) Close() error {
	f.mu.Lock()
	f.stop()
	f.mu.Unlock()
	f.done.Wait()
	return nil
}

// A Subscription is the place of a Subscriber in the feed.
type Subscription struct {
	follower   *Follower
	subscriber Subscriber
	name       string
	ctx        context.Context
	stop       context.CancelFunc
	ended      chan struct{}   // the Subscriber is not called any more
	changed    <-chan struct{} // a topic may have changed
	asked      chan struct{}   // a caller waits

	mu      sync.Mutex
	waiting []chan error
}

// Subscribe calls s with changes until the Subscription is closed. Name is for the log.
func (f *Follower) Subscribe(name string, s Subscriber) *Subscription {
	sub := &Subscription{
		follower: f, subscriber: s, name: name,
		ended: make(chan struct{}), asked: make(chan struct{}, 1),
	}
	sub.ctx, sub.stop = context.WithCancel(f.ctx)
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.ctx.Err() != nil {
		close(sub.ended)
		return sub
	}
	changed, end := f.feed.Watch(s.Topics()...)
	sub.changed = changed
	f.done.Go(func() { defer end(); sub.run() })
	return sub
}

// Close ends the subscription. Its Subscriber is not called after that.
func (s *Subscription) Close() {
	s.stop()
	<-s.ended
}

// CatchUp waits until the Subscriber has taken the commits before the call, and returns its
// error if it fails.
func (s *Subscription) CatchUp(ctx context.Context) error {
	select {
	case err := <-s.request():
		return err
	case <-s.ctx.Done():
		return ErrClosed
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// request asks for a read of the feed that begins after now. The channel receives its error.
func (s *Subscription) request() <-chan error {
	answer := make(chan error, 1)
	s.mu.Lock()
	s.waiting = append(s.waiting, answer)
	s.mu.Unlock()
	signal(s.asked)
	return answer
}

// callers removes and returns the waiting callers.
func (s *Subscription) callers() []chan error {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := s.waiting
	s.waiting = nil
	return list
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// run calls the Subscriber until Close.
func (s *Subscription) run() {
	defer close(s.ended)
	var callers []chan error // that wait since before the last read
	for s.ctx.Err() == nil {
		callers = append(callers, s.callers()...)
		more, moved, err := s.step()
		switch {
		case err == nil && more && moved:
			continue
		case err == nil && more && len(callers) > 0:
			s.pause(settle, nil, nil)
			continue
		}
		for _, c := range callers {
			c <- err // it has room
		}
		callers = nil
		switch {
		case err != nil && s.ctx.Err() == nil:
			s.follower.log.Warn("changes in the store are not followed at present", "by", s.name, "err", err)
			s.pause(retryAfter, nil, s.asked)
		case more, s.pause(idle, s.changed, s.asked):
			s.pause(gather, nil, s.asked)
		}
	}
}

// pause waits for a change, for a caller, or until d has passed. It reports whether there was a change.
func (s *Subscription) pause(d time.Duration, changed, asked <-chan struct{}) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-asked:
	case <-s.ctx.Done():
	case <-changed:
		return true
	}
	return false
}

// step reads the feed once and passes the changes on. More means that there are more changes, or changes that are
// not settled; moved, that the Subscriber has taken some.
func (s *Subscription) step() (more, moved bool, err error) {
	cursor, err := s.subscriber.Cursor(s.ctx)
	if err != nil {
		return false, false, err
	}
	var c Changes
	known := map[Key]bool{}
	next, lost, more, err := s.follower.feed.Follow(s.ctx, cursor, maxChanges, s.subscriber.Topics(),
		func(topic, name string) {
			if k := (Key{topic, name}); !known[k] {
				known[k] = true
				c.Keys = append(c.Keys, k)
			}
		})
	if err != nil {
		return false, false, err
	}
	c.Lost, c.Next = lost, next
	unfinished, err := s.subscriber.Apply(s.ctx, c)
	return more || lost || unfinished, unfinished || next != cursor, err
}
