package store

import (
	"context"
	"sync"
	"sync/atomic"
)

// A checkpointer takes what commits have written to SQLite's log into the
// database, beside those who write. Left to SQLite, a commit in every two
// hundred would do it, and wait for the disk.
type checkpointer struct {
	store   *Store
	commits atomic.Int64
	wake    chan struct{}
	start   sync.Once
	stop    context.CancelFunc
	done    sync.WaitGroup
}

// commitsAtOnce is after how many commits the log is looked after. It has some
// pages of each.
const commitsAtOnce = 200

// committed is called after a commit.
func (c *checkpointer) committed() {
	if c.commits.Add(1)%commitsAtOnce != 0 {
		return
	}
	c.start.Do(func() {
		ctx, stop := context.WithCancel(context.Background())
		c.stop = stop
		c.done.Go(func() { c.work(ctx) })
	})
	select {
	case c.wake <- struct{}{}:
	default: // it is about to look
	}
}

func (c *checkpointer) work(ctx context.Context) {
	for {
		select {
		case <-c.wake:
		case <-ctx.Done():
			return
		}
		var busy, pages, done int
		err := c.store.read.QueryRowContext(ctx, "PRAGMA wal_checkpoint(PASSIVE)").Scan(&busy, &pages, &done)
		if err != nil && ctx.Err() == nil {
			c.store.log.Debug("the store's log is taken in later", "err", err)
		}
	}
}

// close is for when nobody commits any more.
func (c *checkpointer) close() {
	c.start.Do(func() {})
	if c.stop != nil {
		c.stop()
	}
	c.done.Wait()
}
