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

// checkpointEvery is after how many commits the log is looked after. It has some
// pages of each.
const checkpointEvery = 200

// maxLogPages is how many pages a log has that does not begin anew by itself: as
// many as are kept of its file.
const maxLogPages = logBytes / 4096

// committed is called after a commit.
func (c *checkpointer) committed() {
	if c.commits.Add(1)%checkpointEvery != 0 {
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
		if err := c.checkpointLog(ctx); err != nil && ctx.Err() == nil {
			c.store.log.Debug("the store's log is taken in later", "err", err)
		}
	}
}

// checkpointLog takes in what the log has. Where somebody reads or writes at any
// moment the log does not begin anew by itself, however much of it was taken
// in. When it is long, everybody is made to wait for that moment, unless it
// would not come: whoever has read for long keeps much of the log from being
// taken in.
func (c *checkpointer) checkpointLog(ctx context.Context) error {
	pages, taken, err := c.checkpoint(ctx, "PASSIVE")
	if err != nil || pages < maxLogPages || pages-taken > maxLogPages/2 {
		return err
	}
	_, _, err = c.checkpoint(ctx, "RESTART")
	return err
}

// checkpoint says how many pages the log has, and how many of them are taken
// in. Where others do the same it does nothing, and the log seems to have none.
func (c *checkpointer) checkpoint(ctx context.Context, mode string) (pages, taken int, err error) {
	var busy int
	err = c.store.read.QueryRowContext(ctx, "PRAGMA wal_checkpoint("+mode+")").Scan(&busy, &pages, &taken)
	return pages, taken, err
}

// close is for when nobody commits any more.
func (c *checkpointer) close() {
	c.start.Do(func() {})
	if c.stop != nil {
		c.stop()
	}
	c.done.Wait()
}
