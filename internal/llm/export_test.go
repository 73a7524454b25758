package llm

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
	"time"
)

// WithoutWaits lets c retry at once. It returns a function that returns the waits so far.
func WithoutWaits(c *Client) func() []time.Duration {
	var mu sync.Mutex
	var waits []time.Duration
	c.attempts.Wait = func(_ context.Context, d time.Duration) error {
		mu.Lock()
		defer mu.Unlock()
		waits = append(waits, d)
		return nil
	}
	return func() []time.Duration {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(waits)
	}
}

// Body returns the body of a request.
func Body(c *Client, r Request) string {
	_, body := c.wire.body(r)
	text, err := json.Marshal(body)
	if err != nil {
		panic(err)
	}
	return string(text)
}
