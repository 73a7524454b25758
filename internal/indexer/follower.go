package indexer

import (
	"context"
	"log/slog"
	"slices"
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
	// Wait returns a channel that is closed when a topic may have changed.
	Wait(topic string) <-chan struct{}
}

// A Key names a row that can change: the topic of the change feed, and the key under it.
type Key struct{ Topic, Name string }

// Changes is one batch for a Subscriber.
type Changes struct {
	Keys []Key  // what has changed, each key once, the oldest first
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
	settle     = 20 * time.Millisecond  // between reads of the feed while a transaction is open
	idle       = 10 * time.Minute       // between rounds without changes
)

// A Follower reads the change feed for all that this process keeps up to date with the store: the search index, the
// embeddings in memory, and what clients are notified of. It waits, gathers and retries for all of them; each has its
// own cursor, and an error of one does not stop the others. It begins with the first subscription.
type Follower struct {
	feed Feed
	log  *slog.Logger
	ctx  context.Context
	stop context.CancelFunc
	done sync.WaitGroup

	changed chan struct{} // a topic may have changed
	asked   chan struct{} // a caller waits, or there is another subscription

	mu      sync.Mutex
	started bool
	list    []*Subscription
	topics  map[string]bool // that are watched
}

// NewFollower returns a Follower that reads nothing yet.
func NewFollower(feed Feed, log *slog.Logger) *Follower {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	f := &Follower{
		feed: feed, log: log, changed: make(chan struct{}, 1), asked: make(chan struct{}, 1), topics: map[string]bool{},
	}
	f.ctx, f.stop = context.WithCancel(context.Background())
	return f
}

// Feed returns the feed that is followed, for those who read it from a cursor of their own.
func (f *Follower) Feed() Feed { return f.feed }

// Close ends all subscriptions.
func (f *Follower) Close() error {
	f.mu.Lock()
	f.started = true // and nothing else starts
	list := slices.Clone(f.list)
	f.stop()
	f.mu.Unlock()
	for _, s := range list {
		s.Close()
	}
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
	retry      time.Time  // when it is called again after an error; for run alone
	calling    sync.Mutex // held while the Subscriber is called
	waiting    []chan error
}

// Subscribe calls s with changes until the Subscription is closed. Name is for the log.
func (f *Follower) Subscribe(name string, s Subscriber) *Subscription {
	sub := &Subscription{follower: f, subscriber: s, name: name}
	sub.ctx, sub.stop = context.WithCancel(f.ctx)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.list = append(f.list, sub)
	if f.ctx.Err() != nil {
		return sub
	}
	for _, topic := range s.Topics() {
		if !f.topics[topic] {
			f.topics[topic] = true
			first := f.feed.Wait(topic)
			f.done.Go(func() { f.watch(topic, first) })
		}
	}
	if !f.started {
		f.started = true
		f.done.Go(f.run)
	}
	signal(f.asked)
	return sub
}

// Close ends the subscription. Its Subscriber is not called after that.
func (s *Subscription) Close() {
	s.stop()
	s.calling.Lock() // until a call has returned
	defer s.calling.Unlock()
	f := s.follower
	f.mu.Lock()
	defer f.mu.Unlock()
	f.list = slices.DeleteFunc(f.list, func(other *Subscription) bool { return other == s })
	s.answer(ErrClosed)
}

// CatchUp waits until the Subscriber has taken what was committed before the call, and returns its error if it fails.
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

// request asks for a round that begins after now. The channel receives its error.
func (s *Subscription) request() <-chan error {
	answer := make(chan error, 1)
	s.follower.mu.Lock()
	s.waiting = append(s.waiting, answer)
	s.follower.mu.Unlock()
	signal(s.follower.asked)
	return answer
}

// answer ends the waiting of all who wait for the subscription. The caller holds the Follower's lock.
func (s *Subscription) answer(err error) {
	for _, c := range s.waiting {
		c <- err // it has room
	}
	s.waiting = nil
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// watch signals changes of a topic. It waits for the next one before it signals one: the round that follows
// reads both.
func (f *Follower) watch(topic string, wait <-chan struct{}) {
	for {
		select {
		case <-wait:
		case <-f.ctx.Done():
			return
		}
		wait = f.feed.Wait(topic)
		signal(f.changed)
	}
}

// run calls the subscribers until Close.
func (f *Follower) run() {
	for f.ctx.Err() == nil {
		r := f.round()
		switch {
		case r.more && r.moved:
		case r.more:
			f.pause(settle, nil, nil)
		case !f.pause(r.rest, f.changed, f.asked):
		default:
			f.pause(min(gather, r.rest), nil, f.asked)
		}
	}
}

// pause waits for a change, for a caller, or until d has passed. It reports whether there was a change.
func (f *Follower) pause(d time.Duration, changed, asked <-chan struct{}) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-asked:
	case <-f.ctx.Done():
	case <-changed:
		return true
	}
	return false
}

// A round is the result of calling all subscribers once.
type round struct {
	more  bool // there are more changes, or changes that are not settled
	moved bool // a subscriber with more changes has taken some
	rest  time.Duration
}

// A turn is a call of one subscriber in a round.
type turn struct {
	*Subscription
	callers []chan error // that wait since before the round
}

// round calls all subscribers once. Those that are at the same place share one read of the feed.
func (f *Follower) round() round {
	r := round{rest: idle}
	groups := map[string][]turn{} // by cursor
	for _, t := range f.turns(&r) {
		cursor, err := t.cursor()
		if err != nil {
			f.end(t, false, err, &r)
			continue
		}
		groups[cursor] = append(groups[cursor], t)
	}
	for cursor, group := range groups {
		var topics []string
		for _, t := range group {
			topics = append(topics, t.subscriber.Topics()...)
		}
		slices.Sort(topics)
		var keys []Key
		next, lost, more, err := f.feed.Follow(f.ctx, cursor, maxChanges, slices.Compact(topics),
			func(topic, name string) {
				keys = append(keys, Key{topic, name})
			})
		for _, t := range group {
			if err != nil {
				f.end(t, false, err, &r)
				continue
			}
			unfinished, failed := t.apply(Changes{keys, lost, next})
			r.moved = r.moved || failed == nil && (unfinished || next != cursor)
			f.end(t, more || lost || unfinished, failed, &r) // where all was read, more may have come since
		}
	}
	return r
}

// turns returns the subscriptions that are called in a round: not those that rest after an error, unless a
// caller waits.
func (f *Follower) turns(r *round) (turns []turn) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, s := range f.list {
		if rest := time.Until(s.retry); rest > 0 && len(s.waiting) == 0 {
			r.rest = min(r.rest, rest)
			continue
		}
		turns = append(turns, turn{s, s.waiting})
		s.waiting = nil
	}
	return turns
}

// cursor returns the cursor of the subscriber.
func (t turn) cursor() (string, error) {
	t.calling.Lock()
	defer t.calling.Unlock()
	if t.ctx.Err() != nil {
		return "", ErrClosed
	}
	return t.subscriber.Cursor(t.ctx)
}

// apply calls the subscriber with what it takes of some changes.
func (t turn) apply(c Changes) (more bool, err error) {
	t.calling.Lock()
	defer t.calling.Unlock()
	if t.ctx.Err() != nil {
		return false, ErrClosed
	}
	topics, known := t.subscriber.Topics(), map[Key]bool{}
	keys := c.Keys
	c.Keys = nil
	for _, k := range keys {
		if !known[k] && slices.Contains(topics, k.Topic) {
			known[k] = true
			c.Keys = append(c.Keys, k)
		}
	}
	return t.subscriber.Apply(t.ctx, c)
}

// end ends a turn. While there is more, those who wait go on waiting.
func (f *Follower) end(t turn, more bool, err error, r *round) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err == nil && more {
		r.more = true
		t.waiting = append(t.callers, t.waiting...)
		return
	}
	for _, c := range t.callers {
		c <- err
	}
	t.retry = time.Time{}
	if err != nil && t.ctx.Err() == nil {
		t.retry = time.Now().Add(retryAfter)
		r.rest = min(r.rest, retryAfter)
		f.log.Warn("changes in the store are not followed at present", "by", t.name, "err", err)
	}
}
