package store

import (
	"context"
	"errors"
	"sync"
	"time"
)

// A Rate allows Times per Period on average, and Burst at once.
type Rate struct {
	Times  int
	Period time.Duration
	Burst  int
}

// cost returns how long it takes to regain some times, in milliseconds.
func (r Rate) cost(times int) int64 {
	return max(r.Period.Milliseconds()*int64(times)/int64(r.Times), 1)
}

// Take uses a rate once. It returns 0, or the time to wait if the rate is used up. All
// processes share the rate of a key. One number is stored for each key: the time when the full
// rate is available again (GCRA).
func (s *Store) Take(ctx context.Context, key string, r Rate) (wait time.Duration, err error) {
	return s.take(ctx, key, r, 1)
}

// take uses a rate several times at once, or not at all.
func (s *Store) take(ctx context.Context, key string, r Rate, times int) (wait time.Duration, err error) {
	if r.Times <= 0 || r.Burst < times || times <= 0 || r.Period <= 0 {
		return 0, errors.New("store: the rate allows nothing")
	}
	cost, room := r.cost(times), r.cost(r.Burst)
	err = s.Update(ctx, func(t *Tx) error {
		wait = 0
		// A time that is more than two bursts ahead was stored before the clock was set back. It does not count. One
		// burst is the most that a time of this rate is ahead, and a rate whose period differs a little may have more.
		n, err := t.Exec(`INSERT INTO rate (key, tat) VALUES ($1, {{now}} + $2)
			ON CONFLICT (key) DO UPDATE SET tat =
				CASE WHEN rate.tat > {{now}} + $3 + $3 THEN {{now}} ELSE {{max}}(rate.tat, {{now}}) END + $2
			WHERE rate.tat > {{now}} + $3 + $3 OR {{max}}(rate.tat, {{now}}) + $2 <= {{now}} + $3`, key, cost, room)
		if err != nil || n > 0 {
			return err
		}
		// A time ahead never counts for more than a burst.
		if _, err := t.Exec("UPDATE rate SET tat = {{now}} + $2 WHERE key = $1 AND tat > {{now}} + $2", key,
			room); err != nil {
			return err
		}
		var ms int64
		if err := t.Row("SELECT tat + $2 - $3 - {{now}} FROM rate WHERE key = $1", []any{key, cost, room},
			&ms); err != nil {
			return err
		}
		wait = time.Duration(max(ms, 1)) * time.Millisecond
		return nil
	})
	return wait, err
}

// A Meter is a faster [Store.Take] for frequent calls: it takes several times at once and keeps
// the rest in memory. The rest of a process that stops is lost, so all processes together allow
// a little less than the rate.
type Meter struct {
	store *Store

	mu      sync.Mutex
	buckets map[string]*bucket
}

// A bucket has the tokens of a key that are reserved but not used yet.
type bucket struct {
	turn  chan struct{} // a lock that can be waited for
	left  int
	size  int // of the last taking
	taken time.Time
}

const (
	maxBuckets = 10_000 // callers can create keys
	maxTaken   = 100
	// A process may keep 1/burstShare of a burst.
	burstShare = 20
	// Takings at shorter intervals than hurry count as frequent.
	hurry = time.Second
)

// Meter returns a new Meter.
func (s *Store) Meter() *Meter { return &Meter{store: s, buckets: make(map[string]*bucket)} }

// Take uses a rate once. It returns 0, or how long to wait.
func (m *Meter) Take(ctx context.Context, key string, r Rate) (wait time.Duration, err error) {
	p := m.bucket(key)
	select {
	case p.turn <- struct{}{}:
		defer func() { <-p.turn }()
	case <-ctx.Done():
		return 0, context.Cause(ctx)
	}
	if p.left > 0 {
		p.left--
		return 0, nil
	}
	size := 1
	if time.Since(p.taken) < hurry {
		size = max(1, min(2*p.size, r.Burst/burstShare, maxTaken))
	}
	wait, err = m.store.take(ctx, key, r, size)
	if err == nil && wait > 0 && size > 1 { // one may be available
		size = 1
		wait, err = m.store.take(ctx, key, r, size)
	}
	if err == nil && wait == 0 {
		p.left, p.size, p.taken = size-1, size, time.Now()
	}
	return wait, err
}

func (m *Meter) bucket(key string) *bucket {
	m.mu.Lock()
	defer m.mu.Unlock()
	p := m.buckets[key]
	if p == nil {
		if len(m.buckets) >= maxBuckets {
			clear(m.buckets) // the loss is regained soon
		}
		p = &bucket{turn: make(chan struct{}, 1)}
		m.buckets[key] = p
	}
	return p
}

// PruneRates removes keys that have regained everything.
func (s *Store) PruneRates(ctx context.Context) error {
	return s.Update(ctx, func(t *Tx) error {
		_, err := t.Exec("DELETE FROM rate WHERE tat < {{now}}")
		return err
	})
}
