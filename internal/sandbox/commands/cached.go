package commands

import (
	"context"
	"time"
)

// cached holds a value that is expensive to compute, until it expires. If several
// callers need it at the same time, one computes it and the others wait.
type cached[T any] struct {
	turn  chan struct{} // semaphore for the fields below
	value T
	until time.Time
}

func newCached[T any]() *cached[T] { return &cached[T]{turn: make(chan struct{}, 1)} }

// get returns the value. If it has expired, or now is set, find returns a new one and its lifetime.
func (c *cached[T]) get(
	ctx context.Context, now bool, find func(context.Context) (T, time.Duration, error),
) (T, error) {
	var none T
	select {
	case c.turn <- struct{}{}:
	case <-ctx.Done():
		return none, context.Cause(ctx)
	}
	defer func() { <-c.turn }()
	if !now && time.Now().Before(c.until) {
		return c.value, nil
	}
	value, good, err := find(ctx)
	if err != nil {
		return none, err
	}
	c.value, c.until = value, time.Now().Add(good)
	return value, nil
}

// stale reports whether the value has expired and no caller is computing it.
func (c *cached[T]) stale(now time.Time) bool {
	select {
	case c.turn <- struct{}{}:
		defer func() { <-c.turn }()
		return !now.Before(c.until)
	default:
		return false
	}
}
