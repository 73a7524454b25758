package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
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
	again   int // pages at which a log that could not begin anew is tried again
}

// commitsAtOnce is after how many commits the log is looked after. It has some
// pages of each.
const commitsAtOnce = 200

// longLog is how many pages a log has that does not begin anew by itself: as
// many as are kept of its file.
const longLog = logBytes / 4096

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
		if err := c.takeIn(ctx); err != nil && ctx.Err() == nil {
			c.store.log.Debug("the store's log is taken in later", "err", err)
		}
	}
}

// takeIn takes in what the log has. Where somebody reads or writes at any
// moment, the log never begins anew by itself, however much of it was taken in:
// when it is long, everybody is made to wait for that moment.
func (c *checkpointer) takeIn(ctx context.Context) (err error) {
	conn, err := c.store.read.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	pages, _, err := checkpoint(ctx, conn, "PASSIVE")
	if pages >= 0 && pages < longLog {
		c.again = 0
	}
	if err != nil || pages < max(longLog, c.again) {
		return err
	}
	// Those who write are many, and wait meanwhile; a reader may take minutes.
	if err := beBusy(ctx, conn, time.Second); err != nil {
		return err
	}
	pages, begun, err := checkpoint(ctx, conn, "RESTART")
	if !begun {
		c.again = 2 * pages
	}
	return errors.Join(err, beBusy(context.WithoutCancel(ctx), conn, busyTimeout))
}

// beBusy has a connection wait so long for others.
func beBusy(ctx context.Context, conn *sql.Conn, d time.Duration) error {
	_, err := conn.ExecContext(ctx, fmt.Sprintf("PRAGMA busy_timeout(%d)", d.Milliseconds()))
	return err
}

// checkpoint says how long the log is, and whether it did all that was asked.
func checkpoint(ctx context.Context, conn *sql.Conn, mode string) (pages int, all bool, err error) {
	var busy, done int
	err = conn.QueryRowContext(ctx, "PRAGMA wal_checkpoint("+mode+")").Scan(&busy, &pages, &done)
	return pages, busy == 0 && err == nil, err
}

// close is for when nobody commits any more.
func (c *checkpointer) close() {
	c.start.Do(func() {})
	if c.stop != nil {
		c.stop()
	}
	c.done.Wait()
}
