package searchindex

import (
	"context"
	"sync"
)

// A desk takes requests to the background to look what is to do, and knows
// which were served.
type desk struct {
	wake chan struct{} // holds something when there are new requests

	count sync.Mutex
	asked uint64        // requests so far
	ready uint64        // of those, the ones that were served
	news  chan struct{} // closed when ready grows
}

func newDesk() desk { return desk{wake: make(chan struct{}, 1), news: make(chan struct{})} }

// later asks the background to look what is to do.
func (d *desk) later() {
	d.count.Lock()
	d.asked++
	d.count.Unlock()
	select {
	case d.wake <- struct{}{}:
	default:
	}
}

// open returns the requests so far; they are served when serve is given it.
func (d *desk) open() uint64 {
	d.count.Lock()
	defer d.count.Unlock()
	return d.asked
}

func (d *desk) serve(requests uint64) {
	d.count.Lock()
	defer d.count.Unlock()
	d.ready = requests
	close(d.news)
	d.news = make(chan struct{})
}

// served waits until all requests are served. It returns false when ctx or the
// background ends before.
func (d *desk) served(ctx context.Context, done <-chan struct{}) bool {
	for {
		d.count.Lock()
		ready, news := d.ready >= d.asked, d.news
		d.count.Unlock()
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
