package ask

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/clock"
	"github.com/mcp-tools/mcp-tools/internal/store"
)

// A Desk asks questions that end with this process: its calls wait for the answers. The process renews a lease on the
// rows of its questions while it has any. Its methods may be called concurrently.
type Desk struct {
	store *store.Store
	log   *slog.Logger
	id    string

	beating sync.Once // starts the heartbeat
	stop    context.CancelFunc
	asked   chan struct{}   // wakes it
	ctx     context.Context // of the heartbeat
	done    sync.WaitGroup
}

// NewDesk returns a Desk. It does not use the store yet. Without a logger it is silent.
func NewDesk(s *store.Store, log *slog.Logger) *Desk {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	d := &Desk{store: s, log: log, id: NewID(), asked: make(chan struct{}, 1)}
	d.ctx, d.stop = context.WithCancel(context.Background())
	return d
}

// ID returns the owner of the questions of this process.
func (d *Desk) ID() string { return d.id }

// The lease of a question, its renewal, and the time after the end of a question that its answer may be used.
const (
	lease   = 30 * time.Second
	renewal = 2 * time.Second
	Grace   = 10 * time.Second
)

// Put adds a question of this process, see [Put].
func (d *Desk) Put(ctx context.Context, q Question, expires time.Duration, l Limits) error {
	q.Owner = d.id
	if err := d.update(ctx, func(t *store.Tx) error { return Put(t, q, expires, l) }); err != nil {
		return err
	}
	d.beating.Do(func() { d.done.Go(d.beat) })
	select {
	case d.asked <- struct{}{}:
	default:
	}
	return nil
}

func (d *Desk) update(ctx context.Context, f func(*store.Tx) error) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return d.store.Update(ctx, f)
}

// retryEvery is the delay of Await after an error of the store.
const retryEvery = 500 * time.Millisecond

// Await returns when a question is not open any more, or ctx ends.
func (d *Desk) Await(ctx context.Context, id string) error {
	defer d.store.Urgent()()
	for {
		changed := d.store.Wait(Topic)
		left, err := d.left(ctx, id)
		if errors.Is(err, store.ErrNotFound) {
			return nil
		}
		if err != nil {
			left = retryEvery
		}
		late := time.NewTimer(left + time.Millisecond)
		select {
		case <-changed:
		case <-late.C:
		case <-ctx.Done():
		}
		late.Stop()
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
}

// left returns how long a question can be answered. If it cannot, the error is [store.ErrNotFound].
func (d *Desk) left(ctx context.Context, id string) (time.Duration, error) {
	if d.store.Unused() {
		return 0, store.ErrNotFound
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var ms int64
	err := d.store.Row(ctx, "SELECT CASE WHEN expires = 0 THEN $2 ELSE expires - {{now}} END FROM ask WHERE id = $1 AND "+
		isOpen, []any{id, time.Hour.Milliseconds()}, &ms)
	return time.Duration(ms) * time.Millisecond, err
}

// Withdraw removes a question of this process that is open, or whose answer was not used.
func (d *Desk) Withdraw(ctx context.Context, id string) error {
	if d.store.Unused() {
		return nil
	}
	return d.update(ctx, func(t *store.Tx) error {
		n, err := t.Exec("DELETE FROM ask WHERE id = $1 AND owner = $2 AND lease > 0", id, d.id)
		if err != nil || n == 0 {
			return err
		}
		return t.Changed(Topic, id)
	})
}

// Close withdraws the questions of this process, and calls also in the same transaction, unless the process has
// asked nothing. Put must not be called afterwards.
func (d *Desk) Close(also func(*store.Tx) error) error {
	d.stop()
	idle := false
	d.beating.Do(func() { idle = true }) // it was not started
	d.done.Wait()
	if idle {
		return nil
	}
	return d.update(context.Background(), func(t *store.Tx) error {
		return errors.Join(remove(t, d.id, "owner = $1 AND lease > 0"), also(t))
	})
}

// beat renews the lease while there are questions that may be answered, or answers that may be used. If that fails
// for longer than a lease, the questions end. When there are none left it removes the ended ones.
func (d *Desk) beat() {
	for {
		select {
		case <-d.asked:
		case <-d.ctx.Done():
			return
		}
		changed := d.store.Wait(Topic) // [Silent] waits for a sign of life after an answer
		for some := true; some && d.rest(changed) == nil; {
			changed = d.store.Wait(Topic)
			var err error
			if some, err = d.renew(); err != nil {
				if some = true; d.ctx.Err() == nil {
					d.log.Warn("cannot renew the lease of this process; open questions may be lost", "err", err)
				}
			}
		}
		if err := Sweep(d.ctx, d.store); err != nil && d.ctx.Err() == nil {
			d.log.Warn("questions that have ended could not be removed", "err", err)
		}
	}
}

// rest waits until the lease is renewed: at its time, or a little after a change.
func (d *Desk) rest(changed <-chan struct{}) error {
	timer := time.NewTimer(renewal)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-changed:
		return clock.Sleep(d.ctx, changeWait)
	case <-d.ctx.Done():
		return d.ctx.Err()
	}
}

func (d *Desk) renew() (some bool, err error) {
	err = d.update(d.ctx, func(t *store.Tx) error {
		n, err := t.Exec(`UPDATE ask SET lease = {{now}} + $2 WHERE owner = $1 AND lease > 0
			AND (expires = 0 OR expires > {{now}} - $3)`, d.id, lease.Milliseconds(), Grace.Milliseconds())
		some = n > 0
		return err
	})
	return some, err
}

// Abandoned reports whether the process that asked a question has ended before it used the answer: it has not renewed its
// lease when it should have. A process that ended in the last seconds is not noticed.
func Abandoned(ctx context.Context, s *store.Store, id string) (bool, error) {
	ended := 0
	err := s.Row(ctx, `SELECT count(*) FROM ask WHERE id = $1 AND state = 'answered' AND lease > 0 AND lease < {{now}} + $2`,
		[]any{id, (lease - renewal - lateBeat).Milliseconds()}, &ended)
	return ended > 0, err
}

// lateBeat is how late a lease may be renewed.
const lateBeat = 2 * time.Second

const (
	changeWait = 50 * time.Millisecond // that changes of questions are gathered before the lease is renewed
	signWait   = time.Second           // for a sign of life
	signPause  = 10 * time.Millisecond // between two looks for one, longer each time
)

// Silent reports whether the process that asked a question has given no sign of life since the answer: it has not used it,
// nor renewed its lease. Silent waits a second for that.
func Silent(ctx context.Context, s *store.Store, id string) (silent bool, err error) {
	for end, pause := time.Now().Add(signWait), signPause; ; pause *= 2 {
		waiting := 0
		err = s.Row(ctx, `SELECT count(*) FROM ask WHERE id = $1 AND state = 'answered' AND lease > 0 AND lease < ended + $2`,
			[]any{id, lease.Milliseconds()}, &waiting)
		if silent = waiting > 0; err != nil || !silent || time.Now().After(end) {
			return silent, err
		}
		if err := clock.Sleep(ctx, pause); err != nil {
			return false, err
		}
	}
}
