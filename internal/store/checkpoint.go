package store

import (
	"context"
	"sync"
	"sync/atomic"
)

// A checkpointer copies SQLite's log to the database in the background. SQLite itself would do
// it in every two hundredth commit, and that commit would wait for the disk.
type checkpointer struct {
	store   *Store
	commits atomic.Int64
	wake    chan struct{}
	start   sync.Once
	stop    context.CancelFunc
	done    sync.WaitGroup
}

// checkpointEvery is the number of commits between checkpoints. Each commit
// writes some pages to the log.
const checkpointEvery = 200

// maxLogPages is the length of a log that does not restart by itself.
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
	default: // a checkpoint is already due
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
			c.store.log.Debug("the checkpoint of the store failed; it will be retried", "err", err)
		}
	}
}

// checkpointLog copies the log to the database. Under constant load the log never
// restarts from the beginning and grows. If it is long, checkpointLog blocks
// writers and readers until it restarts, except while a long read keeps most of
// it from being copied.
func (c *checkpointer) checkpointLog(ctx context.Context) error {
	pages, taken, err := c.checkpoint(ctx, "PASSIVE")
	if err != nil || pages < maxLogPages || pages-taken > maxLogPages/2 {
		return err
	}
	_, _, err = c.checkpoint(ctx, "RESTART")
	return err
}

// checkpoint runs a checkpoint, and returns how many pages the log has and how
// many of them are copied. During a checkpoint of another process it does nothing
// and returns 0 or less.
func (c *checkpointer) checkpoint(ctx context.Context, mode string) (pages, taken int, err error) {
	var busy int
	err = c.store.read.QueryRowContext(ctx, "PRAGMA wal_checkpoint("+mode+")").Scan(&busy, &pages, &taken)
	return pages, taken, err
}

// close stops the checkpointer. There must be no commits afterwards.
func (c *checkpointer) close() {
	c.start.Do(func() {})
	if c.stop != nil {
		c.stop()
	}
	c.done.Wait()
}
