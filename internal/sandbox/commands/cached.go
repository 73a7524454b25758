package commands

import (
	"context"
	"time"
)

// cached is a value that costs something to find, and is good for a while. One
// caller finds it, and the others wait for that.
type cached[T any] struct {
	turn  chan struct{} // holds who looks
	value T
	until time.Time
}

func newCached[T any]() *cached[T] { return &cached[T]{turn: make(chan struct{}, 1)} }

// get returns the value, or finds it, and for how long it is good.
func (c *cached[T]) get(ctx context.Context, find func(context.Context) (T, time.Duration, error)) (T, error) {
	var none T
	select {
	case c.turn <- struct{}{}:
	case <-ctx.Done():
		return none, context.Cause(ctx)
	}
	defer func() { <-c.turn }()
	if time.Now().Before(c.until) {
		return c.value, nil
	}
	value, good, err := find(ctx)
	if err != nil {
		return none, err
	}
	c.value, c.until = value, time.Now().Add(good)
	return value, nil
}

// doubt has the value found anew.
func (c *cached[T]) doubt() {
	c.turn <- struct{}{}
	c.until = time.Time{}
	<-c.turn
}

// stale says that the value is no longer good, and nobody is looking for it.
func (c *cached[T]) stale(now time.Time) bool {
	select {
	case c.turn <- struct{}{}:
		defer func() { <-c.turn }()
		return !now.Before(c.until)
	default:
		return false
	}
}
