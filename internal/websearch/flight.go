package websearch

import (
	"context"
	"sync"

	"github.com/mcp-tools/mcp-tools/tools/web"
)

// flights makes one request of equal ones that are made at the same time.
type flights struct {
	mu      sync.Mutex
	running map[string]*flight
}

type flight struct {
	done chan struct{}
	// What came of it. Without landed it came to nothing that concerns others:
	// whoever asked gave up.
	landed bool
	hits   web.Hits
	err    error
}

func newFlights() *flights { return &flights{running: make(map[string]*flight)} }

// do asks, or waits for who asks already. When that one gives up, the next asks.
func (f *flights) do(ctx context.Context, key string, ask func() (web.Hits, error)) (web.Hits, error) {
	for {
		one, mine := f.board(key)
		if mine {
			return f.fly(ctx, key, one, ask)
		}
		select {
		case <-ctx.Done():
			return web.Hits{}, ctx.Err()
		case <-one.done:
		}
		if one.landed {
			return cloned(one.hits), one.err
		}
	}
}

// board finds the flight of a key, or begins it.
func (f *flights) board(key string) (one *flight, mine bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if one, ok := f.running[key]; ok {
		return one, false
	}
	one = &flight{done: make(chan struct{})}
	f.running[key] = one
	return one, true
}

func (f *flights) fly(ctx context.Context, key string, one *flight, ask func() (web.Hits, error)) (web.Hits, error) {
	defer func() { // also when ask panics
		f.mu.Lock()
		delete(f.running, key)
		f.mu.Unlock()
		close(one.done)
	}()
	hits, err := ask()
	one.hits, one.err, one.landed = cloned(hits), err, ctx.Err() == nil
	return hits, err
}
