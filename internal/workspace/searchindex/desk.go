package searchindex

import (
	"context"
	"sync"
)

// A requestQueue takes requests to the background to look what is to do, and knows
// which were served.
type requestQueue struct {
	wake chan struct{} // holds something when there are new requests

	mu      sync.Mutex
	asked   uint64        // requests so far
	ready   uint64        // of those, the ones that were served
	changed chan struct{} // closed when ready grows
}

func newRequestQueue() requestQueue {
	return requestQueue{wake: make(chan struct{}, 1), changed: make(chan struct{})}
}

// request asks the background to look what is to do.
func (d *requestQueue) request() {
	d.mu.Lock()
	d.asked++
	d.mu.Unlock()
	select {
	case d.wake <- struct{}{}:
	default:
	}
}

// requested returns the requests so far; they are served when serve is given it.
func (d *requestQueue) requested() uint64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.asked
}

func (d *requestQueue) markServed(requests uint64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.ready = requests
	close(d.changed)
	d.changed = make(chan struct{})
}

// waitServed waits until all requests are served. It returns false when ctx or the
// background ends before.
func (d *requestQueue) waitServed(ctx context.Context, done <-chan struct{}) bool {
	for {
		d.mu.Lock()
		ready, news := d.ready >= d.asked, d.changed
		d.mu.Unlock()
		if ready {
			return true
		}
		select {
		case <-news:
		case <-ctx.Done():
			return false
		case <-done:
			return false
		}
	}
}
